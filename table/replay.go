package table

// Action is one catalogue change as it went out.
type Action struct {
	Seq    uint64
	Line   []byte  // encoded, with its LF; immutable
	Rights []uint8 // who may see it: the rights row, by principal
	Moved  []uint8 // for whom it brings into sight a service that is older than others, by principal; nil: nobody
	Owner  string  // the clientId of the service's owner, who sees it in any case
}

// Replay is a ring of the latest actions, bounded in count and bytes.
type Replay struct {
	Bytes int // of Line of all actions

	ring       []Action
	start, len int
	max        int
	bytesMax   int
	floor      uint64 // every action with a greater number is in the ring
}

// NewReplay returns an empty buffer that covers what comes after seq.
func NewReplay(max, bytesMax int, seq uint64) *Replay {
	return &Replay{max: max, bytesMax: bytesMax, floor: seq}
}

// Add appends an action, dropping the oldest as needed.
func (r *Replay) Add(a Action) {
	if len(a.Line) > r.bytesMax || r.max == 0 {
		r.drop(r.len)
		r.floor = a.Seq
		return
	}
	for r.len > 0 && (r.len >= r.max || r.Bytes+len(a.Line) > r.bytesMax) {
		r.drop(1)
	}
	if r.len == len(r.ring) {
		grown := make([]Action, min(r.max, max(16, 2*len(r.ring))))
		for i := range r.len {
			grown[i] = *r.at(i)
		}
		r.ring, r.start = grown, 0
	}
	r.len++
	*r.at(r.len - 1) = a
	r.Bytes += len(a.Line)
}

// Limit changes how many bytes the buffer may hold, dropping the oldest actions as needed.
func (r *Replay) Limit(bytesMax int) {
	r.bytesMax = bytesMax
	for r.Bytes > bytesMax {
		r.drop(1)
	}
}

// After returns how many of the latest actions have a number greater than seq, and whether the buffer
// covers all of them.
func (r *Replay) After(seq uint64) (count int, ok bool) {
	if seq < r.floor {
		return 0, false
	}
	low, high := 0, r.len
	for low < high {
		mid := (low + high) / 2
		if r.at(mid).Seq > seq {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return r.len - low, true
}

// Latest returns the action that count actions back from the end stands at: Latest(1) is the newest.
func (r *Replay) Latest(count int) *Action { return r.at(r.len - count) }

// Len is the number of actions held.
func (r *Replay) Len() int { return r.len }

func (r *Replay) at(i int) *Action {
	i += r.start
	if i >= len(r.ring) {
		i -= len(r.ring)
	}
	return &r.ring[i]
}

func (r *Replay) drop(n int) {
	for range n {
		a := r.at(0)
		r.floor = a.Seq
		r.Bytes -= len(a.Line)
		*a = Action{}
		r.len--
		if r.start++; r.start == len(r.ring) {
			r.start = 0
		}
	}
}

// Each calls f for every action held, which may change its rights.
func (r *Replay) Each(f func(*Action)) {
	for i := range r.len {
		f(r.at(i))
	}
}
