package loop

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/panjf2000/gnet/v2"
	"golang.org/x/sys/unix"

	"github.com/ahprelay/ahprelay/relay"
)

// conn is one connection. Only the loop touches it, once it is enrolled.
type conn struct {
	info    relay.PeerInfo
	id      relay.PeerID
	gc      gnet.Conn // nil once gnet has closed it; never used after that
	fd      int       // -1 once closed: a descriptor number may soon be another client's
	orphan  bool      // gnet has let go of it, fd is our own duplicate
	blocked bool      // waits to take output again
	watched bool      // fd is known to the writable watcher
	closing bool      // the core wants it closed
	edge    *edge     // not nil: it reads and writes, and gc and fd are not used
	chatter chatter
}

// flushBytes is how much is read, from however many connections, before what came of it is written: an
// output must not become too full only because many senders are read in one turn.
const flushBytes = 256 << 10

// reactor is the gnet event handler. Every mutation of the core is followed by settle.
type reactor struct {
	gnet.BuiltinEventEngine

	core      *relay.Core
	log       *slog.Logger
	stop      func(error)
	far       *os.File // the other end of the anchor
	start     time.Time
	now       time.Duration // since start, monotonic, as of the latest enter
	loop      gnet.EventLoop
	conns     []*conn // by index of the PeerID
	current   *conn   // the connection whose bytes are being handled
	settling  bool
	flushing  bool // a flush is scheduled for the end of this turn
	unflushed int  // bytes that were read since output was written last
	drained   bool
	halted    atomic.Bool

	blocked    bool          // some connection did not take its output
	retried    time.Duration // when that was offered again
	retrying   bool
	stall      time.Duration // stall_timeout
	patrolling bool          // the edges will be looked after

	writable *writable
	coalesce *coalescer // nil: off
	timer    *time.Timer
	armed    time.Duration // when the timer fires, 0: not armed
	notes    noteLog
	turns    Turns
}

func newReactor(core *relay.Core, pause time.Duration, log *slog.Logger, stop func(error)) (*reactor, error) {
	r := &reactor{core: core, log: log, stop: stop, start: time.Now(), notes: noteLog{log: log}}
	var err error
	if r.writable, err = newWritable(r.unblock); err != nil {
		return nil, err
	}
	if r.coalesce, err = newCoalescer(pause); err != nil {
		r.writable.close()
		return nil, err
	}
	r.timer = time.AfterFunc(time.Hour, func() { _ = r.execute(r.tick) })
	r.timer.Stop()
	return r, nil
}

// enter reads the clock, once for everything that one call into the reactor does.
func (r *reactor) enter() time.Duration {
	r.now = time.Since(r.start)
	return r.now
}

// execute runs f on the loop, soon, as a turn that is measured.
func (r *reactor) execute(f func()) error {
	return r.later(func() {
		start := time.Since(r.start)
		f()
		r.turns.add(time.Since(r.start) - start)
	})
}

// later runs f on the loop, soon.
func (r *reactor) later(f func()) error {
	return r.loop.Execute(context.Background(), gnet.RunnableFunc(func(context.Context) error {
		f()
		return nil
	}))
}

// halt marks that the end of the loop is wanted.
func (r *reactor) halt() { r.halted.Store(true) }

// release ends what the reactor runs besides the loop, which has stopped.
func (r *reactor) release() {
	r.timer.Stop()
	r.writable.close()
	r.coalesce.close()
	_ = r.far.Close()
	for _, c := range r.conns {
		if c != nil && c.orphan && c.fd >= 0 {
			_ = unix.Close(c.fd)
		}
	}
}

// OnOpen takes a new connection, or the anchor.
func (r *reactor) OnOpen(gc gnet.Conn) ([]byte, gnet.Action) {
	c, ok := gc.Context().(*conn)
	if !ok {
		r.loop = gc.EventLoop()
		r.writable.start()
		return nil, gnet.None
	}
	id, admitted := r.core.Open(r.enter(), c.info)
	if !admitted {
		return nil, gnet.Close
	}
	c.id, c.gc, c.fd = id, gc, gc.Fd()
	r.place(c)
	r.coalesce.add(c.fd)
	r.rearm()
	return nil, gnet.None
}

