package client

import (
	"context"
	"sync"
)

// outbox collects outgoing messages for the writer, which sends all that has gathered in one write.
// It is bounded: who appends to a full outbox waits for its turn.
type outbox struct {
	mu      sync.Mutex
	buf     []byte        // whole messages
	bound   int           // of buf, in bytes; a single longer message still goes through alone
	wake    chan struct{} // cap 1: buf is not empty
	waiting int           // how many wait; while anybody does, nobody overtakes
	turn    chan struct{} // cap 1: held by the one whose turn it is
	space   chan struct{} // non-nil while that one waits; closed when buf was taken
	err     error         // set once: nothing more is accepted
	done    chan struct{} // closed with err
}

func (o *outbox) init(bound int) {
	o.bound = bound
	o.wake = make(chan struct{}, 1)
	o.turn = make(chan struct{}, 1)
	o.done = make(chan struct{})
}

// fits reports whether n more bytes may be appended. o.mu is held.
func (o *outbox) fits(n int) bool { return len(o.buf) == 0 || len(o.buf)+n <= o.bound }

// lock acquires the outbox with room for n bytes; the caller appends to o.buf and calls unlock. On
// error it is not acquired and nothing was sent.
func (o *outbox) lock(ctx context.Context, n int) error {
	o.mu.Lock()
	if o.err == nil && (o.waiting > 0 || !o.fits(n)) {
		o.waiting++
		o.mu.Unlock()
		err := o.wait(ctx, n)
		o.waiting--
		if err != nil {
			o.mu.Unlock()
			return err
		}
	}
	if o.err != nil {
		err := o.err
		o.mu.Unlock()
		return err
	}
	return nil
}

// wait returns, with o.mu held, when n bytes fit, the outbox has failed, or ctx has ended.
func (o *outbox) wait(ctx context.Context, n int) error {
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-o.done:
		o.mu.Lock()
		return nil
	case <-ctx.Done():
		o.mu.Lock()
		return ctx.Err()
	}
	for {
		o.mu.Lock()
		if o.err != nil || o.fits(n) {
			return nil
		}
		o.space = make(chan struct{})
		space := o.space
		o.mu.Unlock()
		select {
		case <-space:
		case <-o.done:
		case <-ctx.Done():
			o.mu.Lock()
			return ctx.Err()
		}
	}
}

// unlock releases the outbox after an append and wakes the writer.
func (o *outbox) unlock() {
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// forceMax is how much a relay that does not read can make the reader pile up.
const forceMax = 16 << 20

// force appends a whole message whatever the bound; for the few small ones that the reader sends, since
// the reader must never wait for the writer. Beyond forceMax it drops them.
func (o *outbox) force(msg []byte) {
	o.mu.Lock()
	if o.err == nil && len(o.buf) < o.bound+forceMax {
		o.buf = append(o.buf, msg...)
	}
	o.unlock()
}

// take waits for output and exchanges it for spare, an empty buffer to fill next. It returns false when
// the outbox has failed.
func (o *outbox) take(spare []byte) ([]byte, bool) {
	for {
		o.mu.Lock()
		if o.err != nil {
			o.mu.Unlock()
			return nil, false
		}
		if len(o.buf) > 0 {
			batch := o.buf
			o.buf = spare[:0]
			if o.space != nil {
				close(o.space)
				o.space = nil
			}
			o.mu.Unlock()
			return batch, true
		}
		o.mu.Unlock()
		select {
		case <-o.wake:
		case <-o.done:
		}
	}
}

// fail makes every present and future lock return err.
func (o *outbox) fail(err error) {
	o.mu.Lock()
	if o.err == nil {
		o.err = err
		o.buf = nil
		close(o.done)
	}
	o.mu.Unlock()
}
