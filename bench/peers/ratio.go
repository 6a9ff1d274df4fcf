package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ahprelay/ahprelay/bench"
)

const ours = "ahprelay"

// writeRatios writes two Markdown tables: server CPU of every system with the relay's ratio to what it
// is held against, and what the relay must reach by itself.
func writeRatios(r *bench.Report, w io.Writer) error {
	var b strings.Builder
	peerTable(r, &b)
	boundTable(r, &b)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing the ratios: %w", err)
	}
	return nil
}

func peerTable(r *bench.Report, b *strings.Builder) {
	var systems []string
	for _, s := range r.Systems {
		systems = append(systems, s.Name)
	}
	fmt.Fprintf(b, "\n| scenario | measure | %s | ratio (min–max) | must reach | |\n", strings.Join(systems, " | "))
	b.WriteString(strings.Repeat("|---", len(systems)+5) + "|\n")
	for _, g := range goals {
		if row(r, g.scenario, ours) == nil && row(r, g.scenario, g.base) == nil {
			continue
		}
		fmt.Fprintf(b, "| %s | %s |", title(r, g.scenario), g.measure.name)
		for _, s := range systems {
			fmt.Fprintf(b, " %s |", bench.Number(median(values(row(r, g.scenario, s), g.measure))))
		}
		ratio := ratios(row(r, g.scenario, ours), row(r, g.scenario, g.base), g.measure)
		sign := "≤"
		if g.atLeast {
			sign = "≥"
		}
		fmt.Fprintf(b, " %s | %s %.2f × %s | %s |\n", bench.Between(ratio), sign, g.factor, g.base, verdict(ratio.Median, g.factor, g.atLeast))
	}
}

func boundTable(r *bench.Report, b *strings.Builder) {
	b.WriteString("\n| by itself | measured | must reach | |\n|---|---|---|---|\n")
	for _, x := range bounds {
		if value := x.value(r); value > 0 {
			fmt.Fprintf(b, "| %s | %s %s | ≤ %s | %s |\n", x.what, bench.Number(value), x.unit, bench.Number(x.most), verdict(value, x.most, false))
		}
	}
}

// value is 0 when a scenario is missing.
func (x *bound) value(r *bench.Report) float64 {
	var all []float64
	for _, scenario := range x.scenarios {
		if one := row(r, scenario, ours); one != nil {
			all = append(all, x.of(one).Median)
		}
	}
	if len(all) < len(x.scenarios) {
		return 0
	}
	most, least := slices.Max(all), slices.Min(all)
	if len(all) > 1 && least > 0 {
		return most / least
	}
	return most
}

func verdict(value, factor float64, atLeast bool) string {
	switch {
	case value == 0:
		return "not measured"
	case atLeast == (value >= factor) || value == factor:
		return "met"
	}
	return "**missed**"
}

// ratios divides repetition by repetition: both ran within seconds of each other.
func ratios(a, b *bench.Row, m measure) bench.Spread {
	top, bottom := values(a, m), values(b, m)
	var all []float64
	for i := range min(len(top), len(bottom)) {
		if bottom[i] > 0 && top[i] > 0 {
			all = append(all, top[i]/bottom[i])
		}
	}
	return bench.SpreadOf(all)
}

func values(r *bench.Row, m measure) []float64 {
	if r == nil {
		return nil
	}
	all := make([]float64, len(r.Samples))
	for i := range r.Samples {
		all[i] = m.of(&r.Samples[i])
	}
	return all
}

func median(all []float64) float64 { return bench.SpreadOf(all).Median }

func row(r *bench.Report, scenario, system string) *bench.Row {
	for i := range r.Rows {
		if r.Rows[i].Scenario == scenario && r.Rows[i].System == system {
			return &r.Rows[i]
		}
	}
	return nil
}

func title(r *bench.Report, scenario string) string {
	for i := range r.Rows {
		if r.Rows[i].Scenario == scenario {
			return r.Rows[i].Title
		}
	}
	return scenario
}