// place makes a connection known by its id.
func (r *reactor) place(c *conn) {
	for uint32(len(r.conns)) <= uint32(c.id) {
		r.conns = append(r.conns, nil)
	}
	r.conns[uint32(c.id)] = c
}

// OnTraffic hands what was read to the core. The bytes live in gnet's read buffer until it returns.
func (r *reactor) OnTraffic(gc gnet.Conn) gnet.Action {
	data, _ := gc.Next(-1)
	c, ok := gc.Context().(*conn)
	if !ok || c.gc == nil {
		return gnet.None
	}
	now := r.enter()
	measure := r.turns.due(len(data))
	r.current = c
	r.receive(c, data)
	r.current = nil
	r.unflushed += len(data)
	if !c.closing && r.unflushed < flushBytes && (r.flushing || r.core.DirtyCount() > 1) {
		r.flushLater()
		r.endIf(measure, now)
		return gnet.None
	}
	r.current = c
	r.settle()
	r.current = nil
	r.endIf(measure || c.blocked, now)
	if c.closing {
		return gnet.Close
	}
	r.coalesce.read(c, len(data), now)
	return gnet.None
}

// receive hands bytes to the core, and writes in between when much has come together.
func (r *reactor) receive(c *conn, data []byte) {
	for data = r.core.ReceiveSome(r.now, c.id, data); len(data) > 0; data = r.core.ReceiveSome(r.now, c.id, data) {
		r.settle()
	}
}

// flushLater has everything written once this turn's reads are done.
func (r *reactor) flushLater() {
	if r.flushing {
		return
	}
	r.flushing = true
	_ = r.later(func() {
		r.flushing = false
		measure := r.turns.due(r.core.DirtyCount() * turnFlushBytes)
		start := r.startIf(measure)
		r.settle()
		r.endIf(measure, start)
	})
}

// OnClose hears of every connection that gnet lets go of. The descriptor is still open here, and is no
// longer ours as soon as this returns.
func (r *reactor) OnClose(gc gnet.Conn, err error) gnet.Action {
	c, ok := gc.Context().(*conn)
	if !ok {
		if !r.halted.Load() {
			r.stop(errors.New("the event loop has ended unexpectedly"))
		}
		return gnet.None
	}
	if c.gc == nil {
		return gnet.None // refused
	}
	c.gc = nil
	if !r.settling {
		r.enter()
	}
	if !c.chatter.hot {
		r.coalesce.remove(c.fd)
	}
	if c.watched {
		r.writable.forget(c.fd)
		c.watched = false
	}
	if c.closing || !errors.Is(err, io.EOF) || r.halted.Load() {
		r.gone(c)
	} else {
		r.halfClosed(c)
	}
	r.settle()
	r.endIf(true, r.now)
	return gnet.None
}

// gone forgets a connection whose descriptor is closed or about to be.
func (r *reactor) gone(c *conn) {
	c.fd = -1
	r.conns[uint32(c.id)] = nil
	r.core.Closed(r.now, c.id)
}

