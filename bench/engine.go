//go:build linux

package bench

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
)

const (
	readBytes    = 256 << 10        // of one read
	drainTimeout = 10 * time.Second // for what is on the way when the clock has stopped
)

// engine is the generator's loop: one thread that writes for all senders and reads for all receivers.
type engine struct {
	poll      *poller
	senders   []*sender
	turnOf    int   // the sender that is next
	window    int   // messages on the way at most, free senders not counted
	writes    int   // in one turn at most, before reading
	flying    int   // messages on the way
	receipts  int64 // confirmations that are due
	delivered uint64
	dropped   uint64
	latency   *hdrhistogram.Histogram // nanoseconds; nil: not measured
	scratch   []byte
	begin     time.Time
	now       int64 // nanoseconds since begin, read once a turn
}

func newEngine() (*engine, error) {
	poll, err := newPoller()
	if err != nil {
		return nil, err
	}
	return &engine{poll: poll, writes: 2, scratch: make([]byte, readBytes), begin: time.Now()}, nil
}

func newLatency() *hdrhistogram.Histogram {
	return hdrhistogram.New(100, int64(60*time.Second), 3)
}

func (e *engine) clock() { e.now = int64(time.Since(e.begin)) }

// deliver accounts for one whole message.
func (e *engine) deliver(l *lane) {
	e.delivered++
	if l.from.free {
		return
	}
	e.flying--
	if l.from.stamps != nil && e.latency != nil {
		// A value out of the histogram's range would be over a minute: the drain gave up before.
		_ = e.latency.RecordValue(max(e.now-l.from.stamps[l.places[l.idx]], 1))
	}
}

func (e *engine) drop(n int) { e.dropped += uint64(n) }

// run drives senders and receivers for d.
func (e *engine) run(d time.Duration) error {
	e.clock()
	for end := e.now + int64(d); e.now < end; e.clock() {
		if err := e.turn(time.Duration(end - e.now)); err != nil {
			return err
		}
	}
	return nil
}

// runFor drives senders and receivers for d, and on until least messages have arrived.
func (e *engine) runFor(d time.Duration, least uint64) error {
	least += e.delivered
	if err := e.run(d); err != nil {
		return err
	}
	for end := e.now + int64(drainTimeout); e.delivered < least; e.clock() {
		if e.now > end {
			return fmt.Errorf("%d messages are missing: they did not arrive within %v", least-e.delivered, drainTimeout)
		}
		if err := e.turn(time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// turn writes what may be written and reads what there is, after waiting for it up to limit.
func (e *engine) turn(limit time.Duration) error {
	wait, err := e.write()
	if err != nil {
		return err
	}
	return e.read(min(wait, limit))
}

// drain starts nothing new, finishes what is begun and reads until everything has arrived.
func (e *engine) drain() error {
	e.clock()
	for end := e.now + int64(drainTimeout); ; {
		busy, err := e.pending()
		if err != nil {
			return err
		}
		if !busy && e.flying <= 0 && e.receipts <= 0 {
			break
		}
		wait := 100 * time.Millisecond
		if busy {
			wait = 0
		}
		if err := e.read(wait); err != nil {
			return err
		}
		if e.clock(); e.now > end {
			return fmt.Errorf("%d messages and %d receipts are lost: they did not arrive within %v", e.flying, e.receipts, drainTimeout)
		}
	}
	if e.flying < 0 || e.receipts < 0 {
		return fmt.Errorf("%d messages and %d receipts came that nobody sent", -e.flying, -e.receipts)
	}
	return nil
}

// pending reports whether a message has been sent in part, and goes on with it.
func (e *engine) pending() (bool, error) {
	busy := false
	for _, s := range e.senders {
		if s.ready() && s.begun() {
			if _, err := s.send(0); err != nil {
				return false, err
			}
		}
		busy = busy || !s.ready() || s.begun()
	}
	return busy, nil
}

// write gives the senders their turns and returns how long to wait for input.
func (e *engine) write() (time.Duration, error) {
	wait := time.Second
	left := e.writes
	for i := 0; i < len(e.senders) && left > 0; i++ {
		s := e.senders[e.turnOf]
		if e.turnOf++; e.turnOf == len(e.senders) {
			e.turnOf = 0
		}
		// A lone sender may use all writes of the turn.
		for more := true; more && left > 0; more = len(e.senders) == 1 {
			done, err := e.let(s)
			if err != nil {
				return 0, err
			}
			if !done {
				break
			}
			left--
			wait = 0
		}
		switch {
		case s.every == 0 || s.off:
		case s.free:
			wait = min(wait, time.Millisecond)
		default:
			wait = 0 // its pace is finer than what epoll sleeps
		}
	}
	return wait, nil
}

// let sends for s if socket, window and pace allow it, and reports whether it did.
func (e *engine) let(s *sender) (bool, error) {
	if s.off || !s.ready() {
		return false, nil
	}
	if s.every > 0 && !s.begun() {
		if e.now < s.due {
			return false, nil
		}
		s.due = max(s.due+s.every, e.now-100*s.every)
	}
	frames := 1 << 30
	if !s.free && !s.begun() {
		// A sixteenth of the window or nothing: a full window must not make every write a small one.
		frames = e.window - e.flying
		if frames <= 0 || frames < e.window/16 {
			return false, nil
		}
	}
	n, err := s.send(frames)
	if !s.free {
		e.flying += n
	}
	return true, err
}

func (e *engine) read(wait time.Duration) error {
	events, err := e.poll.wait(wait)
	if err != nil {
		return err
	}
	if len(events) > 0 && e.latency != nil {
		e.clock()
	}
	for i := range events {
		s := e.poll.sockets[events[i].Fd]
		if events[i].Events&unix.EPOLLOUT != 0 {
			if err := s.flush(); err != nil {
				return err
			}
		}
		if events[i].Events&^unix.EPOLLOUT != 0 && !s.closed {
			if err := s.fill(e.scratch); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *engine) close() { e.poll.close() }
