package codec

import (
	"testing"
	"unicode/utf8"
)

// edges holds a byte from both ends of every range that UTF-8 distinguishes.
var edges = []byte("\x00\"\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5\xf7\xf8\xff")

// TestValidText tries every combination of four edges at places around the ends of blocks.
func TestValidText(t *testing.T) {
	for _, size := range []int{35, 66, 101, 133} {
		text := make([]byte, size)
		for _, at := range []int{0, 1, 3, 29, 32, 33, 34, 61, 62, 63, size - 4} {
			if at+4 > size {
				continue
			}
			for i := range text {
				text[i] = 'a'
			}
			if size == 101 && at > 1 { // not ASCII from the start
				copy(text, "é")
			}
			for n := range len(edges) * len(edges) * len(edges) * len(edges) {
				if n%7 != at%7 {
					continue // a seventh each, all of them together
				}
				for k, rest := at, n; k < at+4; k++ {
					text[k] = edges[rest%len(edges)]
					rest /= len(edges)
				}
				if got, want := validText(text), utf8.Valid(text); got != want {
					t.Fatalf("%q: got %v", text, got)
				}
			}
		}
	}
}

func TestValidTextRunes(t *testing.T) {
	text := make([]byte, 0, 100)
	for r := range rune(utf8.MaxRune + 1) {
		if r%97 > 2 && r > 0x1000 {
			continue
		}
		text = append(text[:0], "0123456789012345678901234567890123456789"[:33+r%5]...)
		text = utf8.AppendRune(text, r) // U+FFFD for surrogates
		text = append(text, "0123456789012345678901234567890123456789"...)
		if !validText(text) {
			t.Fatalf("refused %U", r)
		}
	}
}
