//go:build linux

package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// settle is how long a server gets to give back what connecting cost it.
const settle = 300 * time.Millisecond

// idle connects many members that say nothing after the handshake, and asks what they cost the server:
// memory each, CPU to connect, CPU while nothing happens.
func idle(ctx context.Context, t *Trial) (Sample, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	e, err := newEngine()
	if err != nil {
		return Sample{}, err
	}
	defer e.close()
	c := &cast{Trial: t, engine: e, sockets: map[*Conn]*socket{}}
	time.Sleep(settle)
	empty, err := t.resident()
	if err != nil {
		return Sample{}, err
	}
	m := meter{pid: t.Instance.PID}
	if err := m.start(e); err != nil {
		return Sample{}, err
	}
	for i := range t.Senders {
		if err := ctx.Err(); err != nil {
			return Sample{}, err
		}
		if err := c.admit(&Member{Name: fmt.Sprintf("i%s-%05d", t.Tag, i), Pair: -1, Sends: true}); err != nil {
			return Sample{}, err
		}
		e.delivered++
	}
	s, err := m.stop(e) // messages are connections here
	if err != nil {
		return Sample{}, err
	}
	time.Sleep(settle)
	if s.Resident, err = t.resident(); err != nil {
		return Sample{}, err
	}
	s.Figures = Figures{"empty MiB": float64(empty) / (1 << 20), "bytes/connection": float64(s.Resident-empty) / float64(t.Senders)}
	if t.Instance.PID == 0 {
		return s, nil
	}
	before, err := processCPU(t.Instance.PID)
	if err != nil {
		return Sample{}, err
	}
	if err := e.run(t.Options.Duration); err != nil { // reads, should the server say something
		return Sample{}, err
	}
	after, err := processCPU(t.Instance.PID)
	s.Figures["idle CPU ms/s"] = (after - before).Seconds() / t.Options.Duration.Seconds() * 1e3
	return s, err
}

// resident is the server's memory, 0 when it cannot be observed.
func (t *Trial) resident() (int64, error) {
	if t.Instance.PID == 0 {
		return 0, nil
	}
	return residentBytes(t.Instance.PID)
}
