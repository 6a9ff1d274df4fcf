//go:build linux

package bench

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Scenarios returns every scenario in the order of the report. scale multiplies the large counts; names
// keep the full ones, titles have those that are used.
func Scenarios(scale float64) []*Scenario {
	var all []*Scenario
	all = append(all, bodyScenarios()...)
	all = append(all, shapeScenarios()...)
	all = append(all, latencyScenarios()...)
	all = append(all, growthScenarios(scale)...)
	all = append(all, pieceScenarios()...)
	all = append(all, crowdScenarios(scale)...)
	return all
}

// bodyScenarios send from one connection to one other, body by body.
func bodyScenarios() []*Scenario {
	var all []*Scenario
	for _, b := range []struct {
		name, title string
		kind        Kind
		size        int
	}{
		{"notify-16", "1→1, 16 B", Dense, 16},
		{"notify-128", "1→1, 128 B", Dense, 128},
		{"notify-1k-string", "1→1, 1 KiB, one long string", String, 1 << 10},
		{"notify-1k-dense", "1→1, 1 KiB, token-dense", Dense, 1 << 10},
		{"notify-16k-string", "1→1, 16 KiB, one long string", String, 16 << 10},
		{"notify-16k-dense", "1→1, 16 KiB, token-dense", Dense, 16 << 10},
		{"notify-64k-string", "1→1, 64 KiB, one long string", String, 64 << 10},
		{"notify-64k-dense", "1→1, 64 KiB, token-dense", Dense, 64 << 10},
	} {
		all = append(all, &Scenario{Name: b.name, Title: b.title, Group: "notify", Need: NeedPairs,
			Senders: 1, Receivers: 1, Kind: b.kind, Size: b.size, X: float64(b.size)})
	}
	return all
}

// shapeScenarios send small messages in other shapes than one to one.
func shapeScenarios() []*Scenario {
	anywhere := func(services int) func(*rand.Rand, int, int) int {
		return func(rng *rand.Rand, _, _ int) int { return rng.IntN(services) }
	}
	return []*Scenario{
		{Name: "pairs-8", Title: "8→8 in pairs, 16 B", Group: "shape", Need: NeedPairs, Senders: 8, Receivers: 8, Kind: Dense, Size: 16},
		{Name: "fan-in", Title: "8→1, 128 B", Group: "shape", Need: NeedRoutes, Senders: 8, Receivers: 1, Kind: Dense, Size: 128,
			Target: func(*rand.Rand, int, int) int { return 0 }},
		{Name: "fan-out", Title: "1→64 services of 8, 128 B", Group: "shape", Need: NeedRoutes, Senders: 1, Receivers: 8, Services: 64, Kind: Dense, Size: 128,
			Target: anywhere(64)},
		{Name: "spread", Title: "8→64 services of 8, 128 B", Group: "shape", Need: NeedRoutes, Senders: 8, Receivers: 8, Services: 64, Kind: Dense, Size: 128,
			Target: anywhere(64)},
		{Name: "unbatched", Title: "one write per message, 128 B", Group: "writes", Need: NeedPairs, Senders: 1, Receivers: 1, Kind: Dense, Size: 128, Single: true},
		{Name: "unbatched-coalesce", Title: "the same, coalesce = 50us", Group: "writes", Need: NeedPairs, Senders: 1, Receivers: 1, Kind: Dense, Size: 128, Single: true, Coalesce: "50us"},
		{Name: "request-64", Title: "request, 64 outstanding, 128 B, one core", Group: "request", Need: NeedCalls, Senders: 1, Receivers: 1, Kind: Dense, Size: 128, Outstanding: 64, OneCore: true},
		{Name: "request-1", Title: "request, one at a time, 128 B, one core", Group: "request", Need: NeedCalls, Senders: 1, Receivers: 1, Kind: Dense, Size: 128, Outstanding: 1, OneCore: true, Latency: true},
	}
}

