//go:build linux

package bench

import (
	"bytes"
	"fmt"
)

// responder is the owner of a service that is called: it checks each request against the one due and
// answers it. Answers to what one read brought go out in one write.
type responder struct {
	name     string
	engine   *engine
	dialect  Dialect
	tx       *socket
	handle   [][][]byte // what arrives for each place of the caller's ring, in pieces
	reply    [][][]byte // what goes back, in pieces
	idx      int
	tail     []byte
	out      []byte
	receipts bool
}

func (r *responder) accept(buf []byte) error {
	if len(r.tail) > 0 {
		r.tail = append(r.tail, buf...)
		buf = r.tail
	}
	r.out = append(r.out[:0], r.tx.out...) // what the kernel did not take yet stays in front
	for len(buf) > 0 {
		number, n := match(buf, r.handle[r.idx])
		if n > 0 {
			r.answer(number)
			buf = buf[n:]
			continue
		}
		if n == 0 {
			break
		}
		n, _, err := r.dialect.Control(buf)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		if n < 0 {
			return fmt.Errorf("%s: request %d of the ring is not the one due: got %s, want %s", r.name, r.idx, quote(buf), quote(bytes.Join(r.handle[r.idx], []byte("…"))))
		}
		if n == 0 {
			break
		}
		buf = buf[n:]
	}
	r.tail = append(r.tail[:0], buf...)
	r.tx.out = r.out
	return r.tx.flush()
}

func (r *responder) answer(number []byte) {
	for i, piece := range r.reply[r.idx] {
		if i > 0 {
			r.out = append(r.out, number...)
		}
		r.out = append(r.out, piece...)
	}
	if r.receipts {
		r.engine.receipts++
	}
	if r.idx++; r.idx == len(r.handle) {
		r.idx = 0
	}
}

// match compares buf with pieces between which decimal numbers stand. It returns the first number and
// the length of the whole; 0 when buf is too short to tell, -1 when it differs.
func match(buf []byte, pieces [][]byte) (number []byte, n int) {
	for i, piece := range pieces {
		if i > 0 {
			digits := n
			for n < len(buf) && buf[n] >= '0' && buf[n] <= '9' {
				n++
			}
			if n == len(buf) {
				return nil, 0
			}
			if n == digits {
				return nil, -1
			}
			if i == 1 {
				number = buf[digits:n]
			}
		}
		have := min(len(piece), len(buf)-n)
		if !bytes.Equal(buf[n:n+have], piece[:have]) {
			return nil, -1
		}
		if have < len(piece) {
			return nil, 0
		}
		n += have
	}
	return number, n
}
