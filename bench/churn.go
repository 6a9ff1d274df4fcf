//go:build linux

package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// changesOut is how many changes are under way at most.
const changesOut = 4

// churn changes one service over and over while many observe the catalogue. A message is an action that
// reached an observer.
func churn(ctx context.Context, t *Trial) (sample Sample, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	e, err := newEngine()
	if err != nil {
		return Sample{}, err
	}
	defer e.close()
	c := &cast{Trial: t, engine: e, sockets: map[*Conn]*socket{}}
	r := &registrar{}
	r.owner = &Member{Name: fmt.Sprintf("c%s-%05d", t.Tag, 0), Pair: -1, Sends: true}
	r.owner.Services = []*Service{{Owner: r.owner}}
	if err := c.admit(r.owner); err != nil {
		return Sample{}, err
	}
	r.sock = c.sockets[r.owner.Tx]
	r.sock.sink = r
	if r.crowd, err = c.gather(t.Observers); err != nil {
		return Sample{}, err
	}
	r.seq = r.crowd.seq
	runtime.GC()
	if err := r.run(e, t.Options.Warmup); err != nil {
		return Sample{}, err
	}
	if err := ctx.Err(); err != nil {
		return Sample{}, err
	}
	m := meter{pid: t.Instance.PID}
	e.delivered = r.deliveries()
	if err := m.start(e); err != nil {
		return Sample{}, err
	}
	if err := r.run(e, t.Options.Duration); err != nil {
		return Sample{}, err
	}
	e.delivered = r.deliveries()
	if sample, err = m.stop(e); err != nil {
		return Sample{}, err
	}
	n := float64(t.Observers)
	sample.Figures = Figures{"changes/s": sample.PerSecond / n, "µs/change": sample.ServerMicros * n}
	return sample, r.finish(e)
}

// registrar sends updates and foretells what comes of them.
type registrar struct {
	owner   *Member
	sock    *socket
	crowd   *crowd
	changes int    // sent
	seq     uint64 // of the last change
	request []byte
	actions []byte // that every observer gets
	answers []byte // that the registrar gets
	heard   int    // bytes of answers that came
}

func (r *registrar) accept(buf []byte) error {
	if due := r.answers[r.heard:]; !bytes.HasPrefix(due, buf) {
		return fmt.Errorf("%s: got %s, want %s", r.owner.Name, quote(buf), quote(due))
	}
	r.heard += len(buf)
	return nil
}

// run keeps changesOut changes under way for d, and on until an action has arrived.
func (r *registrar) run(e *engine, d time.Duration) error {
	e.clock()
	before := r.deliveries()
	for end := e.now + int64(d); e.now < end || r.deliveries() == before; e.clock() {
		if e.now > end+int64(drainTimeout) {
			return fmt.Errorf("no action arrived within %v", drainTimeout)
		}
		if err := r.change(); err != nil {
			return err
		}
		if err := e.read(100 * time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// change sends as many changes as may be under way.
func (r *registrar) change() error {
	all := int64(len(r.crowd.observers))
	for len(r.sock.out) == 0 && int64(len(r.actions))*all-r.crowd.total <= (changesOut-1)*all*int64(r.actionLen()) {
		id := r.owner.Services[0].ID
		r.changes++
		r.seq++
		r.request = appendUpdate(r.request[:0], id, r.changes)
		r.answers = appendUpdated(r.answers, r.changes)
		r.actions = appendSet(r.actions, r.owner, id, r.changes, r.seq)
		r.sock.out = r.request
		if err := r.sock.flush(); err != nil {
			return err
		}
	}
	return nil
}

// actionLen is the length of one action: the counter has always seven digits.
func (r *registrar) actionLen() int {
	if r.changes == 0 {
		return 0
	}
	return len(r.actions) / r.changes
}

// deliveries is how many actions the observers have read together.
func (r *registrar) deliveries() uint64 { return uint64(r.crowd.total) / uint64(max(r.actionLen(), 1)) }

// finish reads what is still on the way and compares everything with what was foretold.
func (r *registrar) finish(e *engine) error {
	all := int64(len(r.crowd.observers))
	e.clock()
	for end := e.now + int64(drainTimeout); r.crowd.total < all*int64(len(r.actions)) || r.heard < len(r.answers); e.clock() {
		if e.now > end {
			return fmt.Errorf("%d of %d bytes of actions did not arrive within %v", all*int64(len(r.actions))-r.crowd.total, all*int64(len(r.actions)), drainTimeout)
		}
		if err := e.read(100 * time.Millisecond); err != nil {
			return err
		}
	}
	if got := r.crowd.observers[0].text; !bytes.Equal(got, r.actions) {
		at := commonLen(got, r.actions)
		return errors.New("the observers' actions differ at " + quote(got[at:]) + ", want " + quote(r.actions[at:]))
	}
	return r.crowd.agree()
}
