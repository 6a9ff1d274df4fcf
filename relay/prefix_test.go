package relay

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A sender whose notifications are recalled by how they begin is served exactly like one whose are not:
// two cores get the same lines, many of them alike, many spoilt somewhere, and one of them forgets.
func TestRecalledNotificationsAreTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		recalling, forgetting := newWorld(t, testConfig()), newWorld(t, testConfig())
		var lines []string
		for range 60 {
			lines = append(lines, spoil(r, notificationLine(r)))
		}
		a, b := serveLines(recalling, lines, false), serveLines(forgetting, lines, true)
		if a != b {
			t.Fatalf("recalling:  %s\nforgetting: %s\nlines:\n%s", a, b, strings.Join(lines, "\n"))
		}
		ca, cb := *recalling.core.Counters(), *forgetting.core.Counters()
		ca.in[KindNotification], cb.in[KindNotification] = ca.Received(KindNotification), cb.Received(KindNotification)
		if ca != cb {
			t.Fatalf("recalling:  %+v\nforgetting: %+v", ca, cb)
		}
	}
}

// notificationLine makes a notification to one of two services, $0 or $1, of a few shapes.
func notificationLine(r *rand.Rand) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	head := pick(`{"jsonrpc":"2.0","method":"clientService/notify","params":{`, `{"jsonrpc":"2.0","method":"clientService/notify","params":{`, `{"method":"clientService/notify","jsonrpc":"2.0","params":{"channel":"ahp-client-services://",`)
	payload := pick(`1`, `{"x":1}`, `[]`, `"s"`, `"é"`, `{"serviceId":"$1"}`, strings.Repeat("[", 126)+strings.Repeat("]", 126), strings.Repeat("[", 127)+strings.Repeat("]", 127), `tru`, ``)
	switch r.IntN(8) {
	case 0:
		return head + `"params":` + payload + `,"serviceId":"$0","method":"m"}}`
	case 1:
		return head + `"method":"$1","serviceId":"$0","params":` + payload + `}}`
	case 2:
		return head + `"serviceId":"$1","method":"` + pick("m", "n", `\u006d`) + `","params":` + payload + pick("}}", " }}", "} }", "},\"id\":5}", `,"x":1}}`, `,"method":"m"}}`)
	}
	return head + `"serviceId":"` + pick("$0", "$0", "$1") + `","method":"m","params":` + payload + `}}`
}

// spoil changes a byte of every fourth line.
func spoil(r *rand.Rand, line string) string {
	if r.IntN(4) > 0 {
		return line
	}
	i := r.IntN(len(line))
	with := []string{"", "x", `"`, "\\", "}", "{", "\xff", " ", ","}[r.IntN(9)]
	return line[:i] + with + line[i+r.IntN(2):]
}

// serveLines has two owners and a caller, which sends the lines, and returns what everybody got.
func serveLines(w *world, lines []string, forget bool) string {
	var got strings.Builder
	caller := w.hello("caller", PeerInfo{UID: -1})
	var names []string
	var ends []*end
	for _, name := range []string{"a", "b"} {
		e := w.hello(name, PeerInfo{UID: -1})
		ends = append(ends, e)
		names = append(names, "$"+string('0'+rune(len(names)/2)), w.register(e, `{}`))
	}
	ids := strings.NewReplacer(names...)
	for _, line := range lines {
		if forget {
			w.core.peer(caller.id).prefix.forget()
		}
		w.send(caller, []byte(ids.Replace(line)+"\n"))
		for _, e := range append(ends, caller) {
			got.WriteString(strings.Join(e.read(), "\n") + ";")
		}
	}
	return got.String()
}

// With very many services, which are fetched ahead of their turn, each notification still reaches its own.
func TestNotificationsToACrowdOfServices(t *testing.T) {
	const services = 4200
	config := testConfig()
	config.Limits.ServicesMax, config.Limits.ServicesPerConnectionMax, config.Limits.CatalogChangesPerSecondMax = 2*services, services, 0
	w := newWorld(t, config)
	owner, caller := w.hello("owner", PeerInfo{UID: -1}), w.hello("caller", PeerInfo{UID: -1})
	ids := make([]string, services)
	for i := range ids {
		ids[i] = w.register(owner, `{}`)
	}
	if !w.core.services.Crowded() {
		t.Fatal("no crowd")
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		var lines, want strings.Builder
		for i, n := range r.Perm(services) {
			id := ids[n]
			if i%100 == 99 {
				id = "not-one-of-the-relay---"[:22]
			}
			line := fmt.Sprintf(`{"jsonrpc":"2.0","method":"clientService/notify","params":{"channel":"ahp-client-services://","serviceId":"%s","method":"m","params":%d}}`, id, i)
			lines.WriteString(line + "\n")
			if id == ids[n] {
				fmt.Fprintf(&want, "%s %d\n", id, i)
			}
		}
		w.send(caller, []byte(lines.String()))
		var got strings.Builder
		for _, line := range owner.read() {
			var m struct {
				Params struct {
					ServiceID string
					Params    int
				}
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "%s %d\n", m.Params.ServiceID, m.Params.Params)
		}
		if got.String() != want.String() {
			t.Fatal("other notifications than were sent, or in another order")
		}
	}
	if got := caller.read(); len(got) > 0 {
		t.Fatalf("the sender got %q", got)
	}
}

// A service whose place was given to another one is not found by what was remembered of it.
func TestARecalledServiceMayHaveGone(t *testing.T) {
	w := newWorld(t, testConfig())
	owner, caller := w.hello("owner", PeerInfo{UID: -1}), w.hello("caller", PeerInfo{UID: -1})
	notify := func(id string) int {
		w.send(caller, []byte(`{"jsonrpc":"2.0","method":"clientService/notify","params":{"channel":"ahp-client-services://","serviceId":"`+id+`","method":"m","params":1}}`+"\n"))
		return len(owner.read())
	}
	old := w.register(owner, `{}`)
	for range 5 {
		if notify(old) != 1 {
			t.Fatal("not delivered")
		}
	}
	if s := w.core.peer(caller.id).prefix.service; s == nil || s.ID != old {
		t.Fatal("the service is not remembered")
	}
	for range 3 {
		w.send(owner, []byte(`{"jsonrpc":"2.0","id":9,"method":"client/unregisterService","params":{"channel":"ahp-client-services://","serviceId":"`+old+`"}}`+"\n"))
		owner.read()
		if notify(old) != 0 {
			t.Fatal("a service that is gone was reached")
		}
		next := w.register(owner, `{}`)
		if next[:4] != old[:4] {
			t.Fatalf("%s has another place than %s", next, old)
		}
		if notify(old) != 0 || notify(next) != 1 || notify(next) != 1 || notify(old) != 0 {
			t.Fatal("the wrong one was reached")
		}
		old = next
	}
}
