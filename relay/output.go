package relay

import (
	"bytes"
	"time"

	"github.com/valyala/bytebufferpool"
)

// segmentBytes is the size up to which one pooled buffer of an output grows; what comes after goes into
// the next one. A line is never split.
const segmentBytes = 1 << 20

// keptBytes is the smallest buffer of a peer that does not take its output.
const keptBytes = 4 << 10

// output is what waits to be sent to one peer, oldest first.
type output struct {
	segments []*bytebufferpool.ByteBuffer
	off      int    // bytes of segments[0] that have been taken
	size     int    // unsent bytes
	sent     uint64 // bytes taken since the connection was opened
	midway   bool   // the last byte taken did not end a line
	blocked  bool   // the transport did not take everything at the last attempt
	moved    time.Duration
}

// tail returns the buffer to append a line of about need bytes to.
func (o *output) tail(need int) *bytebufferpool.ByteBuffer {
	n := len(o.segments)
	if n > 0 {
		if b := o.segments[n-1]; len(b.B)+need <= segmentBytes {
			return b
		}
	}
	var b *bytebufferpool.ByteBuffer
	if o.blocked {
		// What waits for long takes what it needs, not what a burst once needed.
		b = &bytebufferpool.ByteBuffer{B: make([]byte, 0, max(need, keptBytes))}
	} else if b = bytebufferpool.Get(); cap(b.B) < need {
		b.B = make([]byte, 0, need)
	}
	o.segments = append(o.segments, b)
	return b
}

// put returns a buffer to the pool, unless a large line made it larger than others need.
func put(b *bytebufferpool.ByteBuffer) {
	if cap(b.B) <= 2*segmentBytes {
		bytebufferpool.Put(b)
	}
}

// shrink moves what is left of the first buffer into one of its size, when it is little: a peer that
// reads slowly is charged for the bytes that wait, and should not hold many more.
func (o *output) shrink() {
	b := o.segments[0]
	if left := len(b.B) - o.off; cap(b.B) > 16*keptBytes && left <= cap(b.B)/4 {
		o.segments[0] = &bytebufferpool.ByteBuffer{B: append(make([]byte, 0, max(left, keptBytes)), b.B[o.off:]...)}
		o.off = 0
		put(b)
	}
}

// head returns the bytes to be written next.
func (o *output) head() []byte {
	if len(o.segments) == 0 {
		return nil
	}
	return o.segments[0].B[o.off:]
}

// take drops n bytes from the front.
func (o *output) take(n int) {
	o.size -= n
	o.sent += uint64(n)
	o.off += n
	o.midway = o.segments[0].B[o.off-1] != '\n'
	if o.off < len(o.segments[0].B) {
		return
	}
	put(o.segments[0])
	o.off = 0
	last := copy(o.segments, o.segments[1:])
	o.segments[last] = nil
	o.segments = o.segments[:last]
}

// truncate drops everything behind the line that is being written, and returns how many bytes that was.
func (o *output) truncate() int {
	if len(o.segments) == 0 {
		return 0
	}
	keep := 0
	head := o.head()
	if o.midway {
		keep = bytes.IndexByte(head, '\n') + 1
	}
	dropped := o.size - keep
	for i := 1; i < len(o.segments); i++ {
		put(o.segments[i])
		o.segments[i] = nil
	}
	o.segments = o.segments[:1]
	// What stays is copied, so that a large segment is not kept for a short line.
	rest := bytebufferpool.Get()
	rest.B = append(rest.B, head[:keep]...)
	put(o.segments[0])
	o.segments[0], o.off, o.size = rest, 0, keep
	if keep == 0 {
		o.segments = o.segments[:0]
		put(rest)
	}
	return dropped
}

// reset returns every buffer to the pool.
func (o *output) reset() {
	for _, b := range o.segments {
		put(b)
	}
	*o = output{}
}

// queued charges n bytes that were appended to p's output and makes sure that they get written. A peer
// whose output has become too large is condemned, and so is the largest holder when memory runs out.
func (c *Core) queued(p *peer, n int) {
	if p.out.size == 0 && !p.out.blocked {
		p.out.moved = c.now
	}
	p.out.size += n
	c.memory += int64(n)
	if !p.dirty {
		c.mark(p)
	}
	if p.out.size > c.pressure && !p.out.blocked {
		c.pressed = true
	}
	if p.out.size > c.limits.QueueBytesHard {
		c.condemn(p, ReasonSlowConsumer, "unsent output over queue_bytes_hard")
	}
	if c.Memory()-c.leaving > c.reclaim {
		c.reclaimMemory()
	}
}

