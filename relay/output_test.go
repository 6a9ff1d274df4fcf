package relay

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// An output gives out what was appended, in order and whole, however it is cut into buffers, taken,
// shrunk and truncated.
func TestOutputAgainstBuffer(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 4))
		var o output
		var model []byte
		line := byte('a')
		ended := true // the last byte taken ended a line
		for range 400 {
			switch n := r.IntN(10); {
			case n < 4: // a line
				size := []int{1, 10, 1000, 5000, 100_000, segmentBytes - 1, segmentBytes + 1}[min(r.IntN(40), 6)]
				if r.IntN(16) > 0 {
					size = 1 + r.IntN(300)
				}
				text := append(bytes.Repeat([]byte{line}, size), '\n')
				line = 'a' + (line-'a'+1)%26
				b := o.tail(len(text))
				b.B = append(b.B, text...)
				o.size += len(text)
				model = append(model, text...)
			case n < 8: // some of it is taken
				head := o.head()
				if len(head) == 0 {
					break
				}
				take := 1 + r.IntN(len(head))
				if r.IntN(2) == 0 {
					take = len(head)
				}
				if !bytes.Equal(head[:take], model[:take]) {
					t.Fatalf("seed %d: %.40q is next, want %.40q", seed, head, model)
				}
				ended = head[take-1] == '\n'
				o.blocked = take < len(head)
				o.take(take)
				model = model[take:]
				if len(o.segments) > 0 {
					o.shrink()
				}
			case n == 8:
				o.blocked = !o.blocked
			default: // everything behind the line that is being written is dropped
				if r.IntN(10) > 0 {
					break
				}
				keep := 0
				if !ended {
					keep = bytes.IndexByte(model, '\n') + 1
				}
				if dropped := o.truncate(); dropped != len(model)-keep {
					t.Fatalf("seed %d: %d bytes dropped, want %d", seed, dropped, len(model)-keep)
				}
				model = model[:keep]
			}
			got := 0
			for i, b := range o.segments {
				if len(b.B) == 0 {
					t.Fatalf("seed %d: buffer %d is empty", seed, i)
				}
				got += len(b.B)
			}
			if o.size != len(model) || got-o.off != len(model) || len(o.head()) == 0 != (len(model) == 0) {
				t.Fatalf("seed %d: %d bytes, %d in buffers, want %d", seed, o.size, got-o.off, len(model))
			}
		}
		var rest []byte
		for len(o.head()) > 0 {
			rest = append(rest, o.head()...)
			o.take(len(o.head()))
		}
		if !bytes.Equal(rest, model) || o.size != 0 {
			t.Fatalf("seed %d: %d bytes are left, want %d", seed, len(rest), len(model))
		}
		o.reset()
	}
}
