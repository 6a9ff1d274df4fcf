//go:build linux

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

func TestRingTakesWholeFrames(t *testing.T) {
	var r ring
	for _, frame := range []string{"a", "bb", "ccc", "dddd"} {
		r.grow(append(r.bytes, frame...))
	}
	for _, c := range []struct {
		frames, limit int
		want          string
	}{
		{10, 3, "abb"}, {10, 3, "ccc"}, {10, 1, "dddd"}, // a frame over the limit goes alone
		{1, 100, "a"}, {2, 100, "bbccc"}, {2, 100, "dddd"}, // never around the end
		{10, 100, "abbcccdddd"}, {1, 0, "a"},
	} {
		chunk, n := r.take(c.frames, c.limit)
		if string(chunk) != c.want || n < 1 {
			t.Errorf("take(%d, %d) = %q, %d frames, want %q", c.frames, c.limit, chunk, n, c.want)
		}
	}
}

func TestBodies(t *testing.T) {
	for _, kind := range []Kind{Dense, String} {
		for _, size := range []int{16, 17, 40, 64, 128, 1024, 16384} {
			bodies := makeBodies(kind, size, 20)
			seen := map[string]bool{}
			for i, b := range bodies {
				stamp(b, 12, i)
				if len(b) != size || !json.Valid(b) {
					t.Fatalf("%s %d: %d bytes, valid %v: %.80s", kind, size, len(b), json.Valid(b), b)
				}
				if want := fmt.Sprintf(`{"n":10012%05d`, i); !bytes.HasPrefix(b, []byte(want)) {
					t.Fatalf("%s %d: begins %.20s, want %s", kind, size, b, want)
				}
				seen[string(b)] = true
			}
			if len(seen) != len(bodies) {
				t.Errorf("%s %d: %d distinct bodies of %d", kind, size, len(seen), len(bodies))
			}
			if again := makeBodies(kind, size, 20); size > 40 && !bytes.Equal(again[7][20:], bodies[7][20:]) {
				t.Errorf("%s %d: another run has other bodies", kind, size)
			}
		}
	}
}

// A dense body is what its name says: a token for every few bytes.
func TestDenseBodiesAreDense(t *testing.T) {
	body := makeBodies(Dense, 16<<10, 1)[0]
	tokens := 0
	for d := json.NewDecoder(bytes.NewReader(body)); ; tokens++ {
		if _, err := d.Token(); err != nil {
			break
		}
	}
	if per := len(body) / tokens; per > 8 {
		t.Errorf("a token every %d bytes", per)
	}
}

func TestEveryScenarioHasFrames(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Scenarios(1) {
		if seen[s.Name] || s.Title == "" || s.Group == "" {
			t.Errorf("scenario %q: twice, or without title or group", s.Name)
		}
		seen[s.Name] = true
		if s.Size > 0 && (s.places() < 1 || s.places() > placeMax || s.Senders > senderMax) {
			t.Errorf("scenario %q: %d places of %d senders", s.Name, s.places(), s.Senders)
		}
		if s.Outstanding > 0 && s.Outstanding >= s.places() {
			t.Errorf("scenario %q: %d calls out of %d places: ids would meet themselves", s.Name, s.Outstanding, s.places())
		}
	}
	if _, err := choose([]string{"no such"}, 1); err == nil {
		t.Error("an unknown scenario was accepted")
	}
	some, err := choose([]string{"request-1", "notify-16"}, 1)
	if err != nil || len(some) != 2 || some[0].Name != "notify-16" {
		t.Errorf("choose returned %v, %v", some, err)
	}
}
