package bench

import (
	"math/rand/v2"
)

// Scenarios returns every scenario in the order of the report. scale multiplies the large counts.
func Scenarios(scale float64) []*Scenario {
	var all []*Scenario
	all = append(all, bodyScenarios()...)
	all = append(all, shapeScenarios()...)
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
		{Name: "unbatched", Title: "one write per message, 128 B", Group: "unbatched", Need: NeedPairs, Senders: 1, Receivers: 1, Kind: Dense, Size: 128, Single: true},
		{Name: "unbatched-coalesce", Title: "the same, coalesce = 50us", Group: "unbatched", Need: NeedPairs, Senders: 1, Receivers: 1, Kind: Dense, Size: 128, Single: true, Coalesce: "50us"},
		{Name: "request-64", Title: "request, 64 outstanding, 128 B, one core", Group: "request", Need: NeedCalls, Senders: 1, Receivers: 1, Kind: Dense, Size: 128, Outstanding: 64, OneCore: true},
		{Name: "request-1", Title: "request, one at a time, 128 B, one core", Group: "request", Need: NeedCalls, Senders: 1, Receivers: 1, Kind: Dense, Size: 128, Outstanding: 1, OneCore: true, Latency: true},
	}
}
