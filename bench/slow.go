//go:build linux

package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// slow measures fast pairs first alone, then beside a pair whose receiver has stopped reading. In the
// end the slow receiver reads everything: what it gets and what the relay says it dropped must add up
// to what was sent, each announcement standing where the gap is.
func slow(ctx context.Context, t *Trial) (Sample, error) {
	c, err := assemble(t)
	if err != nil {
		return Sample{}, err
	}
	defer c.engine.close()
	c.script()
	c.tune()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC()

	last := len(c.senders) - 1
	source, target := c.sources[last], c.sockets[c.receivers[last].Rx]
	target.sink.(*receiver).lossy = true
	source.free, source.off, source.every = true, true, int64(time.Millisecond)
	if err := target.pause(true); err != nil {
		return Sample{}, err
	}
	e := c.engine
	alone, err := c.phase()
	if err != nil {
		return Sample{}, err
	}
	if err := ctx.Err(); err != nil {
		return Sample{}, err
	}
	source.off = false
	beside, err := c.phase()
	if err != nil {
		return Sample{}, err
	}
	if err := c.recover(source, target); err != nil {
		return Sample{}, err
	}
	lane := c.lanes[c.receivers[last]][0]
	beside.Figures = Figures{
		"alone messages/s": alone.PerSecond,
		"alone µs/message": alone.ServerMicros,
		"dropped %":        100 * float64(lane.dropped) / float64(source.sent),
	}
	if lane.frames+lane.dropped != source.sent {
		return Sample{}, fmt.Errorf("the slow receiver got %d messages and heard of %d dropped, of %d sent", lane.frames, lane.dropped, source.sent)
	}
	return beside, e.drain()
}

// phase warms up and measures once.
func (c *cast) phase() (Sample, error) {
	e := c.engine
	if err := e.run(c.Options.Warmup); err != nil {
		return Sample{}, err
	}
	e.latency = newLatency()
	m := meter{pid: c.Instance.PID}
	if err := m.start(e); err != nil {
		return Sample{}, err
	}
	if err := e.runFor(c.Options.Duration, c.Options.least); err != nil {
		return Sample{}, err
	}
	return m.stop(e)
}

// recover lets the slow receiver read what waits, sends it one message more, before which the last gap
// is announced, and reads that.
func (c *cast) recover(source *sender, target *socket) error {
	for _, s := range c.sources {
		s.off = true
	}
	lane := target.sink.(*receiver).lanes[0]
	if err := target.pause(false); err != nil {
		return err
	}
	if err := c.quiet(lane); err != nil {
		return err
	}
	if _, err := source.send(1); err != nil {
		return err
	}
	return c.quiet(lane)
}

// quiet reads until nothing has come for the lane in a while, or all of it has.
func (c *cast) quiet(l *lane) error {
	const silence = 300 * time.Millisecond
	for seen, idle := l.frames, time.Duration(0); idle < silence && l.frames+l.dropped < l.from.sent; seen = l.frames {
		const step = 20 * time.Millisecond
		if err := c.engine.run(step); err != nil {
			return err
		}
		if idle += step; l.frames != seen {
			idle = 0
		}
	}
	return nil
}
