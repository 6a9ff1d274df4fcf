package loop

import (
	"fmt"
	"testing"

	"github.com/ahprelay/ahprelay/relay"
)

// Two programs that never heard of each other meet: nothing exists besides their connections and one
// service, and no session or other resource comes into being on the way.
func TestTwoClientsAndNothingElse(t *testing.T) {
	s := run(t, nil)
	owner, caller := hello(t, s.addr, "owner"), hello(t, s.addr, "caller")
	seq := s.gauges().Seq
	caller.send(subscribeLine)
	caller.expect(fmt.Sprintf(`{"jsonrpc":"2.0","id":"s","result":{"snapshot":{"resource":"ahp-client-services://","state":{"services":[]},"fromSeq":%d}}}`, seq))

	id := owner.register(`{"protocol":"echo"}`)
	caller.expect(actionSet(id, "owner", `{"protocol":"echo"}`, seq+1))
	caller.send(notify(id, `"method":"hi","params":{}`), request("1", id, `"method":"ask","params":{}`))
	owner.expect(notified(id, "caller", `"method":"hi","params":{}`))
	owner.send(result(owner.asked(id, "caller", `"method":"ask","params":{},"timeoutMs":30000`), `{"ok":true}`))
	caller.expect(result("1", `{"ok":true}`))

	caller.send(`{"jsonrpc":"2.0","id":2,"method":"subscribe","params":{"channel":"ahp-root://"}}`)
	caller.expect(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"result":{"snapshot":{"resource":"ahp-root://","state":{"agents":[]},"fromSeq":%d}}}`, seq+1))
	g := s.gauges()
	if g.Connections != 2 || g.Services != 1 || g.Observers != 1 || g.Inflight != 0 || g.Ghosts != 0 {
		t.Errorf("there is more than two clients and a service: %+v", g)
	}
	_ = owner.Close()
	caller.expect(actionRemoved(id, seq+2))
	caller.quiet()
}

func TestSeveralMethodsUnderOneRegistration(t *testing.T) {
	s := run(t, nil)
	owner, caller := hello(t, s.addr, "owner"), hello(t, s.addr, "caller")
	id := owner.register(`{"protocol":"git-object-reader"}`)
	methods := []string{"getRefs", "getObjects", "watchRefs", "a/b c", `ü\"\\`}
	for i, m := range methods {
		caller.send(request(fmt.Sprint(i), id, `"method":"`+m+`","params":{"oids":["a","b"]}`))
	}
	caller.send(notify(id, `"method":"refsChanged"`))
	for _, m := range methods {
		relayID := owner.asked(id, "caller", `"method":"`+m+`","params":{"oids":["a","b"]},"timeoutMs":30000`)
		owner.send(result(relayID, `["`+m+`"]`))
	}
	owner.expect(notified(id, "caller", `"method":"refsChanged","params":null`))
	for i, m := range methods {
		caller.expect(result(fmt.Sprint(i), `["`+m+`"]`))
	}
	if g := s.gauges(); g.Services != 1 {
		t.Errorf("%d services", g.Services)
	}
}

// A notification is its sending and its delivery, and no byte more on any connection.
func TestWireTraceOfANotification(t *testing.T) {
	s := run(t, nil)
	owner, sender, observer, bystander := hello(t, s.addr, "owner"), hello(t, s.addr, "sender"), hello(t, s.addr, "observer"), hello(t, s.addr, "bystander")
	id := owner.register(`{}`)
	observer.send(subscribeLine)
	observer.line()
	before := s.counters()

	const sent = `"method":"m","params":{"n": 1.50, "s":"\u00e9", "n":2}`
	sender.send(notify(id, sent))
	owner.expect(notified(id, "sender", sent))

	after := s.counters()
	out := uint64(len(notified(id, "sender", sent)) + 1)
	if after.FramesIn-before.FramesIn != 1 || after.FramesOut-before.FramesOut != 1 || after.BytesOut-before.BytesOut != out {
		t.Errorf("frames in %d, out %d, bytes out %d (want 1, 1, %d)", after.FramesIn-before.FramesIn, after.FramesOut-before.FramesOut, after.BytesOut-before.BytesOut, out)
	}
	for _, p := range []*peer{owner, sender, observer, bystander} {
		p.quiet()
	}
}

// A request is four lines: its sending, its delivery, the owner's answer, the caller's answer. Nothing
// tells the caller that it was accepted.
func TestWireTraceOfARequest(t *testing.T) {
	s := run(t, nil)
	owner, caller, bystander := hello(t, s.addr, "owner"), hello(t, s.addr, "caller"), hello(t, s.addr, "bystander")
	id := owner.register(`{}`)
	caller.send(request(`"\u0061"`, id, `"method":"m","params":{"n": 1e2},"timeoutMs":1234`))
	relayID := owner.asked(id, "caller", `"method":"m","params":{"n": 1e2},"timeoutMs":1234`)
	caller.quiet()
	owner.quiet()
	if g := s.gauges(); g.Inflight != 1 {
		t.Errorf("in flight: %d", g.Inflight)
	}
	owner.send(result(relayID, `{"x": [ 1.0 ]}`))
	caller.expect(result(`"\u0061"`, `{"x": [ 1.0 ]}`))
	for _, p := range []*peer{owner, caller, bystander} {
		p.quiet()
	}
	s.inspect(func(core *relay.Core) {
		if g := core.Gauges(); g.Inflight != 0 || g.Ghosts != 0 || core.Counters().Requests[relay.OutcomeResult] != 1 {
			t.Errorf("%+v", g)
		}
	})
}