// mark puts p on the list of peers to be drained.
func (c *Core) mark(p *peer) {
	if !p.dirty {
		p.dirty = true
		c.dirty = append(c.dirty, p.index)
	}
}

// boundMemory condemns connections until memory_bytes_max is kept, or nobody is left who holds anything:
// what is kept for replay is charged to no connection, so it may have grown since the last one was.
func (c *Core) boundMemory() {
	for c.Memory()-c.leaving > c.reclaim && c.reclaimMemory() {
	}
}

// reclaimMemory closes the connection that holds most, and reports whether there is one. What the condemned
// hold counts as free already: it will be when the current work is done. Who is being closed anyway, but too
// slowly, is cut off.
func (c *Core) reclaimMemory() bool {
	var most *peer
	for _, p := range c.peers {
		if p.doomed && p.state <= stateOpen || p.holds() == 0 || most != nil && p.holds() <= most.holds() {
			continue
		}
		most = p
	}
	switch {
	case most == nil:
	case most.state <= stateOpen:
		c.condemn(most, ReasonSlowConsumer, "memory_bytes_max reached and this connection held most")
	default:
		c.cutOff(most)
	}
	return most != nil
}

// cutOff drops what waits for a connection that is being closed, and has it closed at once.
func (c *Core) cutOff(p *peer) {
	c.memory -= int64(p.out.size)
	p.out.reset()
	p.state = stateDead
	c.mark(p)
	c.rearm(p)
}

// holds is the number of bytes that p is charged for.
func (p *peer) holds() int { return p.out.size + p.held + p.bytes }

// Step says what is to be done with a connection after what Take returned has been written.
type Step uint8

const (
	Keep  Step = iota // nothing
	Shut              // shut down the sending side, go on reading until EOF
	Close             // close it
)

// Dirty returns a connection that has something to be written or done, until there is none.
func (c *Core) Dirty() (PeerID, bool) {
	for n := len(c.dirty); n > 0; n-- {
		p := c.peers[c.dirty[n-1]]
		c.dirty = c.dirty[:n-1]
		if p.dirty {
			p.dirty = false
			return p.id, true
		}
	}
	return 0, false
}

// DirtyCount is the number of connections that Dirty would return.
func (c *Core) DirtyCount() int { return len(c.dirty) }

// Take returns the next bytes to be written to a connection, and once there are none, what is to be
// done with it. The bytes live until Wrote or Closed.
func (c *Core) Take(id PeerID) ([]byte, Step) {
	p := c.peer(id)
	if p == nil {
		return nil, Close
	}
	switch {
	case p.state == stateDead:
		return nil, Close
	case p.out.size > 0:
		return p.out.head(), Keep
	case p.state == stateEnding:
		p.state = stateDead
		return nil, Close
	case p.state == stateClosing:
		p.state, p.opened = stateLinger, c.now
		c.rearm(p)
		return nil, Shut
	}
	return nil, Keep
}

// Wrote tells the core that the transport has taken the first n bytes of what Take returned. Less than
// all of them means that it will take no more for now.
func (c *Core) Wrote(now time.Duration, id PeerID, n int) { c.wrote(now, id, n, 1) }

// Retried is Wrote for bytes that were offered although the transport had not said that it takes any. A
// few that trickle into a full buffer are no sign of a peer that reads.
func (c *Core) Retried(now time.Duration, id PeerID, n int) { c.wrote(now, id, n, trickleBytes) }

// trickleBytes is what a transport may take of a peer's output, unasked, while that reads nothing.
const trickleBytes = 16 << 10

func (c *Core) wrote(now time.Duration, id PeerID, n, progress int) {
	p := c.peer(id)
	if p == nil || p.out.size == 0 {
		return
	}
	c.now = now
	was := p.out.blocked
	p.out.blocked = n < len(p.out.head())
	if n >= progress || n == p.out.size {
		p.out.moved = now
	}
	if n > 0 {
		p.out.take(n)
		c.memory -= int64(n)
		c.counters.BytesOut += uint64(n)
	}
	if p.shedding && p.out.size < c.limits.QueueBytesSoft/4 {
		p.shedding = false
	}
	if p.out.blocked {
		p.out.shrink()
	}
	if p.out.blocked != was {
		c.rearm(p)
	}
}