// halfClosed writes what the core still has for a peer that has shut down its sending side. What the
// kernel does not take at once goes out through a duplicate of the descriptor.
func (r *reactor) halfClosed(c *conn) {
	r.core.HalfClosed(r.now, c.id)
	for {
		out, step := r.core.Take(c.id)
		if len(out) == 0 {
			if step == relay.Close {
				r.gone(c)
			}
			return
		}
		if !c.blocked && r.write(c, out) {
			continue
		}
		if c.fd < 0 {
			r.gone(c)
			return
		}
		fd, err := unix.FcntlInt(uintptr(c.fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			r.gone(c)
			return
		}
		c.fd, c.orphan, c.blocked = fd, true, true
		c.watched = r.writable.watch(c.fd, c.id, false)
		return
	}
}

// settle drains the core: every peer that has output gets one write, every verdict is carried out, until
// nothing is left. A close that happens inside comes back through OnClose and is drained by the same loop.
func (r *reactor) settle() {
	if r.settling {
		return
	}
	r.settling = true
	r.unflushed = 0
	for {
		id, ok := r.core.Dirty()
		if !ok {
			break
		}
		if c := r.conns[uint32(id)]; c != nil && c.id == id {
			r.flush(c)
		}
	}
	r.settling = false
	r.rearm()
	r.notes.drain(r.core, r.now)
	if !r.drained && r.core.Drained() {
		r.drained = true
		r.stop(nil)
	}
}

// flush writes what a connection has waiting, and carries out what the core wants with it then.
func (r *reactor) flush(c *conn) {
	if c.edge != nil {
		r.flushEdge(c)
		return
	}
	for {
		out, step := r.core.Take(c.id)
		switch {
		case len(out) > 0:
			if c.blocked || !r.write(c, out) {
				return
			}
		case step == relay.Shut:
			_ = unix.Shutdown(c.fd, unix.SHUT_WR)
			return
		case step == relay.Close:
			r.close(c)
			return
		default:
			return
		}
	}
}

// write offers bytes to the kernel, tells the core what was taken, and reports whether all was.
func (r *reactor) write(c *conn, out []byte) bool {
	if c.fd < 0 {
		return false
	}
	n, err := unix.Write(c.fd, out)
	for err == unix.EINTR {
		n, err = unix.Write(c.fd, out)
	}
	if err != nil && err != unix.EAGAIN {
		r.close(c)
		return false
	}
	n = max(n, 0)
	c.chatter.delivered = true
	if r.retrying {
		r.core.Retried(r.now, c.id, n)
	} else {
		r.core.Wrote(r.now, c.id, n)
	}
	if n == len(out) {
		return true
	}
	c.blocked, r.blocked = true, true
	if !c.orphan && c.gc == nil {
		return false // on its way out: halfClosed sees to it
	}
	c.watched = r.writable.watch(c.fd, c.id, c.watched)
	return false
}

// close ends a connection from our side.
func (r *reactor) close(c *conn) {
	switch {
	case c.closing:
	case c.orphan:
		c.closing = true
		_ = unix.Close(c.fd)
		r.gone(c)
	case c.gc == nil: // inside OnClose
		c.fd = -1
	case c == r.current: // gnet closes it when OnTraffic returns
		c.closing = true
	default:
		c.closing = true
		_ = r.loop.Close(c.gc)
	}
}

// unblock is called, off the loop, with connections that take output again.
func (r *reactor) unblock(ids []relay.PeerID) {
	_ = r.execute(func() {
		r.enter()
		for _, id := range ids {
			if c := r.conns[uint32(id)]; c != nil && c.id == id && c.blocked {
				c.blocked = false
				r.settling = true
				r.flush(c)
				r.settling = false
			}
		}
		r.settle()
	})
}

// tick lets the core's time pass.
func (r *reactor) tick() {
	r.armed = 0
	r.enter()
	r.retry()
	r.core.Tick(r.now)
	r.settle()
}

// retry offers output again to the connections that did not take any, four times in each stall timeout:
// the kernel tells that a socket is writable only when a good part of its buffer is free, and a peer that
// reads slowly but steadily must not be taken for one that has stopped.
func (r *reactor) retry() {
	if !r.blocked || r.now < r.retried+r.stall/4 {
		return
	}
	r.blocked, r.retried = false, r.now
	r.settling, r.retrying = true, true
	for _, c := range r.conns {
		if c != nil && c.blocked && c.edge == nil && !c.closing {
			c.blocked = false
			r.flush(c)
		}
	}
	r.settling, r.retrying = false, false
}

// rearm sets the timer to the core's next deadline, if that is earlier than what it is set to.
func (r *reactor) rearm() {
	next, ok := r.core.NextDeadline()
	if !ok {
		return
	}
	next = max(next, 1)
	if r.armed != 0 && r.armed <= next {
		return
	}
	r.armed = next
	r.timer.Reset(max(next-r.now, time.Millisecond))
}

func (r *reactor) drain() {
	r.core.Drain(r.enter())
	r.settle()
}

func (r *reactor) reload(config relay.Config) error {
	err := r.core.Reload(r.enter(), config)
	if err == nil {
		r.stall = config.Limits.StallTimeout
	}
	r.settle()
	return err
}
