package loop

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// narrow is a receive buffer that makes a reader that stops felt soon.
const narrow = 4096

// tight makes queues small, so that little has to be sent to fill them.
func tight(c *Config) {
	l := &c.Relay.Limits
	l.FrameBytesMax, l.MetadataBytesMax, l.CatalogBytesMax = 64<<10, 1<<10, 64<<10
	l.QueueBytesSoft, l.QueueBytesHard = 256<<10, 1<<20
}

func helloNarrow(t testing.TB, addr, clientID string) *peer {
	t.Helper()
	p := dialWith(t, "tcp", addr, narrow)
	p.initialize(clientID)
	return p
}

var padding = strings.Repeat("x", 1000)

func numbered(n int) string {
	return `"method":"m","params":{"n":` + strconv.Itoa(n) + `,"x":"` + padding + `"}`
}

// gaps reads notifications of one sender for one service, numbered without a gap where markers do not
// tell of one, and returns the number of the next and the first line that is something else.
func (p *peer) gaps(service, sender string, next int) (int, string, []int) {
	p.t.Helper()
	var lost []int
	for {
		line := p.line()
		head, tail, _ := strings.Cut(dropped(service, 0), `"count":0`)
		if count, ok := strings.CutPrefix(line, head+`"count":`); ok {
			n, err := strconv.Atoi(strings.TrimSuffix(count, tail))
			if err != nil || n < 1 {
				p.t.Fatal(line)
			}
			lost = append(lost, n)
			next += n
			continue
		}
		if line != notified(service, sender, numbered(next)) {
			return next, line, lost
		}
		next++
	}
}

// flood sends numbered notifications to services in turn, a batch at a time, and has after called between.
func flood(p *peer, services []string, from, to int, after func(next int)) {
	p.t.Helper()
	const batch = 50
	for n := from; n < to; n += batch {
		var lines []string
		for i := n; i < min(n+batch, to); i++ {
			for _, id := range services {
				lines = append(lines, notify(id, numbered(i)))
			}
		}
		p.send(lines...)
		after(min(n+batch, to))
	}
}

// A reader that stops costs only itself: its neighbours get everything in order, memory stays bounded,
// and what it got and what it is told to have lost add up to what was sent.
func TestReaderThatStopsCostsOnlyItself(t *testing.T) {
	const count = 8000
	s := run(t, tight)
	stopped, sender := helloNarrow(t, s.addr, "stopped"), hello(t, s.addr, "sender")
	services := []string{stopped.register(`{}`)}
	var healthy []*peer
	for n := range 2 {
		p := hello(t, s.addr, fmt.Sprint("healthy", n))
		healthy = append(healthy, p)
		services = append(services, p.register(`{}`))
	}
	bound := int64(256<<10) + 64<<10
	received := 0
	flood(sender, services, 0, count, func(next int) {
		for ; received < next; received++ {
			for i, p := range healthy {
				p.expect(notified(services[i+1], "sender", numbered(received)))
			}
		}
		if m := s.gauges().Memory; m > bound {
			t.Fatalf("memory %d, bound %d", m, bound)
		}
	})
	lostAll := s.counters().NotifyDropped[relay.DropOverload]
	if lostAll == 0 {
		t.Fatal("nothing was dropped: the reader has not stopped")
	}

	// It resumes. A request behind the gap is announced by the marker, and tells that all has been read.
	sender.send(request("1", services[0], `"method":"end"`))
	next, line, lost := stopped.gaps(services[0], "sender", 0)
	if relayID, ok := relayID(line); !ok || next != count || sum(lost) != int(lostAll) {
		t.Fatalf("%d notifications and losses of %d, lost %v, %d were dropped, then %s", next, count, lost, lostAll, line)
	} else {
		stopped.send(result(relayID, `1`))
	}
	sender.expect(result("1", `1`))
	sender.send(notify(services[0], numbered(count)))
	stopped.expect(notified(services[0], "sender", numbered(count)))
	stopped.quiet()
}

func sum(list []int) (n int) {
	for _, v := range list {
		n += v
	}
	return n
}

// Once the reader has caught up, the next notification has the marker before it.
func TestMarkerComesFirstAfterAGap(t *testing.T) {
	s := run(t, tight)
	stopped, sender := helloNarrow(t, s.addr, "stopped"), hello(t, s.addr, "sender")
	id := stopped.register(`{}`)
	const count = 8000
	flood(sender, []string{id}, 0, count, func(int) {})
	sender.quiet()
	k := s.counters()
	forwarded, lost := int(k.NotifyForwarded), int(k.NotifyDropped[relay.DropOverload])
	if forwarded+lost != count || lost == 0 {
		t.Fatalf("%d forwarded and %d dropped of %d", forwarded, lost, count)
	}
	told, next := 0, 0
	for got := 0; got < forwarded; {
		line := stopped.line()
		if line == notified(id, "sender", numbered(next)) {
			got++
			next++
			continue
		}
		n := 0
		if _, err := fmt.Sscanf(line[strings.LastIndex(line, `"count":`):], `"count":%d}}`, &n); err != nil || line != dropped(id, n) {
			t.Fatal(line)
		}
		told += n
		next += n
	}
	stopped.quiet()
	sender.send(notify(id, numbered(count)), notify(id, numbered(count+1)))
	stopped.expect(dropped(id, lost-told), notified(id, "sender", numbered(count)), notified(id, "sender", numbered(count+1)))
	stopped.quiet()
}

