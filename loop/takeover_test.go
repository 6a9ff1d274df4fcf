package loop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ahprelay/ahprelay/relay"
)

const inUse = "clientId is in use"

func reconnect(clientID, token string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"reconnect","params":{"clientId":"` + clientID + `","lastSeenServerSeq":0,"subscriptions":[],"_meta":{"ahprelay.resumeToken":` + token + `}}}`
}

// Nobody gets at a connection by its clientId, whether it asks for it anew, reconnects, or guesses.
func TestTakeoverByClientID(t *testing.T) {
	s := run(t, nil)
	victim, thief := dial(t, s.addr), dial(t, s.addr)
	token := victim.initialize("victim")
	id := victim.register(`{}`)
	own := hello(t, s.addr, "other")
	other := own.register(`{}`)

	guess := []byte(token)
	guess[len(guess)-1] ^= 1
	for _, line := range []string{
		initialize("victim"), initialize(`\u0076ictim`),
		reconnect("victim", `""`), reconnect("victim", `null`), reconnect("victim", `["`+token+`"]`),
		reconnect("victim", `"`+string(guess)+`"`), reconnect("victim", `"`+token+`x"`),
		reconnect("victim", `"`+token+`","ahprelay.resumeToken":"`+token+`"`),
		`{"jsonrpc":"2.0","id":0,"method":"reconnect","params":{"clientId":"victim","lastSeenServerSeq":0,"subscriptions":[]}}`,
		`{"jsonrpc":"2.0","id":0,"method":"reconnect","params":{"clientId":"victim","lastSeenServerSeq":0,"subscriptions":[],"_META":{"ahprelay.resumeToken":"` + token + `"}}}`,
		`{"jsonrpc":"2.0","id":0,"method":"reconnect","params":{"clientId":"victim","lastSeenServerSeq":0,"subscriptions":[],"ahprelay.resumeToken":"` + token + `"}}`,
	} {
		thief.send(line)
		thief.expect(failure("0", -32010, inUse, ""))
	}
	thief.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersions":["1.0.0"],"clientID":"victim"}}`,
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersions":["1.0.0"],"clientId":"victim","clientId":"thief"}}`)
	thief.expect(failure("0", -32602, "clientId must be text of limited length", ""), failure("0", -32602, "invalid params", ""))
	// Another spelling is another client, and sees to its own.
	thief.initialize("Victim")
	thief.send(notify(id, `"method":"m"`))
	victim.expect(notified(id, "Victim", `"method":"m","params":null`))
	own.send(notify(other, `"method":"m"`))
	own.expect(notified(other, "other", `"method":"m","params":null`))
	victim.quiet()
	if g := s.gauges(); g.Services != 2 {
		t.Errorf("%d services", g.Services)
	}
}

// A service can be changed by its connection only, and a guessed id says no more than one that never was.
func TestTakeoverByServiceID(t *testing.T) {
	s := run(t, nil)
	victim, thief := hello(t, s.addr, "victim"), hello(t, s.addr, "thief")
	id := victim.register(`{}`)
	for _, method := range []string{"client/updateService", "client/unregisterService"} {
		thief.send(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"serviceId":"` + id + `","metadata":{"taken":true}}}`)
		thief.expect(failure("1", -32009, "the service belongs to another connection", ""))
	}
	for i := range len(id) {
		guess := []byte(id)
		guess[i] ^= 1
		if c := guess[i]; c < '0' {
			guess[i] = 'A'
		}
		thief.send(notify(string(guess), `"method":"m"`), request("1", string(guess), `"method":"m"`))
		thief.expect(failure("1", -32008, "no such service", notFound))
		thief.send(`{"jsonrpc":"2.0","id":1,"method":"client/unregisterService","params":{"serviceId":"` + string(guess) + `"}}`)
		thief.expect(failure("1", -32008, "no such service", ""))
	}
	for _, spelled := range []string{strings.ToLower(id), strings.ToUpper(id), id + " ", id[:len(id)-1], id + "A", id + `\u0000`} {
		if spelled == id {
			continue
		}
		thief.send(notify(spelled, `"method":"m"`), request("1", spelled, `"method":"m"`))
		thief.expect(failure("1", -32008, "no such service", notFound))
	}
	victim.quiet()
	if g := s.gauges(); g.Services != 1 {
		t.Errorf("%d services", g.Services)
	}
}

// Who sent a message is what the relay knows, not what the message says.
func TestForgedSender(t *testing.T) {
	s := run(t, nil)
	owner, thief := hello(t, s.addr, "owner"), hello(t, s.addr, "thief")
	id := owner.register(`{}`)
	forged := `"senderClientId":"victim","senderPrincipal":"root","clientId":"victim","method":"m","channel":"ahp-client-services://"`
	thief.send(notify(id, forged), request("1", id, forged))
	owner.expect(notified(id, "thief", `"method":"m","params":null`))
	owner.send(result(owner.asked(id, "thief", asked), `1`))
	thief.expect(result("1", `1`))
}

// A message in which a member comes twice, or in another case, is not read in two ways by two readers.
func TestDuplicateAndCaseVariantMembers(t *testing.T) {
	s := run(t, nil)
	owner, thief := hello(t, s.addr, "owner"), hello(t, s.addr, "thief")
	id, other := owner.register(`{}`), owner.register(`{}`)
	invalidParams := failure("1", -32602, "invalid params", `{"delivered":"never"}`)
	noStrings := failure("1", -32602, "serviceId and method must be strings of limited length", `{"delivered":"never"}`)
	invalid := failure("1", -32600, "invalid request", "")
	for _, c := range []struct{ line, want string }{
		{request("1", id, `"serviceId":"`+other+`","method":"m"`), invalidParams},
		{request("1", id, `"\u0073erviceId":"`+other+`","method":"m"`), invalidParams},
		{request("1", id, `"method":"m","method":"n"`), invalidParams},
		{request("1", id, `"method":"m","params":{},"params":{}`), invalidParams},
		{request("1", id, `"Method":"m"`), noStrings},
		{`{"jsonrpc":"2.0","id":1,"method":"clientService/request","params":{"ServiceId":"` + id + `","method":"m"}}`, noStrings},
		{`{"jsonrpc":"2.0","id":1,"method":"clientService/request","Params":{"serviceId":"` + id + `","method":"m"}}`, noStrings},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"clientService/request","params":{"serviceId":"` + id + `","method":"m"}}`, failure("null", -32600, "id must be one string or number of limited length", "")},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","method":"clientService/request","params":{"serviceId":"` + id + `","method":"m"}}`, invalid},
		{`{"jsonrpc":"2.0","id":1,"method":"clientService/request","params":{"serviceId":"` + id + `","method":"m"},"params":{}}`, invalid},
		{`{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"clientService/request","params":{"serviceId":"` + id + `","method":"m"}}`, invalid},
		{`{"JSONRPC":"2.0","id":1,"method":"clientService/request","params":{"serviceId":"` + id + `","method":"m"}}`, invalid},
	} {
		thief.send(c.line)
		if got := thief.line(); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.line, got, c.want)
		}
	}
	for _, line := range []string{
		notify(id, `"serviceId":"`+other+`","method":"m"`), notify(id, `"method":"m","\u006dethod":"n"`), notify(id, `"METHOD":"m"`),
		`{"jsonrpc":"2.0","method":"clientService/notify","method":"ping","params":{"serviceId":"` + id + `","method":"m"}}`,
		`{"jsonrpc":"2.0","Method":"clientService/notify","method":"clientService/Notify","params":{"serviceId":"` + id + `","method":"m"}}`,
	} {
		thief.send(line)
	}
	thief.quiet()
	owner.quiet()
	// In another case an envelope member is none: this has no id, and is a notification.
	thief.send(`{"jsonrpc":"2.0","ID":1,"method":"clientService/notify","params":{"serviceId":"` + id + `","method":"m","ServiceId":"` + other + `"}}`)
	owner.expect(notified(id, "thief", `"method":"m","params":null`))
}

