package table

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func pop(w *Wheel, now time.Duration) []int32 {
	w.Advance(now)
	var out []int32
	for {
		h, ok := w.Pop()
		if !ok {
			slices.Sort(out)
			return out
		}
		out = append(out, h)
	}
}

func TestWheelFiresExactly(t *testing.T) {
	var w Wheel
	w.Add(1, 30*time.Second)
	w.Add(2, 30*time.Second+1)
	w.Add(3, 24*time.Hour)
	if got := pop(&w, 30*time.Second-1); got != nil {
		t.Fatalf("early: %v", got)
	}
	if got := pop(&w, 30*time.Second); !slices.Equal(got, []int32{1}) {
		t.Fatalf("at 30s: %v", got)
	}
	if got := pop(&w, 31*time.Second); !slices.Equal(got, []int32{2}) {
		t.Fatalf("at 31s: %v", got)
	}
	if got := pop(&w, 25*time.Hour); !slices.Equal(got, []int32{3}) {
		t.Fatalf("at 25h: %v", got)
	}
	if _, ok := w.Next(); ok || w.Len() != 0 {
		t.Fatal("not empty")
	}
}

// A naive model: a map of deadlines. Random adds, moves, removes and jumps in time agree with it, and
// following Next never misses a timer by more than a tick.
func TestWheelAgainstModel(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		var w Wheel
		model := map[int32]time.Duration{}
		now := time.Duration(0)
		for range 2000 {
			h := int32(r.IntN(200))
			switch r.IntN(4) {
			case 0, 1:
				at := now + time.Duration(r.Int64N(int64(time.Millisecond)<<uint(r.IntN(24))))
				w.Add(h, at)
				model[h] = at
			case 2:
				w.Remove(h)
				delete(model, h)
			case 3:
				if r.IntN(2) == 0 {
					now += time.Duration(r.Int64N(int64(time.Millisecond) << uint(r.IntN(22))))
				} else if next, ok := w.Next(); ok {
					earliest := time.Duration(1 << 62)
					for _, at := range model {
						earliest = min(earliest, at)
					}
					if next > earliest+1<<tickShift && next > now {
						t.Fatalf("seed %d: Next %v, earliest %v", seed, next, earliest)
					}
					now = max(now, next)
				}
				var want []int32
				for h, at := range model {
					if at <= now {
						want = append(want, h)
						delete(model, h)
					}
				}
				slices.Sort(want)
				if got := pop(&w, now); !slices.Equal(got, want) {
					t.Fatalf("seed %d at %v: got %v want %v", seed, now, got, want)
				}
			}
			if w.Len() != len(model) {
				t.Fatalf("seed %d: Len %d, model %d", seed, w.Len(), len(model))
			}
		}
	}
}

func TestWheelAllocatesNothing(t *testing.T) {
	var w Wheel
	w.Add(100, time.Second)
	now := time.Duration(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += time.Millisecond
		w.Add(7, now+time.Minute)
		w.Advance(now)
		w.Remove(7)
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func BenchmarkWheelAddRemove(b *testing.B) {
	var w Wheel
	for b.Loop() {
		w.Add(7, 30*time.Second)
		w.Remove(7)
	}
}
