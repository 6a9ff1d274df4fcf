//go:build linux

package bench

// ring is a cyclic sequence of frames that lie one after the other in memory.
type ring struct {
	bytes []byte
	ends  []uint32 // where each frame ends in bytes
	idx   int      // the frame that is next
}

// grow takes bytes that were extended by one frame.
func (r *ring) grow(bytes []byte) {
	r.bytes = bytes
	r.ends = append(r.ends, uint32(len(bytes)))
}

func (r *ring) len() int { return len(r.ends) }

// start is where frame i begins.
func (r *ring) start(i int) int {
	if i == 0 {
		return 0
	}
	return int(r.ends[i-1])
}

// frame returns frame i.
func (r *ring) frame(i int) []byte { return r.bytes[r.start(i):r.ends[i]] }

// step moves on by one frame.
func (r *ring) step() {
	if r.idx++; r.idx == len(r.ends) {
		r.idx = 0
	}
}

// take returns the next whole frames, at most frames of them and at most limit bytes but at least one
// frame, without wrapping around, and moves past them.
func (r *ring) take(frames, limit int) (chunk []byte, n int) {
	start := r.start(r.idx)
	last := min(r.idx+frames, len(r.ends))
	i := r.idx + 1
	for i < last && int(r.ends[i])-start <= limit {
		i++
	}
	chunk = r.bytes[start:r.ends[i-1]]
	n = i - r.idx
	if r.idx = i; r.idx == len(r.ends) {
		r.idx = 0
	}
	return chunk, n
}
