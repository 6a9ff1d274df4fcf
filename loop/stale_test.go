package loop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ahprelay/ahprelay/relay"
)

const notFound = `{"delivered":"never"}`

// A stale service id never reaches a successor: not when the place in the table is used again, not when
// the same client comes back, not after a restart of the relay.
func TestStaleServiceIDsNeverReachSuccessors(t *testing.T) {
	s := run(t, nil)
	caller := hello(t, s.addr, "caller")
	var stale []string
	owner := hello(t, s.addr, "owner")
	for range 5 {
		id := owner.register(`{"protocol":"same"}`)
		stale = append(stale, id)
		owner.send(`{"jsonrpc":"2.0","id":"u","method":"client/unregisterService","params":{"serviceId":"` + id + `"}}`)
		owner.expect(result(`"u"`, `{}`))
	}
	stale = append(stale, owner.register(`{"protocol":"same"}`))
	_ = owner.Close()
	s.until("the owner is gone", func(core *relay.Core) bool { return core.Gauges().Services == 0 })

	owner = hello(t, s.addr, "owner")
	current := owner.register(`{"protocol":"same"}`)
	useStale(t, owner, caller, stale, current)

	addr := s.addr
	_, _ = owner.Close(), caller.Close()
	s.empty()
	s.stop()
	stale = append(stale, current)
	run(t, func(c *Config) { c.Listen = []string{"tcp://" + addr} })
	owner, caller = hello(t, addr, "owner"), hello(t, addr, "caller")
	useStale(t, owner, caller, stale, owner.register(`{"protocol":"same"}`))
}

// useStale sends to stale ids: the caller hears the same as for an id that never was, the owner nothing.
func useStale(t *testing.T, owner, caller *peer, stale []string, current string) {
	t.Helper()
	for i, id := range append(stale, strings.Repeat("A", len(current)), "x", "") {
		if id == current {
			t.Fatalf("the id %s was used twice", id)
		}
		n := fmt.Sprint(i)
		caller.send(notify(id, `"method":"m"`), request(n, id, `"method":"m"`))
		caller.expect(failure(n, -32008, "no such service", notFound))
		owner.send(`{"jsonrpc":"2.0","id":` + n + `,"method":"client/updateService","params":{"serviceId":"` + id + `","metadata":{}}}`)
		owner.expect(failure(n, -32008, "no such service", ""))
	}
	owner.quiet()
	caller.send(notify(current, `"method":"m"`))
	owner.expect(notified(current, "caller", `"method":"m","params":null`))
}

// A relay id that was used up completes nothing that came after it, in this process or the next.
func TestStaleRelayIDsNeverReachSuccessors(t *testing.T) {
	s := run(t, nil)
	var stale []string
	use := func(owner, caller *peer, rounds int) {
		t.Helper()
		id := owner.register(`{}`)
		for i := range rounds {
			caller.send(request(fmt.Sprint(i), id, `"method":"m"`))
			relayID := owner.asked(id, "caller", `"method":"m","params":null,"timeoutMs":30000`)
			for _, old := range stale {
				if old == relayID {
					t.Fatalf("relay id %s was used twice", old)
				}
				owner.send(result(old, `"stale"`), failure(old, -1, "stale", ""))
			}
			owner.quiet()
			owner.send(result(relayID, fmt.Sprint(i)))
			caller.expect(result(fmt.Sprint(i), fmt.Sprint(i)))
			stale = append(stale, relayID)
		}
	}
	owner, caller := hello(t, s.addr, "owner"), hello(t, s.addr, "caller")
	use(owner, caller, 10)
	if k := s.counters(); k.AnswersDropped != 2*(9*10/2) {
		t.Errorf("%d stale answers were dropped, %d were sent", k.AnswersDropped, 9*10)
	}
	addr := s.addr
	_, _ = owner.Close(), caller.Close()
	s.empty()
	s.stop()
	run(t, func(c *Config) { c.Listen = []string{"tcp://" + addr} })
	owner, caller = hello(t, addr, "owner"), hello(t, addr, "caller")
	use(owner, caller, 5)
}

// Everybody may use the same ids, of either type: each caller gets its own answer, however the owner
// orders them.
func TestIdenticalIDsFromManyCallers(t *testing.T) {
	const callers = 20
	s := run(t, nil)
	owner := hello(t, s.addr, "owner")
	id := owner.register(`{}`)
	ids := []string{`1`, `"1"`, `1.0`, `1e0`, `"\u0031"`, `9007199254740993`}
	var all []*peer
	var answers []string
	for n := range callers {
		name := fmt.Sprint("caller", n)
		caller := hello(t, s.addr, name)
		all = append(all, caller)
		for i, reqID := range ids {
			caller.send(request(reqID, id, `"method":"m"`))
			relayID := owner.asked(id, name, `"method":"m","params":null,"timeoutMs":30000`)
			answers = append(answers, result(relayID, fmt.Sprintf(`"%s %d"`, name, i)))
		}
		caller.send(request(`1`, id, `"method":"again"`))
		caller.expect(failure("null", -32600, "id is in flight already", `{"duplicateId":1}`))
	}
	for i := len(answers) - 1; i >= 0; i-- {
		owner.send(answers[i], answers[i])
	}
	for n, caller := range all {
		for i := len(ids) - 1; i >= 0; i-- {
			caller.expect(result(ids[i], fmt.Sprintf(`"caller%d %d"`, n, i)))
		}
		caller.quiet()
	}
}

// Only the connection that a request was forwarded to can answer it.
func TestOnlyTheOwnerCompletes(t *testing.T) {
	s := run(t, nil)
	owner, caller, other := hello(t, s.addr, "owner"), hello(t, s.addr, "caller"), hello(t, s.addr, "other")
	id := owner.register(`{}`)
	other.register(`{}`)
	caller.send(request(`7`, id, `"method":"m"`))
	relayID := owner.asked(id, "caller", `"method":"m","params":null,"timeoutMs":30000`)
	forged := 0
	for _, p := range []*peer{other, caller} {
		p.send(result(relayID, `"forged"`), failure(relayID, -1, "forged", ""), cancelRequest(relayID))
		forged += 2
		p.quiet()
	}
	// Spelled otherwise, or as a string, or beside a method, it is not the answer either.
	owner.send(result(`"`+relayID+`"`, `"forged"`), result(relayID+`9`, `"forged"`), result(`-`+relayID, `"forged"`))
	forged += 3
	owner.quiet()
	caller.quiet()
	if k := s.counters(); int(k.AnswersDropped) != forged {
		t.Errorf("%d answers were dropped, %d were forged", k.AnswersDropped, forged)
	}
	owner.send(result(relayID, `"real"`))
	caller.expect(result(`7`, `"real"`))
	caller.quiet()
}
