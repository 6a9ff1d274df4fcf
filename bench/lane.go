//go:build linux

package bench

// lane is what a receiver expects from one sender: the frames of that sender's ring that are for this
// receiver, as the server delivers them, in order.
type lane struct {
	ring
	from    *sender
	places  []uint32 // of each frame in the sender's ring
	pos     int      // bytes of ring.bytes that have been seen in this turn
	frames  uint64   // delivered whole
	dropped uint64   // which the server said it dropped
}

// advance moves n bytes on, which the caller has compared, and reports each whole frame.
func (l *lane) advance(n int, done func(*lane)) {
	l.pos += n
	for l.pos >= int(l.ends[l.idx]) {
		done(l)
		l.frames++
		l.step()
		if l.idx == 0 {
			l.pos = 0
			return
		}
	}
}

// skip passes over n whole frames that the server dropped.
func (l *lane) skip(n int) {
	l.dropped += uint64(n)
	l.idx = (l.idx + n) % l.len()
	l.pos = l.start(l.idx)
}

// due is the frame expected next.
func (l *lane) due() []byte { return l.frame(l.idx) }

// commonLen is the length of the longest common prefix.
func commonLen(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
