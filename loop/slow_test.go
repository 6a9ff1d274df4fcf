package loop

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// provide answers every request with value until the connection ends.
func provide(p *peer, value string) {
	for {
		line, err := p.tryLine()
		if err != nil {
			return
		}
		if id, ok := relayID(line); ok {
			if p.trySend(result(id, value)) != nil {
				return
			}
		}
	}
}

// rest reads until EOF and returns the last complete line.
func (p *peer) rest() (last string) {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(patience))
	for {
		line, err := p.r.ReadString('\n')
		if err == io.EOF && line == "" {
			return last
		}
		if err != nil {
			p.t.Fatalf("reading: %v after %.80q", err, line)
		}
		last = line[:len(line)-1]
	}
}

// A caller that never reads its answers is closed, by the limit of its output or of all memory. The
// provider, another caller and their requests go on all the while.
func TestCallerThatNeverReadsItsAnswersIsClosed(t *testing.T) {
	for _, c := range []struct {
		name, message string
		change        func(*relay.Limits)
	}{
		{"queue", "unsent output over queue_bytes_hard", func(*relay.Limits) {}},
		{"memory", "memory_bytes_max reached and this connection held most", func(l *relay.Limits) {
			l.QueueBytesHard, l.MemoryBytesMax = 64<<20, 1<<20
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := run(t, func(config *Config) { tight(config); c.change(&config.Relay.Limits) })
			provider, good, bad := hello(t, s.addr, "provider"), hello(t, s.addr, "good"), helloNarrow(t, s.addr, "bad")
			id, answer := provider.register(`{}`), `"`+strings.Repeat("x", 32<<10)+`"`
			ended := make(chan struct{})
			go func() { provide(provider, answer); close(ended) }()
			i := 0
			for ; s.counters().Closed[relay.ReasonSlowConsumer] == 0; i++ {
				_ = bad.trySend(request(strconv.Itoa(i), id, `"method":"m"`))
				good.send(request(strconv.Itoa(i), id, `"method":"m"`))
				good.expect(result(strconv.Itoa(i), answer))
			}
			for range 20 {
				good.send(request(strconv.Itoa(i), id, `"method":"m"`))
				good.expect(result(strconv.Itoa(i), answer))
			}
			if last := bad.rest(); last != closing("slowConsumer", c.message) {
				t.Errorf("the last line is %.200s", last)
			}
			if k := s.counters(); k.Closed[relay.ReasonSlowConsumer] != 1 {
				t.Errorf("%d were closed", k.Closed[relay.ReasonSlowConsumer])
			}
			good.quiet()
			_ = provider.Close()
			<-ended
		})
	}
}

// Snapshots asked for in a loop by a client that does not read them cost the memory of one.
func TestSnapshotsThatNobodyReads(t *testing.T) {
	const services, asked = 64, 500
	s := run(t, nil)
	owner, reader := hello(t, s.addr, "owner"), helloNarrow(t, s.addr, "reader")
	metadata := `{"x":"` + strings.Repeat("x", 16<<10-8) + `"}`
	for range services {
		owner.register(metadata)
	}
	g := s.gauges()
	bound := g.Memory + int64(g.CatalogBytes) + 64<<10 + asked*200
	for i := range asked {
		reader.send(`{"jsonrpc":"2.0","id":` + strconv.Itoa(i) + `,"method":"subscribe","params":{"channel":"ahp-client-services://"}}`)
		if i%50 == 0 {
			if m := s.gauges().Memory; m > bound {
				t.Fatalf("memory %d, bound %d", m, bound)
			}
		}
	}
	s.until("everything is received", func(core *relay.Core) bool { return core.Counters().FramesIn >= asked+2+services })
	if m := s.gauges().Memory; m > bound {
		t.Errorf("memory %d, bound %d", m, bound)
	}
	snapshots, refused := 0, 0
	for i := range asked {
		switch line := reader.line(); {
		case strings.HasPrefix(line, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"snapshot":{"resource":`, i)) && len(line) > g.CatalogBytes:
			snapshots++
		case line == failure(strconv.Itoa(i), -32052, "an earlier snapshot has not been read yet", `{"limit":"snapshots"}`):
			refused++
		default:
			t.Fatalf("answer %d is %.200s", i, line)
		}
	}
	if snapshots == 0 || refused < asked/2 {
		t.Errorf("%d snapshots, %d refused", snapshots, refused)
	}
	reader.send(subscribeLine)
	if line := reader.line(); len(line) < g.CatalogBytes {
		t.Errorf("after reading everything: %.200s", line)
	}
}

// A line that does not end costs no more than the limit of a line, and its sender is told why it is closed.
func TestEndlessLineCostsBoundedMemory(t *testing.T) {
	for _, c := range []struct {
		name  string
		hello bool
		limit int
	}{{"before the handshake", false, 64 << 10}, {"after it", true, 1 << 20}} {
		t.Run(c.name, func(t *testing.T) {
			s := run(t, nil)
			p := dial(t, s.addr)
			if c.hello {
				p.initialize("a")
			}
			chunk := strings.Repeat("x", 16<<10)
			for sent := 0; sent+len(chunk) <= c.limit; sent += len(chunk) {
				if _, err := io.WriteString(p, chunk); err != nil {
					t.Fatal(err)
				}
				if m := s.gauges().Memory; m > int64(c.limit)+64 {
					t.Fatalf("%d bytes are held after %d", m, sent)
				}
			}
			s.until("all of it has come", func(core *relay.Core) bool { return core.Counters().BytesIn >= uint64(c.limit) })
			if _, err := io.WriteString(p, strings.Repeat("x", 4<<20)); err != nil {
				t.Fatal(err)
			}
			p.expect(closing("frameTooLarge", "a line is longer than the limit"))
			p.eof()
			if m := s.gauges().Memory; m != 0 {
				t.Errorf("%d bytes are held for a connection that is closing", m)
			}
		})
	}
}
