package loop

import "sync"

const (
	intakeSmall = 2 << 10  // of a connection that sends little
	intakeLarge = 32 << 10 // of one that filled the small one
)

var intakes = sync.Pool{New: func() any { return new([intakeLarge]byte) }}

// intake is what an edge has read and the loop has not consumed: buf[taken:filled]. The reader fills what
// is behind that while the loop works; it begins again at the front only when nothing is left.
type intake struct {
	small         []byte
	large         *[intakeLarge]byte // nil: buf is small
	buf           []byte
	taken, filled int
}

// room returns where to read to, nil once the connection is dead. It waits for the loop when there is
// not much room left.
func (e *edge) room() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	in := &e.in
	for !e.dead && in.taken < in.filled && len(in.buf)-in.filled < len(in.buf)/4 {
		e.moved.Wait()
	}
	if e.dead {
		return nil
	}
	if in.taken == in.filled {
		in.rewind()
	}
	return in.buf[in.filled:]
}

// rewind begins again at the front, with a buffer of the size that was of use last.
func (in *intake) rewind() {
	switch {
	case in.small == nil:
		in.small = make([]byte, intakeSmall)
		in.buf = in.small
	case in.large == nil && in.filled == len(in.small):
		in.large = intakes.Get().(*[intakeLarge]byte)
		in.buf = in.large[:]
	case in.large != nil && in.filled <= len(in.small):
		intakes.Put(in.large)
		in.large, in.buf = nil, in.small
	}
	in.taken, in.filled = 0, 0
}

// filled tells the loop of n bytes behind those that it knows.
func (e *edge) filled(n int) {
	e.mu.Lock()
	e.in.filled += n
	e.events |= eventRead
	e.raise()
}

// consumed tells the reader that the loop is done with n bytes.
func (e *edge) consumed(n int) {
	e.mu.Lock()
	e.in.taken += n
	e.mu.Unlock()
	e.moved.Signal()
}
