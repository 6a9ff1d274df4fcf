package loop

import (
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ahprelay/ahprelay/relay"
)

// limited is the refusal of a request that would exceed a limit.
func limited(id, limit string) string {
	return failure(id, -32052, "limit exceeded", `{"delivered":"never","limit":"`+limit+`"}`)
}

// Requesting and cancelling in a loop piles no work on a slow owner: what it has not answered stays
// charged to the caller, and to the service.
func TestRequestAndCancelLoop(t *testing.T) {
	const most = 8
	r := newTrio(t, func(c *Config) {
		c.Relay.Limits.InflightPerConnectionMax, c.Relay.Limits.InflightPerServiceMax = most, 2*most
	})
	attack := func(p *peer, limit string) {
		t.Helper()
		for i := range 200 {
			p.send(request("1", r.id, `"method":"m"`), cancelRequest("1"))
			want := failure("1", -32800, "request cancelled", maybe)
			if i >= most {
				want = limited("1", limit)
			}
			p.expect(want)
		}
	}
	attack(r.caller, "inflightPerConnection")
	other := hello(t, r.addr, "other")
	attack(other, "inflightPerConnection")
	third := hello(t, r.addr, "third")
	third.send(request("1", r.id, `"method":"m"`))
	third.expect(limited("1", "inflightPerService"))

	var relayIDs []string
	for i := range 2 * most {
		sender := "caller"
		if i >= most {
			sender = "other"
		}
		id := r.owner.asked(r.id, sender, asked)
		r.owner.expect(cancelRequest(id))
		relayIDs = append(relayIDs, id)
	}
	r.owner.quiet()
	// Each answer, late as it is, makes room for one more.
	r.owner.send(result(relayIDs[0], `1`))
	r.owner.quiet()
	r.caller.send(request("1", r.id, `"method":"m"`), request("2", r.id, `"method":"m"`))
	r.caller.expect(limited("2", "inflightPerConnection"))
	r.owner.send(result(r.owner.asked(r.id, "caller", asked), `1`))
	r.caller.expect(result("1", `1`))
}

// Requesting and disconnecting in a loop does not either: the service stays charged.
func TestRequestAndDisconnectLoop(t *testing.T) {
	const most = 8
	r := newTrio(t, func(c *Config) { c.Relay.Limits.InflightPerServiceMax = most })
	var relayIDs []string
	for i := range 3 * most {
		name := fmt.Sprint("attacker", i)
		p := hello(t, r.addr, name)
		p.send(request("1", r.id, `"method":"m"`))
		if i >= most {
			p.expect(limited("1", "inflightPerService"))
			_ = p.Close()
			continue
		}
		id := r.owner.asked(r.id, name, asked)
		relayIDs = append(relayIDs, id)
		if i%2 == 0 {
			p.reset()
		} else {
			_ = p.Close()
		}
		r.owner.expect(cancelRequest(id))
	}
	r.owner.quiet()
	if g := r.gauges(); g.Inflight != 0 || g.Ghosts != most {
		t.Errorf("%d in flight, %d ghosts", g.Inflight, g.Ghosts)
	}
	for _, id := range relayIDs {
		r.owner.send(result(id, `1`))
	}
	r.owner.quiet()
	r.owner.send(result(r.ask("1"), `1`))
	r.caller.expect(result("1", `1`))
}

// What nobody answers is given up after another request_timeout.
func TestGhostsEnd(t *testing.T) {
	r := newTrio(t, func(c *Config) { c.Relay.Limits.RequestTimeout = 100 * time.Millisecond })
	r.caller.send(request("1", r.id, `"method":"m"`))
	relayID := r.owner.asked(r.id, "caller", `"method":"m","params":null,"timeoutMs":100`)
	r.caller.expect(failure("1", -32051, "request timed out", maybe))
	r.owner.expect(cancelRequest(relayID))
	r.until("it is given up", func(core *relay.Core) bool { return core.Gauges().Ghosts == 0 })
}

// Who changes the catalogue in a loop is paced, so that it cannot fill the outputs of those who follow it.
func TestCatalogueChurnClosesNoObserver(t *testing.T) {
	s := run(t, tight)
	observer, churner := helloNarrow(t, s.addr, "observer"), hello(t, s.addr, "churner")
	observer.send(subscribeLine)
	observer.line()
	id := churner.register(`{}`)
	update := `{"jsonrpc":"2.0","id":"u","method":"client/updateService","params":{"serviceId":"` + id + `","metadata":{"x":"` + strings.Repeat("x", 900) + `"}}}`
	churner.send(strings.Repeat(update+"\n", 1499) + update)
	done, refused := 0, 0
	for range 1500 {
		switch line := churner.line(); line {
		case result(`"u"`, `{}`):
			done++
		case failure(`"u"`, -32052, "limit exceeded", `{"limit":"catalogChangesPerSecond"}`):
			refused++
		default:
			t.Fatal(line)
		}
	}
	if done < relay.CatalogChangesBurst-1 || refused == 0 {
		t.Errorf("%d changes were made, %d refused", done, refused)
	}
	for range done + 1 {
		if line := observer.line(); !strings.Contains(line, id) {
			t.Fatal(line)
		}
	}
	observer.quiet()
}

