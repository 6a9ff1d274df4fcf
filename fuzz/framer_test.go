package fuzz

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ahprelay/ahprelay/codec"
)

// outcome is all that a Framer says about a stream.
type outcome struct {
	lines   []string
	tooLong bool
}

// frame cuts stream at the sorted offsets and feeds the pieces to a Framer, each in memory of its own
// that is overwritten afterwards.
func frame(t *testing.T, stream []byte, cuts []int, limit int) (o outcome) {
	var f codec.Framer
	start := 0
	for _, end := range append(cuts, len(stream)) {
		piece := bytes.Clone(stream[start:end])
		start = end
		for rest := piece; ; {
			line, next, s := f.Next(rest, limit)
			if f.Held() > max(512, 2*(limit+4)) || f.Pending() > limit+4 {
				t.Fatalf("holds %d, pending %d, limit %d", f.Held(), f.Pending(), limit)
			}
			if s == codec.FrameTooLong {
				o.tooLong = true
				return o
			}
			if s == codec.FrameMore {
				break
			}
			o.lines = append(o.lines, string(line))
			rest = next
		}
		for i := range piece {
			piece[i] = '!'
		}
	}
	return o
}

// split is the contract in the plainest words. It judges a last line without LF as a Framer must.
func split(stream []byte, limit int) (o outcome) {
	lines := bytes.Split(stream, []byte("\n"))
	for i, line := range lines {
		complete := i < len(lines)-1
		if i == 0 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
			if !complete && len(line) < 3 && bytes.HasPrefix([]byte("\ufeff"), line) {
				line = nil
			}
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) > limit {
			o.tooLong = true
			return o
		}
		if complete && len(line) > 0 {
			o.lines = append(o.lines, string(line))
		}
	}
	return o
}

func FuzzFramer(f *testing.F) {
	f.Add([]byte("a\r\n\r\n\nbc\rd\nxyz"), uint16(3), uint64(1))
	f.Add([]byte("\xef\xbb\xbf{}\n\xef\xbb\xbf{}\n"), uint16(5), uint64(2))
	f.Add([]byte("\xef\xbb\xbf\r\nabcd\r"), uint16(3), uint64(3))
	f.Add(append(bytes.Repeat([]byte("0123456789"), 300), "\n1\n2"...), uint16(4000), uint64(4))
	f.Fuzz(func(t *testing.T, stream []byte, limit16 uint16, seed uint64) {
		limit := 3 + int(limit16)
		want := split(stream, limit)
		single := make([]int, len(stream))
		for i := range single {
			single[i] = i
		}
		random := rand.New(rand.NewPCG(seed, 0))
		some := make([]int, random.IntN(8))
		for i := range some {
			some[i] = random.IntN(len(stream) + 1)
		}
		slices.Sort(some)
		for _, cuts := range [][]int{nil, single, some} {
			got := frame(t, stream, cuts, limit)
			if got.tooLong != want.tooLong || !slices.Equal(got.lines, want.lines) {
				t.Fatalf("cut at %v: %q %v, want %q %v", cuts, got.lines, got.tooLong, want.lines, want.tooLong)
			}
		}
	})
}
