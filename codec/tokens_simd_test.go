//go:build goexperiment.simd && amd64

package codec

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// accept calls scanTokens for the container at text[at], in blocks that end where the text does. end is -1 when it
// does not accept.
func accept(text []byte, at, limit int) (end int, high bool) {
	blocks := (len(text) - at - 1 + blockBytes - 1) / blockBytes
	start := len(text) - blocks*blockBytes
	end, high = scanTokens(tokens, (*[blockBytes]uint8)(text[start:]), blocks, ^uint64(0)<<(at+1-start), uint64(text[at])>>5&1, limit)
	if end == 0 {
		return -1, false
	}
	return start + end, high
}

// TestTokensAccept sees to it that usual documents need no second look.
func TestTokensAccept(t *testing.T) {
	if !hasTokens {
		t.Skip("this processor has no AVX-512 with VBMI2")
	}
	r := rand.New(rand.NewPCG(9, 9))
	pretty := strings.NewReplacer(":", ": ", ",", ",\r\n\t", "{", "{\n  ")
	for range 3000 {
		for _, payload := range payloads {
			body := string(payload.make(r, 40+r.IntN(6000)))
			for _, text := range []string{
				body,
				pretty.Replace(body),
				`[` + string(escapedBody(r, 300)) + `,-0.5e+17,1E9,[],{},` + body + `]`,
			} {
				before, behind := strings.Repeat("~", 100), strings.Repeat("}", r.IntN(90))
				end, high := accept([]byte(before+text+behind), 100, 63)
				if end != 100+len(text) {
					t.Fatalf("%s: end %d of %d: %q", payload.name, end-100, len(text), text)
				}
				if ascii := skipASCIIWords([]byte(text), 0) == len(text); ascii == high {
					t.Fatalf("%s: high %v: %q", payload.name, high, text)
				}
			}
		}
	}
}

// TestTokensInARow tries every short sequence of the bytes that numbers and literals are made of, and every
// short sequence of tokens, inside one block and across the border of two. What is accepted is valid, and what
// is valid is accepted, but for a zero that begins an exponent with a minus.
func TestTokensInARow(t *testing.T) {
	if !hasTokens {
		t.Skip("this processor has no AVX-512 with VBMI2")
	}
	bytes := append(strings.Split("0 1 . - + e E t r u f a l s n", " "), " ")
	words := []string{" ", "true", "false", "null", "1", "0", "-", ".", "e", "E", "+", "5", "l", "rue", "alse"}
	symbols := []string{"0", `"a"`, ",", ":", "[", "{", "]", "}"}
	const at = 80
	valid := 0
	for _, c := range []struct {
		open   string
		pieces []string
		length int
		shut   string
	}{
		{"[", bytes, 5, "]"},
		{"[", words, 4, "]"},
		{`{"a":`, words, 4, "}"},
		{"[", symbols, 6, "]}}"},
		{"{", symbols, 6, "}]]"},
		{`[{"a":[`, symbols, 5, "]}]"},
	} {
		sequences := 1
		for range c.length {
			sequences *= len(c.pieces)
		}
		text := []byte(strings.Repeat("~", at) + c.open)
		start := len(text)
		for border := range 4 { // how many bytes of the sequence are in the block before, none of the container for 0
			for sequence := range sequences {
				text = text[:start]
				for range c.length {
					text = append(text, c.pieces[sequence%len(c.pieces)]...)
					sequence /= len(c.pieces)
				}
				end := len(text)
				text = append(text, c.shut...)
				for border > 0 && (len(text)-start-border)%blockBytes != 0 {
					text = append(text, '}')
				}
				want := walked(text, at, 128)
				got, _ := accept(text, at, 63)
				if got != want && (got >= 0 || !strings.Contains(string(text[start:end]), "-0")) {
					t.Fatalf("end %d, want %d: %q", got, want, text[at:])
				}
				if want >= 0 {
					valid++
				}
			}
		}
	}
	if valid < 10000 {
		t.Errorf("%d valid ones show nothing", valid)
	}
}