// A client that floods the relay keeps nobody from it: work for one connection is bounded in each turn.
func TestFloodBesideAPingPong(t *testing.T) {
	const rounds = 40
	for _, c := range []struct{ name, line string }{
		{"notifications", notify("none", `"method":"m"`)},
		{"blank lines", "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newTrio(t, nil)
			flooder := hello(t, r.addr, "flooder")
			var stopped atomic.Bool
			ended := make(chan struct{})
			block := strings.Repeat(c.line+"\n", 64<<10/len(c.line))
			_ = flooder.SetWriteDeadline(time.Time{})
			go func() {
				defer close(ended)
				for !stopped.Load() {
					if _, err := io.WriteString(flooder, block); err != nil {
						t.Error("flooding: ", err)
						return
					}
				}
			}()
			r.until("the flood is there", func(core *relay.Core) bool { return core.Counters().BytesIn > 4<<20 })
			before := r.counters()
			for i := range rounds {
				id := strconv.Itoa(i)
				r.owner.send(result(r.ask(id), id))
				r.caller.expect(result(id, id))
			}
			flood := (r.counters().BytesIn - before.BytesIn) / rounds
			stopped.Store(true)
			<-ended
			flooder.quiet()
			t.Logf("%d bytes of the flood a round trip", flood)
			// Each of the four steps of a round trip waits for a few turns, each turn reads the flooder once.
			if flood > 64*readBufferBytes {
				t.Errorf("%d bytes of the flood were read for each round trip", flood)
			}
		})
	}
}

// Several flooders, and an owner that they flood: it gets requests of others all the same.
func TestFloodOfTheOwnerItself(t *testing.T) {
	const flooders, rounds = 3, 30
	r := newTrio(t, nil)
	var stopped atomic.Bool
	ended := make(chan error, flooders+1)
	block := strings.Repeat(notify(r.id, `"method":"m","params":{"x":"`+padding+`"}`)+"\n", 50)
	for n := range flooders {
		p := hello(t, r.addr, fmt.Sprint("flooder", n))
		_ = p.SetWriteDeadline(time.Time{})
		go func() {
			for !stopped.Load() {
				if _, err := io.WriteString(p, block); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	go func() { // the owner answers requests between all that
		for n := 0; n < rounds; {
			line, err := r.owner.tryLine()
			if err != nil {
				ended <- err
				return
			}
			if id, ok := relayID(line); ok {
				n++
				if err := r.owner.trySend(result(id, `1`)); err != nil {
					ended <- err
					return
				}
			}
		}
		ended <- nil
	}()
	for range rounds {
		r.caller.send(request("1", r.id, `"method":"m"`))
		r.caller.expect(result("1", `1`))
	}
	stopped.Store(true)
	go func() { _, _ = io.Copy(io.Discard, r.owner.r) }()
	for range flooders + 1 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	_ = r.owner.Conn.(*net.TCPConn).SetReadDeadline(time.Time{})
	_ = r.owner.Close()
}

// A relay with nothing to do does nothing: no timer spins, whatever its connections wait for.
func TestIdleRelayIsIdle(t *testing.T) {
	s := run(t, nil)
	owner, caller, blocked := hello(t, s.addr, "owner"), hello(t, s.addr, "caller"), helloNarrow(t, s.addr, "blocked")
	id, full := owner.register(`{}`), blocked.register(`{}`)
	dial(t, s.addr) // no handshake
	flood(caller, []string{full}, 0, 8000, func(int) {})
	caller.send(request("1", id, `"method":"m","timeoutMs":600000`), request("2", id, `"method":"m"`), cancelRequest("2"))
	caller.expect(failure("2", -32800, "request cancelled", maybe))
	if s.gauges().QueueBytes == 0 {
		t.Fatal("the reader is not blocked")
	}
	before := usage(t)
	time.Sleep(time.Second)
	after := usage(t)
	cpu := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	switches := after.Nvcsw - before.Nvcsw
	t.Logf("in an idle second: %v of CPU, %d context switches", cpu, switches)
	if cpu > 200*time.Millisecond || switches > 500 {
		t.Errorf("in an idle second: %v of CPU, %d context switches", cpu, switches)
	}
}

func usage(t *testing.T) (u unix.Rusage) {
	t.Helper()
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u
}

// The clock that the core is driven by follows its deadlines, not a beat of its own.
func TestTimerFollowsDeadlines(t *testing.T) {
	r := newTrio(t, nil)
	r.inspect(func(core *relay.Core) {
		if at, ok := core.NextDeadline(); ok && at < math.MaxInt64 && r.reactor.armed == 0 {
			t.Errorf("a deadline at %v, but no timer", at)
		}
	})
	relayIDs := map[string]bool{}
	for _, ms := range []string{"400", "20", "200"} {
		r.caller.send(request(ms, r.id, `"method":"m","timeoutMs":`+ms))
		relayIDs[r.owner.asked(r.id, "caller", `"method":"m","params":null,"timeoutMs":`+ms)] = true
	}
	for _, ms := range []string{"20", "200", "400"} {
		r.caller.expect(failure(ms, -32051, "request timed out", maybe))
	}
	r.caller.quiet()
}
