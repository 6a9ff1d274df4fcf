//go:build linux

package bench

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/goccy/go-json"
	"golang.org/x/sys/unix"
)

// Report is the result of a run.
type Report struct {
	Started  time.Time `json:"started"`
	Commit   string    `json:"commit"` // of the working tree the run was started in, "-dirty" with changes
	Machine  Machine   `json:"machine"`
	Settings Settings  `json:"settings"`
	Systems  []Subject `json:"systems"`
	Rows     []Row     `json:"rows"`
}

// Machine is where it ran.
type Machine struct {
	CPU    string `json:"cpu"`
	CPUs   int    `json:"cpus"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
}

// Settings are the options that the figures depend on.
type Settings struct {
	Reps     int           `json:"reps"`
	Duration time.Duration `json:"durationNanoseconds"`
	Window   int           `json:"windowBytes"`
	Batch    int           `json:"batchBytes"`
	Pinned   bool          `json:"pinned"`
}

// Subject is one system that was measured.
type Subject struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Row is one scenario on one system.
type Row struct {
	Scenario string  `json:"scenario"`
	Title    string  `json:"title"`
	Group    string  `json:"group"`
	X        float64 `json:"x,omitempty"`
	Kind     Kind    `json:"body,omitempty"`
	Size     int     `json:"bodyBytes,omitempty"`
	System   string  `json:"system"`

	PerSecond     Spread            `json:"messagesPerSecond"`
	ServerMicros  Spread            `json:"serverMicros"`
	UserMicros    Spread            `json:"serverUserMicros"`
	ServerLoad    Spread            `json:"serverLoad"` // CPU seconds a second
	GeneratorLoad Spread            `json:"generatorLoad"`
	OthersLoad    Spread            `json:"othersLoad"` // what else ran on the machine
	Resident      Spread            `json:"residentBytes"`
	P50           Spread            `json:"p50Micros"`
	P99           Spread            `json:"p99Micros"`
	P999          Spread            `json:"p99.9Micros"`
	Figures       map[string]Spread `json:"figures,omitempty"`
	Limit         string            `json:"limit"` // what kept it from going faster
	Samples       []Sample          `json:"samples"`
}

func newReport(o *Options) *Report {
	r := &Report{
		Started:  time.Now().UTC().Truncate(time.Second),
		Commit:   commit(),
		Machine:  machine(),
		Settings: Settings{o.Reps, o.Duration, o.Window, o.Batch, o.Pin},
	}
	for _, s := range o.Systems {
		r.Systems = append(r.Systems, Subject{s.Name(), s.Version()})
	}
	return r
}

func newRow(o *Options, s *Scenario, system System, samples []Sample) Row {
	over := func(value func(Sample) float64) Spread {
		values := make([]float64, len(samples))
		for i := range samples {
			values[i] = value(samples[i])
		}
		return SpreadOf(values)
	}
	latency := func(value func(*Percentiles) float64) Spread {
		var values []float64
		for _, sample := range samples {
			if sample.Latency != nil {
				values = append(values, value(sample.Latency))
			}
		}
		return SpreadOf(values)
	}
	r := Row{Scenario: s.Name, Title: s.Title, Group: s.Group, X: s.X, Kind: s.Kind, Size: s.Size, System: system.Name(), Samples: samples,
		PerSecond:     over(func(s Sample) float64 { return s.PerSecond }),
		ServerMicros:  over(func(s Sample) float64 { return s.ServerMicros }),
		UserMicros:    over(func(s Sample) float64 { return s.UserMicros }),
		Resident:      over(func(s Sample) float64 { return float64(s.Resident) }),
		P50:           latency(func(p *Percentiles) float64 { return p.P50 }),
		P99:           latency(func(p *Percentiles) float64 { return p.P99 }),
		P999:          latency(func(p *Percentiles) float64 { return p.P999 }),
		ServerLoad:    over(func(s Sample) float64 { return s.ServerLoad }),
		GeneratorLoad: over(func(s Sample) float64 { return s.GeneratorLoad }),
		OthersLoad:    over(func(s Sample) float64 { return s.OthersLoad }),
	}
	r.Limit = limit(s, o.Pin, r.ServerLoad.Median, r.GeneratorLoad.Median)
	for name := range samples[0].Figures {
		if r.Figures == nil {
			r.Figures = map[string]Spread{}
		}
		r.Figures[name] = over(func(s Sample) float64 { return s.Figures[name] })
	}
	return r
}

// limit says which side was busy all the time. pinned is whether a scenario for one core had one.
func limit(s *Scenario, pinned bool, server, generator float64) string {
	const busy = 0.93
	switch {
	case s.Every > 0 || s.Run != nil:
		return "" // paced
	case s.OneCore && pinned && server+generator >= busy:
		return "shared core"
	case s.Outstanding == 1:
		return "round trip"
	case server >= busy && generator >= busy:
		return "both"
	case generator >= busy:
		return "generator"
	case server >= busy:
		return "server"
	}
	return "neither"
}

// WriteJSON writes the whole report, samples included.
func (r *Report) WriteJSON(w io.Writer) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// commit is the revision of the directory the run was started in, "" outside a checkout.
func commit() string {
	text, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func machine() Machine {
	m := Machine{CPUs: runtime.NumCPU(), Go: runtime.Version()}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:]) + " " + unix.ByteSliceToString(name.Machine[:])
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return m
	}
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	return m
}
