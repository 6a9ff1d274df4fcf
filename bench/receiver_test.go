//go:build linux

package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// twoLanes is a receiver of two senders, with frames of different length that begin alike.
func twoLanes() *receiver {
	e := &engine{}
	r := &receiver{name: "r", engine: e, dialect: AHP{}, lossy: true}
	for i := range 2 {
		l := &lane{from: &sender{engine: e}}
		for j := range 5 {
			frame := fmt.Sprintf(`{"jsonrpc":"2.0","method":"clientService/notification","from":%d,"n":%s}`+"\n", i, strings.Repeat("7", j+1))
			l.grow(append(l.bytes, frame...))
			l.places = append(l.places, uint32(j))
		}
		r.lanes = append(r.lanes, l)
	}
	return r
}

func dropped(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"x-relay/dropped","params":{"channel":"ahp-client-services://","serviceId":"s","count":%d}}`+"\n", n)
}

// feed hands text to r in pieces of random size, each in memory that is overwritten afterwards.
func feed(r *receiver, rng *rand.Rand, text []byte) error {
	for len(text) > 0 {
		n := min(1+rng.IntN(40), len(text))
		piece := bytes.Clone(text[:n])
		if err := r.accept(piece); err != nil {
			return err
		}
		for i := range piece {
			piece[i] = '#'
		}
		text = text[n:]
	}
	return nil
}

func TestReceiverFollowsLanesThroughAnyPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		r := twoLanes()
		if round%2 == 0 {
			r.lanes = r.lanes[:1]
		}
		var text []byte
		var next [2]int
		var sent, lost [2]uint64
		last := 0
		for range 60 {
			if rng.IntN(10) == 0 {
				// Dropped messages belong to the lane that spoke last.
				n := 1 + rng.IntN(7)
				text = append(text, dropped(n)...)
				next[last] += n
				lost[last] += uint64(n)
			} else {
				last = rng.IntN(len(r.lanes))
			}
			l := r.lanes[last]
			text = append(text, l.frame(next[last]%l.len())...)
			next[last]++
			sent[last]++
		}
		if err := feed(r, rng, text); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for i, l := range r.lanes {
			if l.frames != sent[i] || l.dropped != lost[i] {
				t.Fatalf("round %d, lane %d: %d messages and %d dropped, want %d and %d", round, i, l.frames, l.dropped, sent[i], lost[i])
			}
		}
		if len(r.tail) > 0 {
			t.Fatalf("round %d: %q is left", round, r.tail)
		}
	}
}

// Any single byte altered is an error, at the latest when the next message is due.
func TestReceiverSeesEveryAlteredByte(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for lanes := 1; lanes <= 2; lanes++ {
		r := twoLanes()
		text := slicesOf(r.lanes[:lanes])
		for at := range text {
			r := twoLanes()
			r.lanes = r.lanes[:lanes]
			bad := bytes.Clone(text)
			bad[at] ^= 4
			err := feed(r, rng, bad)
			if err == nil && len(r.tail) == 0 {
				t.Fatalf("%d lanes: byte %d altered, nobody noticed", lanes, at)
			}
		}
	}
}

func slicesOf(lanes []*lane) (text []byte) {
	for range 2 {
		for _, l := range lanes {
			text = append(text, l.bytes...)
		}
	}
	return text
}

func TestReceiverRefusesDropsWhereNoneAreAllowed(t *testing.T) {
	r := twoLanes()
	r.lossy = false
	if err := r.accept([]byte(dropped(3))); err == nil || err.Error() != "r: the server dropped 3 messages" {
		t.Errorf("got %v", err)
	}
}

func TestMatch(t *testing.T) {
	pieces := [][]byte{[]byte(`{"id":`), []byte(`,"left":`), []byte("}\n")}
	for _, c := range []struct {
		buf, number string
		n           int
	}{
		{"{\"id\":12,\"left\":300}\nrest", "12", 21},
		{"{\"id\":12,\"left\":300}", "12", 0},
		{"{\"id\":12,\"left\":300", "12", 0},
		{"{\"id\":12", "", 0},
		{"{\"i", "", 0},
		{"", "", 0},
		{"{\"id\":,\"left\":300}\n", "", -1},
		{"{\"id\":x", "", -1},
		{"{\"id\":12,\"gone\":300}\n", "", -1},
		{"{\"id\":12,\"left\":300]\n", "", -1},
		{"[", "", -1},
	} {
		number, n := match([]byte(c.buf), pieces)
		if n != c.n || n > 0 && string(number) != c.number {
			t.Errorf("match(%q) = %q, %d, want %q, %d", c.buf, number, n, c.number, c.n)
		}
	}
}