// Another's relay id is worth nothing, nor is one that was guessed.
func TestAnsweringAnothersRelayID(t *testing.T) {
	r := newTrio(t, nil)
	thief := hello(t, r.addr, "thief")
	thief.register(`{}`)
	relayID := r.ask("1")
	var n uint64
	if _, err := fmt.Sscan(relayID, &n); err != nil {
		t.Fatal(err)
	}
	for _, guess := range []uint64{n, n - 1, n + 1, n ^ 1<<20, n ^ 1<<40, 0, 1<<53 - 1, 1 << 63} {
		thief.send(result(fmt.Sprint(guess), `"stolen"`), failure(fmt.Sprint(guess), -1, "stolen", ""))
	}
	thief.quiet()
	r.caller.quiet()
	r.owner.send(result(relayID, `1`))
	r.caller.expect(result("1", `1`))
}

// The right resume token lets a client take over from its own dead connection, which hears why.
func TestSupersededConnection(t *testing.T) {
	s := run(t, nil)
	old, caller := dial(t, s.addr), hello(t, s.addr, "caller")
	token := old.initialize("a")
	id := old.register(`{}`)
	caller.send(request("1", id, `"method":"m"`))
	old.asked(id, "caller", asked)
	next := dial(t, s.addr)
	next.send(reconnect("a", `"`+token+`"`))
	if line := next.line(); !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":0,"result":{"type":"snapshot","snapshots":[],"protocolVersion":"1.0.0","clientServices":{`) || strings.Contains(line, token) {
		t.Errorf("reconnect: %s", line)
	}
	old.expect(closing("superseded", "the client connected again"))
	old.eof()
	caller.expect(failure("1", -32050, "service unavailable", maybe))
	caller.send(request("1", id, `"method":"m"`))
	caller.expect(failure("1", -32008, "no such service", notFound))
	if again := next.register(`{}`); again == id {
		t.Error("the service id was used again")
	}
	if k := s.counters(); k.Closed[relay.ReasonSuperseded] != 1 {
		t.Errorf("closed: %v", k.Closed)
	}
}

// A connection that does not read any more can be superseded all the same, and gets the rest and the
// reason if it ever reads again.
func TestSupersedingAStalledConnection(t *testing.T) {
	s := run(t, tight)
	old, sender := dialWith(t, "tcp", s.addr, narrow), hello(t, s.addr, "sender")
	token := old.initialize("a")
	id := old.register(`{}`)
	flood(sender, []string{id}, 0, 6000, func(int) {})
	sender.quiet()
	if s.gauges().QueueBytes < 64<<10 {
		t.Fatal("the reader has not stopped")
	}
	next := dial(t, s.addr)
	next.send(reconnect("a", `"`+token+`"`))
	if line := next.line(); !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":0,"result":{"type":"snapshot"`) {
		t.Fatal(line)
	}
	again := next.register(`{}`)
	sender.send(notify(id, `"method":"m"`), notify(again, `"method":"m"`))
	next.expect(notified(again, "sender", `"method":"m","params":null`))
	if _, line, _ := old.gaps(id, "sender", 0); line != closing("superseded", "the client connected again") {
		t.Errorf("the old connection gets %s", line)
	}
	old.eof()
	next.quiet()
}
