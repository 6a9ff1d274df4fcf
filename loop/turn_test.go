package loop

import (
	"testing"
	"time"
)

func TestTurns(t *testing.T) {
	var turns Turns
	for _, d := range []time.Duration{0, 4095, 4096, time.Millisecond, time.Hour, -1} {
		turns.add(d)
	}
	want := Turns{Count: 6, Sum: time.Hour + time.Millisecond + 4095 + 4096 - 1, Max: time.Hour}
	want.Buckets[0], want.Buckets[1], want.Buckets[8], want.Buckets[turnBuckets-1] = 3, 1, 1, 1
	if turns != want {
		t.Errorf("got %+v, want %+v", turns, want)
	}
	if b := TurnBounds(); b[0] != 4096 || b[8] != 1<<20 || b[len(b)-1] != 1<<28 {
		t.Errorf("bounds %v", b)
	}
}

func TestTurnsDue(t *testing.T) {
	var turns Turns
	due := 0
	for range 160 {
		if turns.due(turnBytesMin - 1) {
			due++
		}
	}
	if due != 10 || !turns.due(turnBytesMin) {
		t.Errorf("%d of 160 small reads are measured", due)
	}
}
