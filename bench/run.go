//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Run measures every chosen scenario on every system, repetitions interleaved so that a change of the
// machine's mood hits all systems alike. The first loss, reordering or other failure ends it.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, &OptionError{err}
	}
	chosen, err := choose(o.Scenarios, o.Scale)
	if err != nil {
		return nil, &OptionError{err}
	}
	report := newReport(&o)
	p := newProgress(o.Progress, &o, chosen)
	defer p.done()
	for _, s := range chosen {
		rows, err := compare(ctx, &o, s, p)
		report.Rows = append(report.Rows, rows...)
		if err != nil {
			return report, err
		}
	}
	return report, nil
}

// compare runs one scenario on all systems.
func compare(ctx context.Context, o *Options, s *Scenario, p *progress) ([]Row, error) {
	var able []System
	for _, system := range o.Systems {
		if system.Supports(s.Need) {
			able = append(able, system)
		}
	}
	samples := make([][]Sample, len(able))
	for rep := range o.Reps {
		for i, system := range able {
			p.step(s.Name, system.Name(), rep)
			sample, err := once(ctx, o, s, system)
			if err != nil {
				return nil, fmt.Errorf("%s on %s: %w", s.Name, system.Name(), err)
			}
			samples[i] = append(samples[i], sample)
		}
	}
	rows := make([]Row, len(able))
	for i, system := range able {
		rows[i] = newRow(o, s, system, samples[i])
	}
	return rows, nil
}

// once starts a server, runs one repetition against it and stops it.
func once(ctx context.Context, o *Options, s *Scenario, system System) (sample Sample, err error) {
	if err := ctx.Err(); err != nil {
		return Sample{}, err
	}
	server, all, load := o.cpus(s)
	if err := pinSelf(load); err != nil {
		return Sample{}, err
	}
	dir, remove, err := tempDir()
	if err != nil {
		return Sample{}, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	instance, err := system.Start(ctx, Setting{CPUs: server, AllCPUs: all, Dir: dir, Coalesce: s.Coalesce})
	if err != nil {
		return Sample{}, err
	}
	if instance.Stop != nil {
		defer func() { err = errors.Join(err, instance.Stop()) }()
	}
	t := &Trial{Scenario: s, Options: o, Instance: instance, Tag: tag()}
	if s.Run != nil {
		return s.Run(ctx, t)
	}
	return stream(ctx, t)
}

// tag is four hex digits that differ from run to run: a server that is attached to may still hold the
// names of the run before.
func tag() string { return fmt.Sprintf("%04x", uint16(time.Now().UnixNano()>>10)) }
