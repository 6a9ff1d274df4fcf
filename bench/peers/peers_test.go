package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/bench"
)

// TestMain lets the test binary be the child that serves.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Every system carries every kind of scenario that it says it supports, and the generator finds each
// byte where the dialect foretells it.
func TestEverySystemCarriesEveryScenario(t *testing.T) {
	for _, system := range systems("") {
		t.Run(system.Name(), func(t *testing.T) {
			t.Parallel()
			o := bench.DefaultOptions()
			o.Systems = []bench.System{system}
			o.Scenarios = []string{"notify-16", "notify-16k-dense", "spread", "request-64", "request-1", "services-1024", "idle"}
			o.Reps, o.Duration, o.Warmup, o.Scale = 1, 5*time.Millisecond, time.Millisecond, 0.01
			report, err := bench.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range report.Rows {
				if row.PerSecond.Median <= 0 || row.Resident.Median <= 0 {
					t.Errorf("%s: nothing measured: %+v", row.Scenario, row.Samples)
				}
			}
			if report.Systems[0].Version == "" {
				t.Error("no version")
			}
		})
	}
}

func TestRatios(t *testing.T) {
	sample := func(perSecond, micros float64) []bench.Sample {
		return []bench.Sample{{PerSecond: perSecond, ServerMicros: micros}, {PerSecond: perSecond, ServerMicros: 2 * micros}}
	}
	row := func(scenario, system string, samples []bench.Sample) bench.Row {
		return bench.Row{Scenario: scenario, Title: "T " + scenario, System: system, Samples: samples,
			ServerMicros: bench.SpreadOf([]float64{samples[0].ServerMicros, samples[1].ServerMicros})}
	}
	r := &bench.Report{
		Systems: []bench.Subject{{Name: "nats-1"}, {Name: ours}},
		Rows: []bench.Row{
			row("notify-16", "nats-1", sample(1e6, 0.5)), row("notify-16", ours, sample(3e6, 0.25)),
			row("notify-1k-string", ours, sample(1e6, 1)),
			row("pieces-64k", ours, sample(1, 1)),
		},
	}
	var b bytes.Buffer
	if err := writeRatios(r, &b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| T notify-16 | µs CPU | 0.750 | 0.375 | 0.500 | ≤ 0.45 × nats-1 | **missed** |\n",
		"| T notify-16 | messages/s | 1,000,000 | 3,000,000 | 3.00 | ≥ 2.00 × nats-1 | met |\n",
		"| T notify-1k-string | µs CPU | – | 1.50 | – | ≤ 0.90 × nats-1 | not measured |\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s\nlacks\n%s", b.String(), want)
		}
	}
	if strings.Contains(b.String(), "notify-128") || strings.Contains(b.String(), "pieces") {
		t.Errorf("what was not measured is there:\n%s", b.String())
	}
}

func TestBound(t *testing.T) {
	r := &bench.Report{}
	for scenario, micros := range map[string]float64{"a": 2, "b": 3, "c": 6} {
		r.Rows = append(r.Rows, bench.Row{Scenario: scenario, System: ours, ServerMicros: bench.SpreadOf([]float64{micros})})
	}
	for _, c := range []struct {
		bound bound
		want  float64
	}{
		{bound{scenarios: []string{"a", "b", "c"}, of: rowMicros}, 3},
		{bound{scenarios: []string{"c"}, of: rowMicros}, 6},
		{bound{scenarios: []string{"a", "x"}, of: rowMicros}, 0},
	} {
		if got := c.bound.value(r); got != c.want {
			t.Errorf("%v: %v, want %v", c.bound.scenarios, got, c.want)
		}
	}
}

func TestAnErrorOfTheServerIsReported(t *testing.T) {
	for _, c := range []struct {
		dialect bench.Dialect
		frame   string
		want    string
	}{
		{natsDialect{}, "-ERR 'Slow Consumer'\r\n", "Slow Consumer"},
		{redisDialect{}, "-ERR unknown command\r\n", "unknown command"},
	} {
		if _, _, err := c.dialect.Control([]byte(c.frame)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.frame, err)
		}
		if n, _, err := c.dialect.Control([]byte(c.frame[:5])); n != 0 || err != nil {
			t.Errorf("%q: %d, %v, want to read on", c.frame[:5], n, err)
		}
	}
	if n, _, err := (natsDialect{}).Control([]byte("PING\r\nMSG")); n != 6 || err != nil {
		t.Errorf("a ping: %d, %v", n, err)
	}
	if n, _, _ := (natsDialect{}).Control([]byte("MSG x")); n != -1 {
		t.Errorf("a message taken for control: %d", n)
	}
}
