//go:build goexperiment.simd && amd64

package codec

import (
	"flag"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// walked gives skipValue's answer without blocks.
func walked(b []byte, i, depth int) int {
	before := denseBytesMin
	denseBytesMin = math.MaxInt
	defer func() { denseBytesMin = before }()
	return skipValue(b, i, depth)
}

// agree compares the ways for the container at text[at]: one by one, in blocks with AVX2 and with AVX-512, and as
// tokens.
func agree(t *testing.T, text string, at, depth int) {
	t.Helper()
	want := walked([]byte(text), at, depth)
	got, high := skipDense([]byte(text), at, depth)
	if got != want {
		t.Fatalf("depth %d, from %d: in blocks %d, one by one %d: %q", depth, at, got, want, text)
	}
	defer func(wide, tokens bool) { hasWide, hasTokens = wide, tokens }(hasWide, hasTokens)
	hasTokens = false
	wide, wideHigh := skipDense([]byte(text), at, depth)
	hasWide = false
	narrow, narrowHigh := skipDense([]byte(text), at, depth)
	if narrow != got || wide != got || wideHigh != narrowHigh || wideHigh && !high {
		t.Fatalf("depth %d, from %d: AVX2 %d %v, AVX-512 %d %v, tokens %d %v: %q", depth, at, narrow, narrowHigh, wide, wideHigh, got, high, text)
	}
	if want >= 0 && !utf8.ValidString(text[at:want]) {
		if want = -1; !high {
			t.Fatalf("not ASCII: %q", text)
		}
	}
	if got := SkipValue([]byte(text), at, depth); got != want {
		t.Fatalf("depth %d, from %d: SkipValue says %d, want %d: %q", depth, at, got, want, text)
	}
}

// TestDenseLists judges every line of the grammar's lists inside an array, at every place relative to the end
// of the text, from which blocks are counted, and with more behind the array.
func TestDenseLists(t *testing.T) {
	for _, lists := range []map[string][]string{accepted, refused} {
		for _, lines := range lists {
			for _, line := range lines {
				for pad := range 66 {
					agree(t, "["+line+strings.Repeat(" ", pad)+"]", 0, 128)
					agree(t, `{"a":`+line+`,"`+strings.Repeat("p", pad)+`":`+line+"}}", 0, 128)
					agree(t, `[[`+strings.Repeat("1,", pad)+line+`],{"x" : `+line+" } ]"+strings.Repeat(`,1]"x`, pad/2), 0, 128)
				}
			}
		}
	}
}

func TestDenseDepth(t *testing.T) {
	for _, levels := range []int{1, 2, 63, 64, 65, 127, 128, 129, 192, 193, 300} {
		for _, text := range []string{
			strings.Repeat("[", levels) + strings.Repeat("]", levels),
			strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels),
			strings.Repeat(`[{"a":`, levels) + "1" + strings.Repeat("}]", levels),
			strings.Repeat("[", levels) + strings.Repeat("]", levels-1) + "}",
			strings.Repeat("[", levels) + "{}" + strings.Repeat(",[]]", levels),
		} {
			for depth := levels - 1; depth <= levels+2; depth++ {
				agree(t, text, 0, depth)
			}
		}
	}
}

// mutants is how many documents TestDenseMutants damages.
var mutants = flag.Int("mutants", 30000, "how many damaged documents the ways to judge one are compared on")

// TestDenseMutants damages dense documents in one or two places.
func TestDenseMutants(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const damage = "\"\"\\{}[],:  \t\x00\x1f0123459-+.eEtfnrulasx\xff\xe9"
	refusals := 0
	for range *mutants {
		text := payloads[r.IntN(4)].make(r, 40+r.IntN(400))
		if r.IntN(2) == 0 {
			text = append([]byte("["), append(append(escapedBody(r, r.IntN(200)), ','), append(text, ']')...)...)
		}
		if r.IntN(3) == 0 {
			text = []byte(strings.NewReplacer(":", " :\t", ",", ",\r  ", "]", "   ]", "0", "1.50e-7").Replace(string(text)))
		}
		for range r.IntN(3) {
			c := damage[r.IntN(len(damage))]
			switch i := r.IntN(len(text)); r.IntN(3) {
			case 0:
				text[i] = c
			case 1:
				text = append(text[:i:i], text[i+1:]...)
			default:
				text = append(text[:i:i], append([]byte{c}, text[i:]...)...)
			}
		}
		if text[0] != '{' && text[0] != '[' {
			continue
		}
		agree(t, string(text), 0, 2+r.IntN(3))
		if walked(text, 0, 128) < 0 {
			refusals++
		}
		agree(t, string(text), 0, 128)
	}
	if refusals < *mutants/6 || refusals > *mutants*5/6 {
		t.Errorf("%d refusals show nothing", refusals)
	}
}

// TestDenseCorpus makes long documents by chance from the pieces of the grammar, right and wrong.
func TestDenseCorpus(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	pieces := strings.Split("{ } [ ] , : \" \\ \\\\ \\\" \\u00e9 true false null 0 1 12 -1 1.5 1e3 -0.1E+2 1e-2 \"a\" \"\" \"ab\\\"\": {\"a\":1} [1,2] [] {} 01 1. -", " ")
	pieces = append(pieces, " ", "   ", "\t", strings.Repeat("long ", 30), strings.Repeat(" ", 70))
	for range 30000 {
		text := "["
		for range r.IntN(40) {
			text += pieces[r.IntN(len(pieces))]
			if r.IntN(2) == 0 {
				text += ","
			}
		}
		agree(t, text+"]", 0, 128)
		// Valid up to a late place, which random text hardly ever is.
		agree(t, `[`+strings.Repeat(`{"k":[1,"v"]},`, r.IntN(9))+text[1:], 0, 128)
	}
}

// FuzzDense compares the ways to judge a container.
func FuzzDense(f *testing.F) {
	for _, lists := range []map[string][]string{accepted, refused} {
		for _, lines := range lists {
			for _, line := range lines {
				f.Add([]byte(`[1,`+line+`,{"a":"b"}]`), uint8(100))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, depth uint8) {
		if len(text) > 0 && (text[0] == '[' || text[0] == '{') {
			agree(t, string(text), 0, int(depth))
			agree(t, strings.Repeat("~", 63)+string(text), 63, int(depth))
		}
	})
}

// TestWithoutAVX2 runs this build's answers on a machine without AVX2.
func TestWithoutAVX2(t *testing.T) {
	avx2, wide, dense := hasAVX2, hasWide, denseBytesMin
	hasAVX2, hasWide, denseBytesMin = false, false, math.MaxInt
	defer func() { hasAVX2, hasWide, denseBytesMin = avx2, wide, dense }()
	t.Run("grammar", TestGrammar)
	t.Run("every offset", TestGrammarAtEveryOffset)
	t.Run("parse", TestParse)
	t.Run("skip", TestSkipValue)
	t.Run("text", TestValidTextRunes)
}
