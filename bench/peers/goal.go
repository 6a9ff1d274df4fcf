package main

import "github.com/ahprelay/ahprelay/bench"

// measure is a value of a row that a goal is about.
type measure struct {
	name string
	of   func(*bench.Sample) float64
}

var (
	cpu = measure{"µs CPU", func(s *bench.Sample) float64 { return s.ServerMicros }}
	p50 = measure{"p50 µs", func(s *bench.Sample) float64 {
		if s.Latency == nil {
			return 0
		}
		return s.Latency.P50
	}}
	rate = measure{"messages/s", func(s *bench.Sample) float64 { return s.PerSecond }}
)

// goal is what the relay must reach against another system in the same run.
type goal struct {
	scenario string
	measure  measure
	base     string
	factor   float64
	atLeast  bool // more is better
}

var goals = []goal{
	{scenario: "notify-16", measure: cpu, base: "nats-1", factor: 0.45},
	{scenario: "notify-16", measure: rate, base: "nats-1", factor: 2, atLeast: true},
	{scenario: "notify-128", measure: cpu, base: "nats-1", factor: 0.5},
	{scenario: "notify-128", measure: rate, base: "nats-1", factor: 2, atLeast: true},
	{scenario: "notify-1k-string", measure: cpu, base: "nats-1", factor: 0.9},
	{scenario: "notify-1k-dense", measure: cpu, base: "nats-1", factor: 1.4},
	{scenario: "notify-16k-string", measure: cpu, base: "nats-1", factor: 1},
	{scenario: "notify-16k-dense", measure: cpu, base: "nats-1", factor: 1.5},
	{scenario: "pairs-8", measure: cpu, base: "nats-1", factor: 0.4},
	{scenario: "unbatched", measure: cpu, base: "gnet", factor: 1.1},
	{scenario: "unbatched-coalesce", measure: cpu, base: "nats", factor: 0.6},
	{scenario: "request-64", measure: cpu, base: "redis", factor: 0.7},
	{scenario: "request-1", measure: p50, base: "gnet", factor: 1.1},
	// The kernel's price for ten thousand small reads hides what a frame costs that arrives in pieces;
	// the floor pays it too.
	{scenario: "pieces-1024k", measure: cpu, base: "gnet", factor: 2},
}

// bound is what the relay must reach by itself.
type bound struct {
	what      string
	scenarios []string // the largest over the smallest value, or the only one
	of        func(*bench.Row) bench.Spread
	most      float64
	unit      string
}

func figure(name string) func(*bench.Row) bench.Spread {
	return func(r *bench.Row) bench.Spread { return r.Figures[name] }
}

func rowMicros(r *bench.Row) bench.Spread { return r.ServerMicros }

func microsPerKiB(r *bench.Row) bench.Spread {
	return bench.Spread{Median: r.ServerMicros.Median / r.X}
}

var bounds = []bound{
	{what: "cost per message, 1 to 1,000 connections", scenarios: []string{"connections-1", "connections-10", "connections-100", "connections-1000"}, of: rowMicros, most: 1.3, unit: "×"},
	{what: "cost per message, 1 to 60,000 services", scenarios: []string{"services-1", "services-64", "services-1024", "services-8192", "services-60000"}, of: rowMicros, most: 1.3, unit: "×"},
	{what: "cost per KiB in pieces of 100 bytes, messages of 64 KiB to 1 MiB", scenarios: []string{"pieces-64k", "pieces-256k", "pieces-1024k"}, of: microsPerKiB, most: 1.3, unit: "×"},
	{what: "memory without connections", scenarios: []string{"idle"}, of: figure("empty MiB"), most: 16, unit: "MiB"},
	{what: "memory of an idle connection", scenarios: []string{"idle"}, of: figure("bytes/connection"), most: 4096, unit: "bytes"},
	{what: "64 services disconnect, 1,000 observe: longest call beside it", scenarios: []string{"vanish"}, of: figure("longest call ms"), most: 50, unit: "ms"},
}
