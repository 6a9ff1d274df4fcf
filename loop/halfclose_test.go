package loop

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// A peer that half-closes gets what the relay itself had to say to the lines before; answers of services
// are lost, and their requests cancelled.
func TestHalfCloseLosesAnswersOfServices(t *testing.T) {
	s := run(t, nil)
	owner := hello(t, s.addr, "owner")
	id := owner.register(`{}`)
	p := dial(t, s.addr)
	p.send(initialize("a"), request("1", id, `"method":"m"`), registerHead+`{}}}`, request("2", "none", `"method":"m"`), `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	p.closeWrite()
	if line := p.line(); !strings.HasPrefix(line, initialized) {
		t.Error(line)
	}
	if line := p.line(); !strings.HasPrefix(line, registered) {
		t.Error(line)
	}
	p.expect(failure("2", -32008, "no such service", notFound), result("3", "null"))
	p.eof()
	relayID := owner.asked(id, "a", asked)
	owner.expect(cancelRequest(relayID))
	owner.quiet()
	hello(t, s.addr, "a").quiet()
}

// An unfinished last line is none.
func TestHalfCloseInTheMiddleOfALine(t *testing.T) {
	s := run(t, nil)
	p := hello(t, s.addr, "a")
	p.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if _, err := io.WriteString(p, `{"jsonrpc":"2.0","id":2,"method":"ping"}`); err != nil {
		t.Fatal(err)
	}
	p.closeWrite()
	p.expect(result("1", "null"))
	p.eof()
}

// bigCatalogue registers services until their objects have about the given size in all, and returns the owners.
func bigCatalogue(t *testing.T, s *server, bytes int) (owners []*peer) {
	t.Helper()
	metadata := registerHead + `{"x":"` + strings.Repeat("x", 16<<10-8) + `"}}}`
	for n := 0; s.gauges().CatalogBytes < bytes; n++ {
		owner := hello(t, s.addr, fmt.Sprint("owner", n))
		owners = append(owners, owner)
		owner.send(slices.Repeat([]string{metadata}, 64)...)
		for range 64 {
			if line := owner.line(); !strings.HasPrefix(line, registered) {
				t.Fatal(line)
			}
		}
	}
	return owners
}

// A half-closed peer gets all of an answer that is larger than every socket buffer, however slowly it
// reads: the reactor lets go of the connection, the rest goes out by another way.
func TestHalfCloseWithALargeSnapshot(t *testing.T) {
	s := run(t, func(c *Config) { c.Relay.Limits.ReplayActions = 0 })
	bigCatalogue(t, s, 20<<20)
	want := s.gauges()
	p := dialWith(t, "tcp", s.addr, 64<<10)
	p.initialize("reader")
	p.send(subscribeLine, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	p.closeWrite()
	s.until("the rest waits", func(core *relay.Core) bool {
		g := core.Gauges()
		return g.Observers == 0 && g.QueueBytes > 0 && g.QueueBytes < int64(want.CatalogBytes)-64<<10 && s.orphans() == 1
	})
	line := p.line()
	head, tail := `{"jsonrpc":"2.0","id":"s","result":{"snapshot":{"resource":"ahp-client-services://","state":{"services":[{"serviceId":"`, fmt.Sprintf(`}]},"fromSeq":%d}}}`, want.Seq)
	if n := strings.Count(line, `"serviceId":`); n != want.Services || !strings.HasPrefix(line, head) || !strings.HasSuffix(line, tail) {
		t.Errorf("the snapshot has %d services of %d and %d bytes, %.200s", n, want.Services, len(line), line)
	}
	p.expect(result("1", "null"))
	p.eof()
}

// A half-closed peer that dies, or does not read, is not waited for.
func TestHalfCloseAndNoReader(t *testing.T) {
	for _, c := range []struct {
		name  string
		stall time.Duration
		then  func(*peer)
	}{{"resets", time.Minute, (*peer).reset}, {"closes", time.Minute, func(p *peer) { _ = p.Close() }}, {"stalls", 300 * time.Millisecond, nil}} {
		t.Run(c.name, func(t *testing.T) {
			s := run(t, func(config *Config) {
				config.Relay.Limits.ReplayActions = 0
				config.Relay.Limits.StallTimeout = c.stall
			})
			bigCatalogue(t, s, 8<<20)
			before := s.gauges()
			p := helloNarrow(t, s.addr, "reader")
			frames := s.counters().FramesIn
			p.send(subscribeLine)
			p.closeWrite()
			if c.then != nil {
				s.until("the rest waits", func(core *relay.Core) bool {
					return core.Gauges().Observers == 0 && core.Gauges().QueueBytes > before.QueueBytes+1<<20
				})
				c.then(p)
			}
			s.until("it is gone", func(core *relay.Core) bool {
				return core.Counters().FramesIn > frames && core.Peers() == before.Connections && core.Gauges().QueueBytes == before.QueueBytes
			})
		})
	}
}

// orphans counts the connections that gnet has let go of; to be called on the loop.
func (s *server) orphans() (n int) {
	for _, c := range s.reactor.conns {
		if c != nil && c.orphan {
			n++
		}
	}
	return n
}

// A server that is stopped with output still waiting closes every descriptor that it had.
func TestStopClosesEveryDescriptor(t *testing.T) {
	files := func() int {
		entries, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Skip("no /dev/fd here: ", err)
		}
		return len(entries)
	}
	cycle := func() {
		s := run(t, func(c *Config) { c.Relay.Limits.ReplayActions = 0 })
		clients := bigCatalogue(t, s, 8<<20)
		orphan, blocked := helloNarrow(t, s.addr, "orphan"), helloNarrow(t, s.addr, "blocked")
		orphan.send(subscribeLine)
		blocked.send(subscribeLine)
		orphan.closeWrite()
		s.until("both wait", func(core *relay.Core) bool { return s.orphans() == 1 && core.Gauges().Observers == 1 })
		s.stop()
		for _, p := range append(clients, orphan, blocked) {
			_ = p.Close()
		}
	}
	cycle() // opens what the process keeps
	before := files()
	cycle()
	if after := files(); after != before {
		t.Errorf("%d files are open, %d were before", after, before)
	}
}
