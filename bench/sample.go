//go:build linux

package bench

import (
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Sample is what one repetition of one scenario on one system measured.
type Sample struct {
	PerSecond     float64      `json:"messagesPerSecond"` // delivered
	ServerMicros  float64      `json:"serverMicros"`      // CPU a delivered message, all threads; 0 when not observable
	UserMicros    float64      `json:"serverUserMicros"`  // of it in user mode, by the kernel's tick samples
	ServerLoad    float64      `json:"serverLoad"`        // CPU seconds a second
	GeneratorLoad float64      `json:"generatorLoad"`     // of the generator's thread
	OthersLoad    float64      `json:"othersLoad"`        // of the machine, beside server and generator
	Resident      int64        `json:"residentBytes"`     // of the server, at the end
	Latency       *Percentiles `json:"latency,omitempty"` // when the scenario times its messages
	Figures       Figures      `json:"figures,omitempty"` // what only this scenario measures
}

// Figures are named values of a scenario; the name ends with the unit.
type Figures map[string]float64

// Percentiles are in microseconds.
type Percentiles struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`
}

func percentiles(h *hdrhistogram.Histogram) *Percentiles {
	at := func(q float64) float64 { return float64(h.ValueAtQuantile(q)) / 1e3 }
	return &Percentiles{P50: at(50), P99: at(99), P999: at(99.9), Max: float64(h.Max()) / 1e3}
}

// Spread is the median of several samples with the smallest and the largest.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// SpreadOf returns the zero Spread for no values. Of an even number it takes the mean of the two in the
// middle.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return Spread{Median: (v[(n-1)/2] + v[n/2]) / 2, Min: v[0], Max: v[n-1]}
}
