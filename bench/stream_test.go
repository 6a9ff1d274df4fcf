//go:build linux

package bench

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// short are options for a repetition that takes a moment.
func short(system System) *Options {
	o := DefaultOptions()
	o.Systems = []System{system}
	o.Reps, o.Duration, o.Warmup, o.least = 1, 10*time.Millisecond, time.Millisecond, 1000
	return &o
}

func spreadScenario() *Scenario {
	return &Scenario{Name: "spread", Need: NeedRoutes, Senders: 3, Receivers: 2, Services: 7, Kind: Dense, Size: 128,
		Target: func(rng *rand.Rand, _, _ int) int { return rng.IntN(7) }}
}

func pairScenario() *Scenario {
	return &Scenario{Name: "pairs", Need: NeedPairs, Senders: 2, Receivers: 2, Kind: Dense, Size: 16}
}

func callScenario() *Scenario {
	return &Scenario{Name: "calls", Need: NeedCalls, Senders: 2, Receivers: 2, Kind: String, Size: 64, Outstanding: 8, Latency: true}
}

func TestStreamsAgainstAFaultlessRelay(t *testing.T) {
	single := pairScenario()
	single.Single, single.Every, single.Latency = true, 50*time.Microsecond, true
	pieces := &Scenario{Name: "pieces", Need: NeedPairs, Senders: 1, Receivers: 1, Kind: String, Size: 5000, Places: 4, Piece: 1000}
	for _, s := range []*Scenario{pairScenario(), spreadScenario(), callScenario(), single, pieces} {
		t.Run(s.Name, func(t *testing.T) {
			f := &fake{t: t}
			sample, err := once(context.Background(), short(f), s, f)
			if err != nil {
				t.Fatal(err)
			}
			if sample.PerSecond <= 0 || sample.ServerMicros <= 0 || sample.Resident <= 0 {
				t.Errorf("nothing measured: %+v", sample)
			}
			if s.Latency != (sample.Latency != nil) {
				t.Errorf("latency measured: %v, want %v", sample.Latency != nil, s.Latency)
			}
			if s.Latency && (sample.Latency.P50 <= 0 || sample.Latency.P50 > sample.Latency.P999 || sample.Latency.P999 > sample.Latency.Max) {
				t.Errorf("percentiles out of order: %+v", *sample.Latency)
			}
		})
	}
}

func TestFaultsEndTheRun(t *testing.T) {
	for _, s := range []*Scenario{pairScenario(), spreadScenario(), callScenario()} {
		for kind, want := range map[string][]string{
			"lose":    {"lost", "is not the one due"},
			"repeat":  {"repeated", "is not the one due"},
			"swap":    {"out of order", "is not the one due"},
			"corrupt": {"differs", "is not the one due"},
			"close":   {"slowConsumer, too slow"},
		} {
			t.Run(s.Name+" "+kind, func(t *testing.T) {
				f := &fake{t: t, fault: fault{kind: kind, at: 500}}
				_, err := once(context.Background(), short(f), s, f)
				if err == nil {
					t.Fatal("the run succeeded")
				}
				for _, w := range want {
					if strings.Contains(err.Error(), w) {
						return
					}
				}
				t.Errorf("error %q names none of %q", err, want)
			})
		}
	}
}

// The last message of a run has no successor that could show it missing: only the count can.
func TestLossOfTheLastMessageIsSeen(t *testing.T) {
	e, err := newEngine()
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	s := &sender{engine: e, sent: 3}
	s.ring.grow([]byte("abc"))
	l := &lane{from: s, frames: 2}
	c := &cast{engine: e, sources: []*sender{s}, lanes: map[*Member][]*lane{{}: {l}}}
	if err := c.audit(); err == nil || err.Error() != "sent 3 messages, received 2, dropped 0" {
		t.Errorf("audit says %v", err)
	}
}

func TestScenariosWithACourseOfTheirOwn(t *testing.T) {
	for _, s := range []*Scenario{
		{Name: "churn", Need: NeedCatalogue, Observers: 5, Run: churn},
		{Name: "vanish", Need: NeedCatalogue, Senders: 1, Receivers: 1, Outstanding: 1, Latency: true, Kind: Dense, Size: 128, Observers: 5, Run: vanish},
		{Name: "slow", Need: NeedOverload, Senders: 3, Receivers: 3, Latency: true, Kind: Dense, Size: 128, Run: slow},
		{Name: "idle", Need: NeedIdle, Senders: 20, Run: idle},
	} {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			f := &fake{t: t, queueMax: 256 << 10}
			o := short(f)
			o.Window = 64 << 10
			sample, err := once(context.Background(), o, s, f)
			if err != nil {
				t.Fatal(err)
			}
			if sample.PerSecond <= 0 || len(sample.Figures) == 0 {
				t.Errorf("nothing measured: %+v", sample)
			}
		})
	}
}
