//go:build linux

package bench

import (
	"bytes"
	"fmt"
)

// receiver checks everything that arrives at one connection against its lanes.
type receiver struct {
	name    string
	engine  *engine
	sock    *socket
	dialect Dialect
	lanes   []*lane
	cur     int    // the lane that spoke last: batches make it the likeliest to speak next
	tail    []byte // the beginning of a frame whose lane is not known yet
	lossy   bool   // the server may drop messages if it says how many
}

func (r *receiver) accept(buf []byte) error {
	if len(r.tail) > 0 {
		r.tail = append(r.tail, buf...)
		buf = r.tail
	}
	var rest []byte
	var err error
	if len(r.lanes) == 1 {
		rest, err = r.acceptOne(buf)
	} else {
		rest, err = r.acceptMany(buf)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	r.tail = append(r.tail[:0], rest...)
	return nil
}

// acceptOne compares with the only lane, many frames at a time. It returns what has to wait for more.
func (r *receiver) acceptOne(buf []byte) (rest []byte, err error) {
	l := r.lanes[0]
	for len(buf) > 0 {
		want := l.bytes[l.pos:]
		n := min(len(buf), len(want))
		if bytes.Equal(buf[:n], want[:n]) {
			l.advance(n, r.engine.deliver)
			buf = buf[n:]
			continue
		}
		same := commonLen(buf, want)
		l.advance(same, r.engine.deliver)
		// Back to where the frame began: its first bytes equal those due, wherever they were read.
		begin := l.start(l.idx)
		buf = append(append([]byte(nil), l.bytes[begin:l.pos]...), buf[same:]...)
		l.pos = begin
		if n, err = r.control(l, buf); n == 0 || err != nil {
			return buf, err
		}
		buf = buf[n:]
	}
	return nil, nil
}

// acceptMany finds the lane of each frame: the one that spoke last, or the first whose frame it is.
func (r *receiver) acceptMany(buf []byte) (rest []byte, err error) {
	for len(buf) > 0 {
		l := r.lanes[r.cur]
		if want := l.due(); bytes.HasPrefix(buf, want) {
			l.advance(len(want), r.engine.deliver)
			buf = buf[len(want):]
			continue
		}
		found, more := r.find(buf)
		if found >= 0 {
			r.cur = found
			continue
		}
		if more {
			return buf, nil
		}
		n, err := r.control(l, buf)
		if n == 0 || err != nil {
			return buf, err
		}
		buf = buf[n:]
	}
	return nil, nil
}

// find returns the lane whose due frame begins buf, or -1; more says that buf is too short to tell.
func (r *receiver) find(buf []byte) (lane int, more bool) {
	for i, l := range r.lanes {
		want := l.due()
		if bytes.HasPrefix(buf, want) {
			return i, false
		}
		more = more || bytes.HasPrefix(want, buf)
	}
	return -1, more
}

// control passes over what the server says for itself. It returns 0 when more bytes are needed.
func (r *receiver) control(l *lane, buf []byte) (int, error) {
	n, skip, err := r.dialect.Control(buf)
	if err != nil {
		return 0, err
	}
	if n < 0 {
		return 0, r.complain(buf)
	}
	if skip > 0 {
		if !r.lossy {
			return 0, fmt.Errorf("the server dropped %d messages", skip)
		}
		l.skip(skip)
		r.engine.drop(skip)
	}
	return n, nil
}

// complain says what is wrong with got, which no lane has due.
func (r *receiver) complain(got []byte) error {
	nearest, best := r.lanes[0], -1
	for _, l := range r.lanes {
		for i := range l.len() {
			if bytes.HasPrefix(got, l.frame(i)) {
				return fmt.Errorf("message %d: number %d of the ring came where %d was due: lost, repeated or out of order", l.frames, i, l.idx)
			}
		}
		if same := commonLen(got, l.due()); same > best {
			nearest, best = l, same
		}
	}
	from := max(0, best-32)
	return fmt.Errorf("message %d differs from what is due at byte %d: got %s, want %s",
		nearest.frames, best, quote(got[from:]), quote(nearest.due()[from:]))
}
