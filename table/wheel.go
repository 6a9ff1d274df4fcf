package table

import (
	"math/bits"
	"time"
)

// Wheel geometry: three levels of 64 buckets; a tick is 2^24 ns, so they span 1.07 s, 68.7 s and 73 min.
// Later timers wait in the farthest bucket and are placed again when it comes round.
const (
	tickShift  = 24
	levelBits  = 6
	levelSize  = 1 << levelBits
	levelMask  = levelSize - 1
	levels     = 3
	noBucket   = -1
	dueBucket  = levels * levelSize
	bucketsAll = dueBucket + 1
)

type timer struct {
	at         int64 // ns
	next, prev int32 // handle + 1, 0 for none
	bucket     int16
}

// Wheel is a hierarchical timer wheel over dense integer handles, one timer a handle. Add and Remove
// cost a few nanoseconds and allocate only when a handle is larger than any before.
//
// A timer is due when Advance is called with a time not before its own. Next may name a time up to one
// tick (16.8 ms) later than the earliest timer, never an earlier one that matters.
type Wheel struct {
	timers []timer
	heads  [bucketsAll]int32
	bits   [levels]uint64
	tick   int64 // the tick that level 0 stands at
	armed  int
}

// Len is the number of armed timers, due ones that were not popped included.
func (w *Wheel) Len() int { return w.armed }

// Add arms the timer of h for the given time, moving it if it was armed.
func (w *Wheel) Add(h int32, at time.Duration) {
	for int(h) >= len(w.timers) {
		w.timers = append(w.timers, timer{bucket: noBucket})
	}
	t := &w.timers[h]
	if t.bucket != noBucket {
		w.unlink(h)
	} else {
		w.armed++
	}
	t.at = int64(at)
	w.place(h)
}

// Armed reports whether the timer of h is armed.
func (w *Wheel) Armed(h int32) bool { return int(h) < len(w.timers) && w.timers[h].bucket != noBucket }

// Remove disarms the timer of h, if it is armed.
func (w *Wheel) Remove(h int32) {
	if !w.Armed(h) {
		return
	}
	w.unlink(h)
	w.timers[h].bucket = noBucket
	w.armed--
}

// Advance moves the wheel to now: every timer that is due by then can be popped.
func (w *Wheel) Advance(now time.Duration) {
	target := int64(now) >> tickShift
	for w.tick < target {
		w.expire(int(w.tick&levelMask), int64(now))
		w.tick = w.nextStop(target)
		if w.tick&levelMask == 0 {
			w.cascade()
		}
	}
	w.expire(int(w.tick&levelMask), int64(now))
}

// Pop returns a timer that is due and disarms it.
func (w *Wheel) Pop() (h int32, ok bool) {
	if w.heads[dueBucket] == 0 {
		return 0, false
	}
	h = w.heads[dueBucket] - 1
	w.Remove(h)
	return h, true
}

// Next returns when Advance should be called next, false when no timer is armed.
func (w *Wheel) Next() (time.Duration, bool) {
	if w.armed == 0 {
		return 0, false
	}
	if w.heads[dueBucket] != 0 {
		return 0, true
	}
	for level := range levels {
		if w.bits[level] == 0 {
			continue
		}
		shift := uint(level * levelBits)
		pos := w.tick >> shift
		ahead := int64(bits.TrailingZeros64(bits.RotateLeft64(w.bits[level], -int(pos&levelMask))))
		if level == 0 {
			ahead++ // the whole tick has passed
		}
		at := (pos + ahead) << shift
		if up, ok := w.nextAbove(level); ok && up < at {
			at = up
		}
		return time.Duration(at << tickShift), true
	}
	return 0, false
}

// nextAbove returns the tick at which a level above the given one cascades next.
func (w *Wheel) nextAbove(level int) (int64, bool) {
	best, found := int64(0), false
	for up := level + 1; up < levels; up++ {
		if w.bits[up] == 0 {
			continue
		}
		shift := uint(up * levelBits)
		pos := w.tick >> shift
		at := (pos + int64(bits.TrailingZeros64(bits.RotateLeft64(w.bits[up], -int(pos&levelMask))))) << shift
		if !found || at < best {
			best, found = at, true
		}
	}
	return best, found
}

// nextStop returns the next tick at which there is something to do, at most target.
func (w *Wheel) nextStop(target int64) int64 {
	step := int64(1)
	switch {
	case w.bits[0] != 0:
		ahead := w.bits[0] >> uint(w.tick&levelMask) >> 1
		step = levelSize - w.tick&levelMask
		if ahead != 0 {
			step = int64(bits.TrailingZeros64(ahead)) + 1
		}
	case w.bits[1] != 0:
		step = levelSize - w.tick&levelMask
	case w.bits[2] != 0:
		step = levelSize*levelSize - w.tick&(levelSize*levelSize-1)
	default:
		return target
	}
	return min(w.tick+step, target)
}

func (w *Wheel) cascade() {
	if w.tick&(levelSize*levelSize-1) == 0 {
		w.replace(2*levelSize + int(w.tick>>(2*levelBits)&levelMask))
	}
	w.replace(levelSize + int(w.tick>>levelBits&levelMask))
}

func (w *Wheel) replace(bucket int) {
	for w.heads[bucket] != 0 {
		h := w.heads[bucket] - 1
		w.unlink(h)
		w.place(h)
	}
}

// expire moves what is due from a level 0 bucket to the due list.
func (w *Wheel) expire(bucket int, now int64) {
	for next := w.heads[bucket]; next != 0; {
		h := next - 1
		next = w.timers[h].next
		if w.timers[h].at <= now {
			w.unlink(h)
			w.link(h, dueBucket)
		}
	}
}

func (w *Wheel) place(h int32) {
	tick := max(w.timers[h].at>>tickShift, w.tick)
	switch {
	case tick-w.tick < levelSize:
		w.link(h, int(tick&levelMask))
	case tick>>levelBits-w.tick>>levelBits < levelSize:
		w.link(h, levelSize+int(tick>>levelBits&levelMask))
	default:
		pos := min(tick>>(2*levelBits), w.tick>>(2*levelBits)+levelMask)
		w.link(h, 2*levelSize+int(pos&levelMask))
	}
}

func (w *Wheel) link(h int32, bucket int) {
	t := &w.timers[h]
	t.bucket, t.prev, t.next = int16(bucket), 0, w.heads[bucket]
	if t.next != 0 {
		w.timers[t.next-1].prev = h + 1
	}
	w.heads[bucket] = h + 1
	if bucket < dueBucket {
		w.bits[bucket>>levelBits] |= 1 << uint(bucket&levelMask)
	}
}

func (w *Wheel) unlink(h int32) {
	t := &w.timers[h]
	if t.next != 0 {
		w.timers[t.next-1].prev = t.prev
	}
	if t.prev != 0 {
		w.timers[t.prev-1].next = t.next
		return
	}
	bucket := int(t.bucket)
	w.heads[bucket] = t.next
	if t.next == 0 && bucket < dueBucket {
		w.bits[bucket>>levelBits] &^= 1 << uint(bucket&levelMask)
	}
}
