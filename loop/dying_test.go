package loop

import (
	"strings"
	"testing"

	"github.com/ahprelay/ahprelay/relay"
)

// A connection dies, orderly or by a reset, at each step of a request. The other side hears exactly what
// the contract says, once, and nothing is left of the request.
func TestDyingAtEachStepOfARequest(t *testing.T) {
	unavailable := failure("1", -32050, "service unavailable", maybe)
	for _, step := range []struct {
		name string
		play func(r *trio, die func(*peer))
	}{
		{"owner before the request", func(r *trio, die func(*peer)) {
			die(r.owner)
			r.gone(1)
			r.caller.send(request("1", r.id, `"method":"m"`))
			r.caller.expect(failure("1", -32008, "no such service", notFound))
		}},
		{"owner with the request unread", func(r *trio, die func(*peer)) {
			r.caller.send(request("1", r.id, `"method":"m"`))
			r.until("it is forwarded", func(core *relay.Core) bool { return core.Counters().RequestsForwarded == 1 })
			die(r.owner)
			r.caller.expect(unavailable)
		}},
		{"owner with the request read", func(r *trio, die func(*peer)) {
			r.ask("1")
			die(r.owner)
			r.caller.expect(unavailable)
		}},
		{"owner in the middle of its answer", func(r *trio, die func(*peer)) {
			answer := result(r.ask("1"), `"never"`)
			if _, err := r.owner.Write([]byte(answer[:len(answer)-3])); err != nil {
				r.t.Fatal(err)
			}
			die(r.owner)
			r.caller.expect(unavailable)
		}},
		{"owner after its answer", func(r *trio, die func(*peer)) {
			r.owner.send(result(r.ask("1"), `1`))
			r.caller.expect(result("1", `1`))
			die(r.owner)
		}},
		{"owner after a cancellation", func(r *trio, die func(*peer)) {
			relayID := r.ask("1")
			r.caller.send(cancelRequest("1"))
			r.caller.expect(failure("1", -32800, "request cancelled", maybe))
			r.owner.expect(cancelRequest(relayID))
			die(r.owner)
		}},
		{"caller in the middle of its request", func(r *trio, die func(*peer)) {
			line := request("1", r.id, `"method":"m"`)
			if _, err := r.caller.Write([]byte(line[:len(line)-3])); err != nil {
				r.t.Fatal(err)
			}
			die(r.caller)
		}},
		{"caller with the request at the owner", func(r *trio, die func(*peer)) {
			relayID := r.ask("1")
			die(r.caller)
			r.owner.expect(cancelRequest(relayID))
			r.owner.send(result(relayID, `"late"`))
		}},
		{"caller with the answer unread", func(r *trio, die func(*peer)) {
			r.owner.send(result(r.ask("1"), `"`+strings.Repeat("x", 100<<10)+`"`))
			r.until("it is answered", func(core *relay.Core) bool { return core.Counters().Requests[relay.OutcomeResult] == 1 })
			die(r.caller)
		}},
		{"caller after its cancellation", func(r *trio, die func(*peer)) {
			relayID := r.ask("1")
			r.caller.send(cancelRequest("1"))
			r.caller.expect(failure("1", -32800, "request cancelled", maybe))
			die(r.caller)
			r.owner.expect(cancelRequest(relayID))
			r.owner.send(result(relayID, `"late"`))
		}},
	} {
		for _, how := range []struct {
			name string
			die  func(*peer)
		}{{"close", func(p *peer) { _ = p.Close() }}, {"reset", (*peer).reset}} {
			t.Run(step.name+" by "+how.name, func(t *testing.T) {
				r := newTrio(t, nil)
				bystander := hello(t, r.addr, "bystander")
				survivor, dies := r.caller, "owner"
				if strings.HasPrefix(step.name, "caller") {
					survivor, dies = r.owner, "caller"
				}
				step.play(r, how.die)
				r.gone(1)
				survivor.quiet()
				bystander.quiet()
				if g := r.gauges(); g.Inflight != 0 || g.Ghosts != 0 {
					t.Errorf("%d in flight, %d ghosts", g.Inflight, g.Ghosts)
				}
				hello(t, r.addr, dies).quiet()
			})
		}
	}
}

// gone waits until the relay has noticed that one of the three connections has died.
func (r *trio) gone(n int) {
	r.t.Helper()
	r.until("its death is noticed", func(core *relay.Core) bool { return core.Peers() == 3-n })
}
