package relay_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/relay"
	"github.com/ahprelay/ahprelay/table"
)

// body returns about n bytes of JSON: one long string, or many small tokens.
func body(r *rand.Rand, n int, dense bool) string {
	if !dense || n < 32 {
		b := make([]byte, max(1, n-8))
		for i := range b {
			b[i] = byte('a' + r.IntN(26))
		}
		return `{"d":"` + string(b) + `"}`
	}
	var s strings.Builder
	s.WriteString(`{"items":[`)
	for i := 0; s.Len() < n-24; i++ {
		if i > 0 {
			s.WriteByte(',')
		}
		fmt.Fprintf(&s, `{"k%d":%d,"b":%t}`, r.IntN(100), r.IntN(100000), r.IntN(2) == 0)
	}
	s.WriteString(`]}`)
	return s.String()
}

type rig struct {
	c             *relay.Core
	owner, caller relay.PeerID
	service       string
}

func newRig(tb testing.TB) *rig {
	c, err := relay.New(relay.DefaultConfig(), table.NewBoot([17]byte{1, 2, 3}, 1), [32]byte{})
	if err != nil {
		tb.Fatal(err)
	}
	g := &rig{c: c}
	g.owner, _ = c.Open(1, relay.PeerInfo{UID: -1})
	g.caller, _ = c.Open(1, relay.PeerInfo{UID: -1})
	for i, id := range []relay.PeerID{g.owner, g.caller} {
		c.Receive(1, id, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersions":["1.0.0"],"clientId":"client-%d"}}`+"\n", i))
	}
	g.drain(nil)
	c.Receive(1, g.owner, []byte(`{"jsonrpc":"2.0","id":2,"method":"client/registerService","params":{"metadata":{"protocol":"p"}}}`+"\n"))
	var out bytes.Buffer
	g.drain(&out)
	_, rest, _ := strings.Cut(out.String(), `"serviceId":"`)
	g.service, _, _ = strings.Cut(rest, `"`)
	return g
}

func (g *rig) drain(to *bytes.Buffer) {
	for {
		id, ok := g.c.Dirty()
		if !ok {
			return
		}
		for {
			out, _ := g.c.Take(id)
			if len(out) == 0 {
				break
			}
			if to != nil {
				to.Write(out)
			}
			g.c.Wrote(2, id, len(out))
		}
	}
}

func BenchmarkNotify(b *testing.B) {
	for _, size := range []int{16, 128, 1024, 16384} {
		for _, kind := range []string{"string", "dense"} {
			if kind == "dense" && size < 128 {
				continue
			}
			b.Run(fmt.Sprintf("%d/%s", size, kind), func(b *testing.B) {
				g := newRig(b)
				r := rand.New(rand.NewPCG(1, 2))
				var chunks [][]byte
				frames := 0
				for range 16 {
					var s bytes.Buffer
					for s.Len() < 128<<10 {
						fmt.Fprintf(&s, `{"jsonrpc":"2.0","method":"clientService/notify","params":{"channel":"ahp-client-services://","serviceId":"%s","method":"m","params":%s}}`+"\n", g.service, body(r, size, kind == "dense"))
						frames++
					}
					chunks = append(chunks, s.Bytes())
				}
				perChunk := frames / len(chunks)
				b.ReportAllocs()
				now := time.Duration(2)
				n := 0
				before := cpu()
				for b.Loop() {
					if n--; n > 0 {
						continue
					}
					n = perChunk
					now += time.Microsecond
					g.c.Receive(now, g.caller, chunks[int(now)%16])
					g.drain(nil)
				}
				b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// cpu is the user time that the process has used: what counts where others use the machine too.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano())
}

// exchange is one batch of requests and the owner's answers to them.
type exchange struct{ requests, answers []byte }

// record runs batches of requests and returns what crossed the wire: relay ids are the same in every
// core with the same boot, so another one can be fed with it.
func record(g *rig, rounds, batch int) []exchange {
	r := rand.New(rand.NewPCG(1, 2))
	list := make([]exchange, rounds)
	id := 0
	for i := range list {
		var in, out, answers bytes.Buffer
		for range batch {
			id++
			fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"clientService/request","params":{"channel":"ahp-client-services://","serviceId":"%s","method":"m","params":%s}}`+"\n", id, g.service, body(r, 128, false))
		}
		g.c.Receive(2, g.caller, in.Bytes())
		g.drain(&out)
		for line := range bytes.Lines(out.Bytes()) {
			_, rest, _ := bytes.Cut(line, []byte(`"id":`))
			relayID, _, _ := bytes.Cut(rest, []byte(`,`))
			fmt.Fprintf(&answers, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", relayID, body(r, 128, false))
		}
		g.c.Receive(2, g.owner, answers.Bytes())
		g.drain(nil)
		list[i] = exchange{in.Bytes(), answers.Bytes()}
	}
	return list
}

func BenchmarkRequest(b *testing.B) {
	const rounds, batch = 2000, 64
	list := record(newRig(b), rounds, batch)
	b.ReportAllocs()
	n, left := 0, 0
	var g *rig
	before := cpu()
	for b.Loop() {
		if n--; n > 0 {
			continue
		}
		n = batch
		if left == 0 {
			b.StopTimer()
			start := cpu()
			g, left = newRig(b), rounds
			before += cpu() - start
			b.StartTimer()
		}
		e := &list[rounds-left]
		left--
		g.c.Receive(2, g.caller, e.requests)
		g.drain(nil)
		g.c.Receive(2, g.owner, e.answers)
		g.drain(nil)
	}
	b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
}
