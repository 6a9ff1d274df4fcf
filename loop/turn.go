package loop

import (
	"math/bits"
	"time"
)

const (
	turnBuckets  = 18
	turnShiftMin = 12 // the first bucket holds turns below 2^12 ns

	turnBytesMin   = 2 << 10 // reads of less are measured once in turnEvery
	turnEvery      = 16
	turnFlushBytes = 128 // what writing to one connection counts as
)

// TurnBounds returns the upper bounds of Turns.Buckets, the last one aside, which has none.
func TurnBounds() [turnBuckets - 1]time.Duration {
	var bounds [turnBuckets - 1]time.Duration
	for i := range bounds {
		bounds[i] = 1 << (turnShiftMin + i)
	}
	return bounds
}

// Turns says for how long at a time the loop was busy with one piece of work: what one read brought, a
// flush, a tick, a closing. Until it is done nothing else happens. Reading the clock costs as much as a
// small message, so of small reads and flushes only one in 16 is measured, unless the
// connection's output is stuck afterwards.
type Turns struct {
	small    uint8
	Count    uint64
	Sum, Max time.Duration
	Buckets  [turnBuckets]uint64 // Buckets[i] counts turns below TurnBounds()[i] and not below the one before
}

func (t *Turns) add(d time.Duration) {
	t.Count++
	t.Sum += d
	t.Max = max(t.Max, d)
	t.Buckets[min(bits.Len64(uint64(max(d, 0))>>turnShiftMin), turnBuckets-1)]++
}

// due reports whether a turn that has so many bytes to deal with is to be measured.
func (t *Turns) due(bytes int) bool {
	t.small++
	return bytes >= turnBytesMin || t.small%turnEvery == 0
}

// startIf reads the clock if that is wanted.
func (r *reactor) startIf(measured bool) time.Duration {
	if !measured {
		return 0
	}
	return time.Since(r.start)
}

// endIf ends a turn that began at start, if it is measured.
func (r *reactor) endIf(measured bool, start time.Duration) {
	if measured {
		r.turns.add(time.Since(r.start) - start)
	}
}

// Turns returns how long the turns so far took. It must be called from within Inspect.
func (s *Server) Turns() Turns { return s.reactor.turns }
