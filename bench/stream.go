//go:build linux

package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// stream runs a scenario of notifications or calls: warm up, measure, drain, check.
func stream(ctx context.Context, t *Trial) (Sample, error) {
	c, err := assemble(t)
	if err != nil {
		return Sample{}, err
	}
	defer c.engine.close()
	c.script()
	c.tune()
	return c.measure(ctx)
}

// tune sets window and batches.
func (c *cast) tune() {
	e := c.engine
	frame := len(e.senders[0].ring.bytes) / e.senders[0].ring.len()
	e.window = max(c.Options.Window/frame, 2)
	if c.Single {
		e.writes = 1
	}
	if c.Outstanding > 0 {
		e.window = c.Outstanding * len(e.senders)
	}
	for _, s := range e.senders {
		if s.batch = 1; c.Single {
			continue
		}
		// As many equal slices of the ring as come nearest to the size asked for.
		total := len(s.ring.bytes)
		slices := max(1, (total+c.Options.Batch/2)/c.Options.Batch)
		s.batch = total/slices + frame
	}
}

// measure takes one sample of a tuned cast, on a thread of its own.
func (c *cast) measure(ctx context.Context) (Sample, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC() // the frames of the run before; nothing is allocated while the clock runs
	e := c.engine
	if err := e.run(c.Options.Warmup); err != nil {
		return Sample{}, fmt.Errorf("warming up: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return Sample{}, err
	}
	if c.Latency {
		e.latency = newLatency()
	}
	m := meter{pid: c.Instance.PID}
	if err := m.start(e); err != nil {
		return Sample{}, err
	}
	if err := e.runFor(c.Options.Duration, c.Options.least); err != nil {
		return Sample{}, err
	}
	sample, err := m.stop(e)
	if err != nil {
		return Sample{}, err
	}
	if err := e.drain(); err != nil {
		return Sample{}, err
	}
	return sample, c.audit()
}

// audit compares what was sent with what arrived, message by message.
func (c *cast) audit() error {
	var sent, arrived, dropped uint64
	for _, s := range c.sources {
		if !s.free {
			sent += s.sent
		}
	}
	for _, lanes := range c.lanes {
		for _, l := range lanes {
			if !l.from.free {
				arrived += l.frames
				dropped += l.dropped
			}
		}
	}
	if sent != arrived || dropped != 0 {
		return fmt.Errorf("sent %d messages, received %d, dropped %d", sent, arrived, dropped)
	}
	return nil
}

// meter takes the difference of two readings.
type meter struct {
	pid               int
	at                time.Time
	server, generator time.Duration
	busy              time.Duration // of the whole machine
	user, system      int64
	delivered         uint64
}

func (m *meter) read(e *engine) (err error) {
	m.delivered = e.delivered
	if m.busy, err = machineBusy(); err != nil {
		return err
	}
	m.generator = threadCPU()
	if m.pid != 0 {
		if m.user, m.system, err = userShare(m.pid); err != nil {
			return err
		}
		if m.server, err = processCPU(m.pid); err != nil {
			return err
		}
	}
	m.at = time.Now()
	return nil
}

func (m *meter) start(e *engine) error { return m.read(e) }

func (m *meter) stop(e *engine) (Sample, error) {
	end := meter{pid: m.pid}
	if err := end.read(e); err != nil {
		return Sample{}, err
	}
	seconds := end.at.Sub(m.at).Seconds()
	messages := float64(end.delivered - m.delivered)
	if messages == 0 {
		return Sample{}, fmt.Errorf("nothing arrived in %.2f s", seconds)
	}
	s := Sample{
		PerSecond:     messages / seconds,
		GeneratorLoad: (end.generator - m.generator).Seconds() / seconds,
	}
	if m.pid != 0 {
		cpu := end.server - m.server
		s.ServerLoad = cpu.Seconds() / seconds
		s.OthersLoad = max(0, (end.busy-m.busy).Seconds()/seconds-s.ServerLoad-s.GeneratorLoad)
		s.ServerMicros = float64(cpu.Nanoseconds()) / 1e3 / messages
		if ticks := end.user - m.user + end.system - m.system; ticks > 0 {
			s.UserMicros = s.ServerMicros * float64(end.user-m.user) / float64(ticks)
		}
		var err error
		if s.Resident, err = residentBytes(m.pid); err != nil {
			return Sample{}, err
		}
	}
	if e.latency != nil {
		s.Latency = percentiles(e.latency)
	}
	return s, nil
}