// Half of an owner's output is kept for requests: whoever floods it with notifications does not keep
// others from asking it.
func TestNotificationsDenyNobodysRequests(t *testing.T) {
	s := run(t, tight)
	stopped, sender, caller := helloNarrow(t, s.addr, "stopped"), hello(t, s.addr, "sender"), hello(t, s.addr, "caller")
	id := stopped.register(`{}`)
	flood(sender, []string{id}, 0, 8000, func(int) {})
	sender.quiet()
	if s.counters().NotifyDropped[relay.DropOverload] == 0 {
		t.Fatal("nothing was dropped: the reader has not stopped")
	}
	const requests = 20
	for i := range requests {
		caller.send(request(strconv.Itoa(i), id, `"method":"m"`))
	}
	caller.quiet()
	if g := s.gauges(); g.Inflight != requests {
		t.Fatalf("%d requests of %d are in flight", g.Inflight, requests)
	}
	next, line, _ := stopped.gaps(id, "sender", 0)
	if next != 8000 {
		t.Errorf("the requests came after %d notifications and losses", next)
	}
	for i := range requests {
		relayID, ok := relayID(line)
		if !ok {
			t.Fatal(line)
		}
		stopped.send(result(relayID, strconv.Itoa(i)))
		caller.expect(result(strconv.Itoa(i), strconv.Itoa(i)))
		if i < requests-1 {
			line = stopped.line()
		}
	}
}

// Requests to an owner whose output is full are refused, and have not been seen by it.
func TestRequestsToAFullOwnerAreRefused(t *testing.T) {
	s := run(t, tight)
	stopped, caller := helloNarrow(t, s.addr, "stopped"), hello(t, s.addr, "caller")
	id := stopped.register(`{}`)
	large := `"method":"m","params":{"x":"` + strings.Repeat("x", 60<<10) + `"}`
	ping, pong := `{"jsonrpc":"2.0","id":"p","method":"ping"}`, result(`"p"`, `null`)
	sent := 0
	for {
		caller.send(request(strconv.Itoa(sent), id, large), ping)
		line := caller.line()
		if line != pong {
			caller.expect(pong)
			if line != failure(strconv.Itoa(sent), -32053, "overloaded", notFound) {
				t.Fatal(line)
			}
			break
		}
		sent++
	}
	for i := range sent {
		stopped.send(result(stopped.asked(id, "caller", large+`,"timeoutMs":30000`), strconv.Itoa(i)))
		caller.expect(result(strconv.Itoa(i), strconv.Itoa(i)))
	}
	caller.send(request(strconv.Itoa(sent), id, `"method":"m"`))
	stopped.send(result(stopped.asked(id, "caller", asked), `1`))
	caller.expect(result(strconv.Itoa(sent), `1`))
}

// A client without a reader is closed when no byte of what waits for it is taken for stall_timeout.
func TestStalledReaderIsClosed(t *testing.T) {
	s := run(t, func(c *Config) { c.Relay.Limits.StallTimeout = 200 * time.Millisecond })
	stopped, sender := helloNarrow(t, s.addr, "stopped"), hello(t, s.addr, "sender")
	id := stopped.register(`{}`)
	flood(sender, []string{id}, 0, 20_000, func(int) {}) // more than the kernel ever takes
	s.until("the reader is closed", func(core *relay.Core) bool { return core.Counters().Closed[relay.ReasonSlowConsumer] == 1 })
	s.until("it is gone", func(core *relay.Core) bool { return core.Peers() == 1 })
	sender.send(request("1", id, `"method":"m"`))
	sender.expect(failure("1", -32008, "no such service", notFound))
	if g := s.gauges(); g.Memory > int64(g.ReplayBytes)+64<<10 {
		t.Errorf("memory %d", g.Memory)
	}
}

// With the policy "disconnect" such a reader is closed instead of losing messages.
func TestReaderThatStopsIsDisconnected(t *testing.T) {
	s := run(t, func(c *Config) {
		tight(c)
		c.Relay.Overload = relay.OverloadDisconnect
	})
	stopped, sender := helloNarrow(t, s.addr, "stopped"), hello(t, s.addr, "sender")
	id := stopped.register(`{}`)
	flood(sender, []string{id}, 0, 8000, func(int) {})
	sender.quiet()
	if k := s.counters(); k.Closed[relay.ReasonSlowConsumer] != 1 {
		t.Fatalf("closed: %v", k.Closed)
	}
	next, line, lost := stopped.gaps(id, "sender", 0)
	if line != closing("slowConsumer", "notifications came faster than they were read") || len(lost) != 0 {
		t.Errorf("after %d notifications: %s, lost %v", next, line, lost)
	}
	stopped.eof()
}