// latencyScenarios send at a fixed pace and time each message on its way.
func latencyScenarios() []*Scenario {
	paced := func(name, title string, every time.Duration, coalesce string) *Scenario {
		return &Scenario{Name: name, Title: title, Group: "paced", Need: NeedPairs, Senders: 1, Receivers: 1, Kind: Dense, Size: 128,
			Single: true, Every: every, Latency: true, Coalesce: coalesce}
	}
	return []*Scenario{
		paced("paced-100us", "one message each 100 µs, 128 B", 100*time.Microsecond, ""),
		paced("paced-8us", "one message each 8 µs, 128 B", 8*time.Microsecond, ""),
		paced("paced-8us-coalesce", "the same, coalesce = 50us", 8*time.Microsecond, "50us"),
	}
}

// growthScenarios ask whether a message costs more where there is more of something.
func growthScenarios(scale float64) []*Scenario {
	var all []*Scenario
	for _, full := range []int{1, 10, 100, 1000} {
		n := scaled(full, scale)
		// Enough messages that every sender's ring fills a write, so that the writes are alike.
		all = append(all, &Scenario{Places: 256, Name: fmt.Sprintf("connections-%d", full), Title: fmt.Sprintf("%d→%d in pairs, 128 B", n, n), Group: "connections",
			Need: NeedPairs, Senders: n, Receivers: n, Kind: Dense, Size: 128, X: float64(n)})
	}
	for _, full := range []int{1, 64, 1024, 8192, 60000} {
		n := scaled(full, scale)
		// A prime step visits every service once, in no order that a cache likes.
		const step = 7919
		all = append(all, &Scenario{Name: fmt.Sprintf("services-%d", full), Title: fmt.Sprintf("1→%d services of one, 128 B", n), Group: "services",
			Need: NeedRoutes, Senders: 1, Receivers: 1, Services: n, Places: max(n, 1024), Kind: Dense, Size: 128, X: float64(n),
			Target: func(_ *rand.Rand, _, place int) int { return place * step % n }})
	}
	return all
}

// scaled multiplies n, which stays at least 1. Small counts are not scaled.
func scaled(n int, scale float64) int {
	if n == 1 {
		return 1
	}
	return max(1, int(float64(n)*scale))
}

// pieceScenarios send large messages whole and in pieces of 100 bytes.
func pieceScenarios() []*Scenario {
	var all []*Scenario
	for _, kib := range []int{64, 256, 1024} {
		size := kib<<10 - 1024 // the envelope must fit into the relay's limit too
		for _, piece := range []int{0, 100} {
			name, title := "whole", fmt.Sprintf("1→1, %d KiB whole", kib)
			if piece > 0 {
				name, title = "pieces", fmt.Sprintf("1→1, %d KiB in pieces of %d B", kib, piece)
			}
			all = append(all, &Scenario{Name: fmt.Sprintf("%s-%dk", name, kib), Title: title, Group: name,
				Need: NeedPairs, Senders: 1, Receivers: 1, Kind: String, Size: size, Places: 4, Piece: piece, X: float64(kib)})
		}
	}
	return all
}

// crowdScenarios have many connections that watch or wait.
func crowdScenarios(scale float64) []*Scenario {
	var all []*Scenario
	for _, full := range []int{1, 10, 100, 1000} {
		n := scaled(full, scale)
		all = append(all, &Scenario{Name: fmt.Sprintf("churn-%d", full), Title: fmt.Sprintf("one service changes, %d observe", n), Group: "churn",
			Need: NeedCatalogue, Observers: n, X: float64(n), Run: churn})
	}
	watching := scaled(1000, scale)
	waiting := scaled(10000, scale)
	return append(all,
		&Scenario{Name: "vanish", Title: fmt.Sprintf("owners of 64 services disconnect, %d observe", watching), Group: "disconnect",
			Need: NeedCatalogue, Senders: 1, Receivers: 1, Outstanding: 1, Latency: true, Kind: Dense, Size: 128, Observers: watching, Run: vanish},
		&Scenario{Name: "slow", Title: "4→4 in pairs beside a receiver that stopped reading, 128 B", Group: "overload",
			Need: NeedOverload, Senders: 5, Receivers: 5, Latency: true, Kind: Dense, Size: 128, Run: slow},
		&Scenario{Name: "idle", Title: fmt.Sprintf("%d connections that say nothing", waiting), Group: "idle",
			Need: NeedIdle, Senders: waiting, Run: idle},
	)
}
