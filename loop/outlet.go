package loop

import (
	"bytes"
	"slices"
	"sync"
	"time"
)

const (
	outletBytes = 64 << 10 // how much of the output an edge takes from the core while it writes as much again
	pieceBytes  = 32 << 10 // how much is written at a time; a peer that takes less within the stall timeout is stalled
)

// farewellTime bounds the last words to a peer that has ended.
const farewellTime = time.Second

var outlets = sync.Pool{New: func() any { return new([]byte) }}

// buffer returns an empty buffer.
func buffer() *[]byte {
	b := outlets.Get().(*[]byte)
	*b = (*b)[:0] // what another connection was sent is not for this one
	return b
}

// outlet is what an edge has taken from the core and not sent.
type outlet struct {
	framed  bool          // every line becomes a WebSocket message
	open    bool          // the handshakes are done
	writing bool          // the writer is at work
	noRoom  bool          // the loop wants to hear of room
	notIdle bool          // the loop wants to hear that everything is sent
	filling *[]byte       // taken by the writer as a whole; nil: nothing
	control []byte        // a control frame to be sent ahead
	stuck   bool          // the loop wants to hear when something was sent
	shut    bool          // and then the sending side is to be shut down
	moved   time.Duration // when the writer began or sent a piece, since the loop's start
}

// put takes as much as there is room for of what the core has for the peer. When that is not all, the
// loop gets an eventRoom. A line is cut only if it is longer than the outlet.
func (e *edge) put(lines []byte) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := &e.out
	if o.filling == nil {
		o.filling = buffer()
	}
	n := min(len(lines), outletBytes-len(*o.filling))
	if n < len(lines) {
		o.noRoom = true
		if end := bytes.LastIndexByte(lines[:n], '\n') + 1; o.framed && (end > 0 || len(*o.filling) > 0) {
			n = end
		}
	}
	*o.filling = append(*o.filling, lines[:n]...)
	e.write()
	return n
}

// busy reports whether something that was put is not sent; if so, the loop gets an eventRoom once that
// has changed, if ask is set.
func (e *edge) busy(ask bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	busy := e.out.writing || e.out.filling != nil
	e.out.notIdle = e.out.notIdle || busy && ask
	return busy
}

// shutDown ends the sending side: what else there may be to read is read.
func (e *edge) shutDown() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.out.shut = true
	e.write()
}

// farewell ends the sending side of a connection whose peer ended its own, if there is time for that. The
// loop gets an eventRoom when it is done.
func (e *edge) farewell() bool {
	if e.leaving {
		return e.busy(true)
	}
	if e.shut || e.busy(false) {
		return false
	}
	e.leaving, e.shut = true, true
	_ = e.raw.SetWriteDeadline(time.Now().Add(farewellTime))
	e.shutDown()
	return e.busy(true)
}

// interject sends a control frame ahead of what waits. Only the latest counts: they are answers to pings.
func (e *edge) interject(frame []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.out.control = append(e.out.control[:0], frame...)
	e.write()
}

// write makes sure that a writer is at work, once the connection is open. The caller holds mu.
func (e *edge) write() {
	if e.out.open && !e.out.writing && !e.dead {
		e.out.writing = true
		e.out.moved = time.Since(e.server.reactor.start)
		e.server.edges.running.Go(e.writeAll)
	}
}

// opened lets the writer begin with what was put before the handshakes were done.
func (e *edge) opened() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.out.open = true
	if e.out.filling != nil || e.out.shut {
		e.write()
	}
}

// writeAll sends until nothing is left.
func (e *edge) writeAll() {
	frames := buffer() // of a WebSocket
	defer outlets.Put(frames)
	for {
		lines, control, more := e.next()
		if !more {
			return
		}
		var err error
		switch {
		case lines == nil && control == nil:
			err = e.finish()
		case e.socket == nil:
			err = e.send(*lines)
		default:
			*frames = append((*frames)[:0], control...)
			if lines != nil {
				*frames = e.socket.frame(*frames, *lines)
			}
			err = e.send(*frames)
		}
		if lines != nil {
			outlets.Put(lines)
		}
		if err != nil {
			e.post(eventFailed)
			return // and writing stays set: nobody writes any more
		}
	}
}

// send writes bytes piece by piece, and notes when one has gone.
func (e *edge) send(b []byte) error {
	for piece := range slices.Chunk(b, pieceBytes) {
		if _, err := e.stream.Write(piece); err != nil {
			return err
		}
		e.mu.Lock()
		e.out.moved = time.Since(e.server.reactor.start)
		if !e.out.stuck {
			e.mu.Unlock()
			continue
		}
		e.out.stuck = false
		e.events |= eventRoom
		e.raise()
	}
	return nil
}

// stalled returns since when the writer is stuck, if it is since before the given time; if so, the loop
// gets an eventRoom once that has changed.
func (e *edge) stalled(before time.Duration) (time.Duration, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.out.stuck = e.out.writing && e.out.moved < before
	return e.out.moved, e.out.stuck
}

// next returns what to send next: lines, a control frame or both; nothing, to shut down the sending side.
// It reports false when the writer is done.
func (e *edge) next() (lines *[]byte, control []byte, more bool) {
	e.mu.Lock()
	o := &e.out
	lines, o.filling = o.filling, nil
	if len(o.control) > 0 {
		control = bytes.Clone(o.control)
		o.control = o.control[:0]
	}
	more = lines != nil || control != nil || o.shut
	if lines == nil && control == nil {
		o.shut = false
	}
	more = more && !e.dead
	o.writing = more
	if (o.noRoom || o.notIdle && !more) && !e.dead {
		o.noRoom, o.notIdle = false, o.notIdle && more
		e.events |= eventRoom
		e.raise()
		return lines, control, more
	}
	e.mu.Unlock()
	return lines, control, more
}

// finish shuts down the sending side.
func (e *edge) finish() error {
	if e.socket != nil {
		if _, err := e.stream.Write(e.socket.closeFrame()); err != nil {
			return err
		}
	}
	if e.secure != nil {
		if err := e.secure.CloseWrite(); err != nil {
			return err
		}
	}
	return e.raw.CloseWrite()
}
