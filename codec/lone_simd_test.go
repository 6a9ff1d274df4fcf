//go:build goexperiment.simd && amd64

package codec

import (
	"strings"
	"testing"
)

// TestDenseAtEveryPlace puts a container at every place relative to the end of the line, which the blocks
// are counted from.
func TestDenseAtEveryPlace(t *testing.T) {
	text := `{"n":[-0.5e+1,true,{}],"false":false,"e\\":"\"é",  "o":{"a":[[],[null]]}}`
	for before := range 70 {
		for behind := 0; behind < 70; behind += 3 {
			agree(t, strings.Repeat("~", before)+text+strings.Repeat("\x01", behind), before, 4)
		}
	}
	for pad := range 130 {
		for _, escape := range []string{`\n`, `\q`, `\"`, `\\`, `\u00e9`, `\u00g9`} {
			agree(t, `[0,"`+strings.Repeat("x", 100)+escape+strings.Repeat("x", 100+pad)+`"]`, 0, 4)
		}
	}
	for _, middle := range []string{"日", "\xff"} {
		agree(t, `[0,"`+strings.Repeat("x", 150)+middle+strings.Repeat("x", 150)+`"]`, 0, 4)
	}
	for cut := range text {
		agree(t, strings.Repeat("~", cut%3)+text[:cut+1], cut%3, 4)
	}
}

// TestLoneText tries objects of one string, and what looks like them, with a special character at every
// place.
func TestLoneText(t *testing.T) {
	for name := range 10 {
		for _, size := range []int{0, 31, 32, 33, 64, 100} {
			text := `{"` + "dataname.."[:name] + `":"` + strings.Repeat("x", size) + `"}`
			agree(t, text, 0, 1)
			agree(t, text+"}}", 0, 1)
			agree(t, text+"}}", 0, 0)
			agree(t, text[:len(text)-1]+` }}`, 0, 1)
			agree(t, text[:len(text)-1]+`,"b":[1]}}`, 0, 2)
			agree(t, text[:len(text)-1]+`,"b":[1]}}`, 0, 1)
			for i := range text[1:] {
				for _, special := range []string{`"`, `\`, `\n`, "\x1f", "\x00", "é", "\xff", "{", "}", ":", " "} {
					agree(t, text[:i+1]+special+text[i+2:]+"}}", 0, 1)
				}
			}
		}
	}
}
