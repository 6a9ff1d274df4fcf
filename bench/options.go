//go:build linux

package bench

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"
)

// Options say what to run and how often. DefaultOptions has the usual values.
type Options struct {
	Scenarios []string      // names, groups, or "all"
	Systems   []System      // compared, in the order of the table
	Reps      int           // repetitions of each pair, interleaved
	Duration  time.Duration // measured, of each repetition
	Warmup    time.Duration // before it, not measured
	Window    int           // bytes on the way, all senders together
	Batch     int           // bytes a write
	Pin       bool          // server on one CPU, generator on another
	ServerCPU int
	LoadCPU   int
	Scale     float64   // of counts of connections, services and observers; 1 is as named
	Progress  io.Writer // nil: silent

	least uint64 // messages that a measurement waits for; on a busy machine its time may pass without any
}

// DefaultOptions returns what a careful run takes.
func DefaultOptions() Options {
	return Options{
		Scenarios: []string{"all"},
		Reps:      5,
		Duration:  time.Second,
		Warmup:    200 * time.Millisecond,
		Window:    512 << 10,
		Batch:     64 << 10,
		ServerCPU: 0,
		LoadCPU:   1,
		Scale:     1,
		least:     1,
	}
}

// Flags adds a flag for each option that a person sets.
func (o *Options) Flags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.Scenarios, "scenario", o.Scenarios, "scenarios or groups to run, or all; see --list")
	f.IntVar(&o.Reps, "reps", o.Reps, "repetitions, interleaved; the table shows medians")
	f.DurationVar(&o.Duration, "duration", o.Duration, "measured time of each repetition")
	f.DurationVar(&o.Warmup, "warmup", o.Warmup, "time before it that is not measured")
	f.IntVar(&o.Window, "window", o.Window, "bytes on the way at most")
	f.IntVar(&o.Batch, "batch", o.Batch, "bytes a write, where messages are batched")
	f.BoolVar(&o.Pin, "pin", o.Pin, "bind the server to --server-cpu and the generator to --load-cpu")
	f.IntVar(&o.ServerCPU, "server-cpu", o.ServerCPU, "CPU of the server with --pin")
	f.IntVar(&o.LoadCPU, "load-cpu", o.LoadCPU, "CPU of the generator with --pin")
	f.Float64Var(&o.Scale, "scale", o.Scale, "factor on the number of connections, services and observers where a scenario has many")
}

// OptionError is an option that makes no sense: nothing was run.
type OptionError struct{ err error }

func (e *OptionError) Error() string { return e.err.Error() }

// Unwrap returns what is wrong with the option.
func (e *OptionError) Unwrap() error { return e.err }

// Validate says which option makes no sense.
func (o *Options) Validate() error {
	switch {
	case o.Reps < 1:
		return fmt.Errorf("--reps is %d, must be at least 1", o.Reps)
	case o.Duration < time.Millisecond:
		return fmt.Errorf("--duration is %v, must be at least 1ms", o.Duration)
	case o.Warmup < 0:
		return fmt.Errorf("--warmup is %v, must not be negative", o.Warmup)
	case o.Window < 1:
		return fmt.Errorf("--window is %d, must be positive", o.Window)
	case o.Batch < 1:
		return fmt.Errorf("--batch is %d, must be positive", o.Batch)
	case o.Scale <= 0:
		return fmt.Errorf("--scale is %v, must be positive", o.Scale)
	case o.Pin && (o.ServerCPU < 0 || o.LoadCPU < 0):
		return fmt.Errorf("--server-cpu and --load-cpu must not be negative")
	case len(o.Systems) == 0:
		return fmt.Errorf("nothing to measure")
	}
	return nil
}

// cpus returns where server and generator of a scenario run: empty without --pin.
func (o *Options) cpus(s *Scenario) (server, all, load []int) {
	if !o.Pin {
		return nil, nil, nil
	}
	load = []int{o.LoadCPU}
	if s.OneCore {
		load = []int{o.ServerCPU}
	}
	return []int{o.ServerCPU}, []int{o.ServerCPU, o.LoadCPU}, load
}
