package loop

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

const ending = "the relay is shutting down"

// shutdown reads the announcement of a drain.
func (p *peer) shutdown(grace time.Duration) {
	p.t.Helper()
	line, after := p.line(), 0
	head := strings.TrimSuffix(closing("shutdown", ending), "}}") + fmt.Sprintf(`,"graceMs":%d,"reconnectAfterMs":`, grace.Milliseconds())
	if tail, ok := strings.CutPrefix(line, head); ok {
		_, _ = fmt.Sscanf(tail, "%d}}", &after)
	}
	if want := fmt.Sprintf("%s%d}}", head, after); line != want || after < 500 || after >= 2500 {
		p.t.Fatalf("got  %s\nwant %s", line, want)
	}
}

// A drain tells everybody, lets requests in flight finish, begins nothing new, and ends by itself.
func TestDrain(t *testing.T) {
	r := newTrio(t, nil)
	late, idle := dial(t, r.addr), hello(t, r.addr, "idle")
	late.quiet()
	relayID := r.ask("1")
	r.Drain()
	for _, p := range []*peer{r.owner, r.caller, late, idle} {
		p.shutdown(10 * time.Second)
	}
	if c, err := net.Dial("tcp", r.addr); err == nil {
		t.Error("the port still takes connections")
		_ = c.Close()
	}

	overloaded := func(id string) string { return failure(id, -32053, ending, notFound) }
	late.send(initialize("late"), reconnect("late", `""`))
	late.expect(overloaded("0"), overloaded("0"))
	r.caller.send(request("2", r.id, `"method":"m"`), request("3", "none", `"method":"m"`), registerHead+`{}}}`, notify(r.id, `"method":"still"`))
	r.caller.expect(overloaded("2"), failure("3", -32008, "no such service", notFound), overloaded(`"r"`))
	r.owner.send(`{"jsonrpc":"2.0","id":4,"method":"client/updateService","params":{"serviceId":"` + r.id + `","metadata":{}}}`)
	r.owner.expect(notified(r.id, "caller", `"method":"still","params":null`), overloaded("4"))

	r.owner.send(result(relayID, `"finished"`))
	r.caller.expect(result("1", `"finished"`))
	for _, p := range []*peer{r.owner, r.caller, late, idle} {
		p.eof()
		_ = p.Close()
	}
	r.wait()
}

// What is still in flight when the time is up fails.
func TestDrainTimeout(t *testing.T) {
	const grace = 100 * time.Millisecond
	r := newTrio(t, func(c *Config) { c.Relay.Limits.DrainTimeout = grace })
	r.ask("1")
	r.Drain()
	r.Drain() // once is enough
	r.owner.shutdown(grace)
	r.caller.shutdown(grace)
	r.caller.expect(failure("1", -32050, ending, maybe))
	r.caller.eof()
	r.owner.eof()
	_, _ = r.caller.Close(), r.owner.Close()
	r.wait()
}

// A drain with nothing in flight ends at once; a client that does not go away is waited for a second.
func TestDrainOfTheIdle(t *testing.T) {
	s := run(t, nil)
	s.Drain()
	s.wait()

	s = run(t, nil)
	p := hello(t, s.addr, "a")
	s.Drain()
	p.shutdown(10 * time.Second)
	p.eof()
	s.wait()
}

// What waits in an output is flushed before the end. That the others end at the same moment is no news.
func TestDrainFlushes(t *testing.T) {
	s := run(t, func(c *Config) { c.Relay.Limits.ReplayActions = 0 })
	owners := bigCatalogue(t, s, 8<<20)
	g := s.gauges()
	p := dialWith(t, "tcp", s.addr, 64<<10)
	p.initialize("reader")
	p.send(subscribeLine)
	s.until("the snapshot waits", func(core *relay.Core) bool { return core.Gauges().Observers == 1 })
	s.Drain()
	if line := p.line(); strings.Count(line, `"serviceId":`) != g.Services {
		t.Errorf("the snapshot has %d bytes", len(line))
	}
	p.shutdown(10 * time.Second)
	p.eof()
	for _, q := range append(owners, p) {
		_ = q.Close()
	}
	s.wait()
}

// A client that reads as slowly as it can does not put off the end.
func TestDrainAbandonsSlowReaders(t *testing.T) {
	s := run(t, func(c *Config) {
		c.Relay.Limits.ReplayActions = 0
		c.Relay.Limits.DrainTimeout = 10 * time.Millisecond
	})
	owners := bigCatalogue(t, s, 8<<20)
	slow, half := helloNarrow(t, s.addr, "slow"), helloNarrow(t, s.addr, "half")
	slow.send(subscribeLine)
	half.send(subscribeLine)
	half.closeWrite()
	s.until("both wait", func(core *relay.Core) bool { return s.orphans() == 1 && core.Gauges().Observers == 1 })
	s.Drain()
	s.wait()
	for _, p := range append(owners, slow, half) {
		_ = p.Close()
	}
}
