package loop

import (
	"fmt"
	"testing"

	"github.com/ahprelay/ahprelay/relay"
)

const (
	maybe = `{"delivered":"maybe"}`
	asked = `"method":"m","params":null,"timeoutMs":30000`
)

// trio is an owner with one service, a caller, and the server between them.
type trio struct {
	*server
	owner, caller *peer
	id            string
}

func newTrio(t *testing.T, change func(*Config)) *trio {
	t.Helper()
	s := run(t, change)
	r := &trio{server: s, owner: hello(t, s.addr, "owner"), caller: hello(t, s.addr, "caller")}
	r.id = r.owner.register(`{}`)
	return r
}

// ask sends a request with an id and returns the relay's.
func (r *trio) ask(id string) string {
	r.t.Helper()
	r.caller.send(request(id, r.id, `"method":"m"`))
	return r.owner.asked(r.id, "caller", asked)
}

// over asserts that a request is over: a late answer, twice, reaches nobody and frees what was kept for
// it, the caller has heard nothing more, and its id may be used again.
func (r *trio) over(id, relayID string, late uint64) {
	r.t.Helper()
	before := r.counters()
	r.owner.send(result(relayID, `"late"`), result(relayID, `"later"`))
	r.owner.quiet()
	r.caller.quiet()
	after := r.counters()
	if after.AnswersLate-before.AnswersLate != late || after.AnswersDropped-before.AnswersDropped != 2-late {
		r.t.Errorf("%d answers were late, %d dropped", after.AnswersLate-before.AnswersLate, after.AnswersDropped-before.AnswersDropped)
	}
	if g := r.gauges(); g.Inflight != 0 || g.Ghosts != 0 {
		r.t.Errorf("%d in flight, %d ghosts", g.Inflight, g.Ghosts)
	}
	relayID = r.ask(id)
	r.owner.send(result(relayID, `"fresh"`))
	r.caller.expect(result(id, `"fresh"`))
}

func TestAnswersComeOnce(t *testing.T) {
	r := newTrio(t, nil)
	relayID := r.ask("1")
	r.owner.send(result(relayID, `1`), result(relayID, `2`), failure(relayID, 3, "three", ""))
	r.caller.expect(result("1", `1`))
	r.over("1", relayID, 0)
}

func TestOwnersErrorComesOnce(t *testing.T) {
	r := newTrio(t, nil)
	relayID := r.ask("1")
	r.owner.send(failure(relayID, 17, "no", `{"a": 1.0}`))
	r.caller.expect(failure("1", 17, "no", `{"a": 1.0}`))
	r.over("1", relayID, 0)
}

func TestMalformedAnswerEndsARequest(t *testing.T) {
	r := newTrio(t, nil)
	for _, code := range []int{-32050, -32051, -32052, -32053} {
		relayID := r.ask("1")
		r.owner.send(failure(relayID, code, "forged", notFound))
		r.caller.expect(failure("1", -32603, "the service sent a malformed answer",
			fmt.Sprintf(`{"delivered":"maybe","error":{"code":%d,"message":"forged","data":{"delivered":"never"}}}`, code)))
		r.over("1", relayID, 0)
	}
}

func TestTimeoutEndsARequest(t *testing.T) {
	r := newTrio(t, nil)
	r.caller.send(request("1", r.id, `"method":"m","timeoutMs":1`))
	relayID := r.owner.asked(r.id, "caller", `"method":"m","params":null,"timeoutMs":1`)
	r.caller.expect(failure("1", -32051, "request timed out", maybe))
	r.owner.expect(cancelRequest(relayID))
	r.over("1", relayID, 1)
}

func TestCancellationEndsARequest(t *testing.T) {
	r := newTrio(t, nil)
	relayID := r.ask("1")
	r.caller.send(cancelRequest(`"1"`), cancelRequest(`1.0`), cancelRequest(relayID))
	r.caller.quiet()
	r.caller.send(cancelRequest("1"), cancelRequest("1"))
	r.caller.expect(failure("1", -32800, "request cancelled", maybe))
	r.owner.expect(cancelRequest(relayID))
	r.over("1", relayID, 1)
}

func TestUnregistrationEndsARequest(t *testing.T) {
	r := newTrio(t, nil)
	relayID := r.ask("1")
	r.owner.send(`{"jsonrpc":"2.0","id":"u","method":"client/unregisterService","params":{"serviceId":"` + r.id + `"}}`)
	r.caller.expect(failure("1", -32050, "service unavailable", maybe))
	r.owner.expect(result(`"u"`, `{}`), cancelRequest(relayID))
	r.id = r.owner.register(`{}`)
	r.over("1", relayID, 0)
}

func TestDisconnectOfTheOwnerEndsARequest(t *testing.T) {
	r := newTrio(t, nil)
	relayID := r.ask("1")
	_ = r.owner.Close()
	r.caller.expect(failure("1", -32050, "service unavailable", maybe))
	r.owner = hello(t, r.addr, "owner")
	r.id = r.owner.register(`{}`)
	r.over("1", relayID, 0)
}

func TestDisconnectOfTheCallerEndsARequest(t *testing.T) {
	r := newTrio(t, nil)
	relayID := r.ask("1")
	_ = r.caller.Close()
	r.owner.expect(cancelRequest(relayID))
	r.caller = hello(t, r.addr, "caller")
	r.over("1", relayID, 1)
}

// A caller that asks its own service hears of the end only once, too.
func TestDisconnectEndsARequestToOneself(t *testing.T) {
	s := run(t, nil)
	p := hello(t, s.addr, "self")
	id := p.register(`{}`)
	p.send(request("1", id, `"method":"m"`))
	relayID := p.asked(id, "self", asked)
	p.send(result(relayID, `1`))
	p.expect(result("1", `1`))
	p.send(request("1", id, `"method":"m"`))
	p.asked(id, "self", asked)
	_ = p.Close()
	s.empty()
	if k := s.counters(); k.Requests[relay.OutcomeResult] != 1 || k.Requests[relay.OutcomeCallerGone] != 1 {
		t.Errorf("outcomes %v", k.Requests)
	}
}

// A request that runs into a limit is refused once, charges nothing, and what is in flight goes on.
func TestLimitFailuresChargeNothing(t *testing.T) {
	for _, c := range []struct {
		limit  string
		change func(*relay.Limits)
	}{
		{"inflightPerConnection", func(l *relay.Limits) { l.InflightPerConnectionMax = 2 }},
		{"inflightPerService", func(l *relay.Limits) { l.InflightPerServiceMax = 2 }},
		{"slots", func(l *relay.Limits) { l.SlotsMax, l.InflightPerConnectionMax = 2, 2; l.InflightPerServiceMax = 8 }},
	} {
		t.Run(c.limit, func(t *testing.T) {
			r := newTrio(t, func(config *Config) { c.change(&config.Relay.Limits) })
			caller, last := r.caller, r.caller
			first, second := r.ask("1"), r.ask("2")
			if c.limit != "inflightPerConnection" {
				last = hello(t, r.addr, "another")
			}
			for range 3 {
				last.send(request("3", r.id, `"method":"m"`))
				last.expect(failure("3", -32052, "limit exceeded", `{"delivered":"never","limit":"`+c.limit+`"}`))
			}
			r.owner.send(result(second, `2`), result(first, `1`))
			caller.expect(result("2", `2`), result("1", `1`))
			r.over("3", first, 0)
		})
	}
}
