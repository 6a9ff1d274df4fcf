//go:build linux

package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// vanish disconnects owners of 64 services each, one after the other, while many observe the catalogue
// and a pair of bystanders keeps one call going. A message is an action that reached an observer; the
// latency is that of the bystanders' calls, so its maximum bounds how long the relay was away.
func vanish(ctx context.Context, t *Trial) (Sample, error) {
	c, err := assemble(t) // the bystanders
	if err != nil {
		return Sample{}, err
	}
	defer c.engine.close()
	c.script()
	c.tune()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	owners, err := c.owners()
	if err != nil {
		return Sample{}, err
	}
	all, err := c.gather(t.Observers)
	if err != nil {
		return Sample{}, err
	}
	runtime.GC()
	e := c.engine
	if err := e.run(t.Options.Warmup); err != nil {
		return Sample{}, err
	}
	e.latency = newLatency()
	m := meter{pid: t.Instance.PID}
	if err := m.start(e); err != nil {
		return Sample{}, err
	}
	var gone []float64
	for i, owner := range owners {
		if err := ctx.Err(); err != nil {
			return Sample{}, err
		}
		took, err := c.dismiss(owner, all, i)
		if err != nil {
			return Sample{}, err
		}
		gone = append(gone, took.Seconds()*1e3)
	}
	e.delivered = uint64(len(owners) * len(owners[0].Services) * t.Observers)
	m.delivered = 0
	sample, err := m.stop(e)
	if err != nil {
		return Sample{}, err
	}
	sample.Figures = Figures{
		"ms until all know": SpreadOf(gone).Median,
		"ms at most":        SpreadOf(gone).Max,
		"CPU ms/disconnect": sample.ServerMicros * float64(len(owners[0].Services)*t.Observers) / 1e3,
		"longest call ms":   sample.Latency.Max / 1e3,
	}
	if err := e.drain(); err != nil {
		return Sample{}, err
	}
	return sample, audit(all, owners)
}

// Owners that disconnect in one repetition, and what each owns.
const (
	vanishOwners   = 5
	vanishServices = 64
)

func (c *cast) owners() ([]*Member, error) {
	owners := make([]*Member, vanishOwners)
	for i := range owners {
		m := &Member{Name: fmt.Sprintf("v%s-%05d", c.Tag, i), Pair: -1, Sends: true}
		for j := range vanishServices {
			m.Services = append(m.Services, &Service{Index: j, Owner: m})
		}
		if err := c.admit(m); err != nil {
			return nil, err
		}
		owners[i] = m
	}
	return owners, nil
}

// dismiss closes an owner and returns how long it took until every observer had read all about it.
func (c *cast) dismiss(owner *Member, all *crowd, before int) (time.Duration, error) {
	first := all.observers[0]
	seen := first.bytes
	start := time.Now()
	c.sockets[owner.Tx].close()
	lines := (before + 1) * vanishServices
	for deadline := start.Add(drainTimeout); ; {
		if err := c.engine.run(time.Millisecond); err != nil {
			return 0, err
		}
		if first.bytes > seen && all.total == first.bytes*int64(len(all.observers)) && countLines(first.text) == lines {
			return time.Since(start), nil
		}
		if time.Now().After(deadline) {
			return 0, fmt.Errorf("observers have read %d of %d actions %v after a disconnect", countLines(first.text), lines, drainTimeout)
		}
	}
}

func countLines(text []byte) int {
	n := 0
	for _, b := range text {
		if b == '\n' {
			n++
		}
	}
	return n
}

// audit checks that every service of every owner was removed exactly once, and that all observers read
// the same.
func audit(all *crowd, owners []*Member) error {
	actions, err := parseActions(all.observers[0].text, all.seq)
	if err != nil {
		return err
	}
	left := map[string]bool{}
	for _, owner := range owners {
		for _, s := range owner.Services {
			left[s.ID] = true
		}
	}
	for _, a := range actions {
		if a.Params.Action.Type != "clientService/removed" || !left[a.Params.Action.ServiceID] {
			return fmt.Errorf("serverSeq %d: %s of service %s, which is none that is due", a.Params.Seq, a.Params.Action.Type, a.Params.Action.ServiceID)
		}
		delete(left, a.Params.Action.ServiceID)
	}
	if len(left) > 0 {
		return fmt.Errorf("%d services were never removed", len(left))
	}
	return all.agree()
}
