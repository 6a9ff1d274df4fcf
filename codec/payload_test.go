package codec

import (
	"strings"
	"testing"
)

func TestSkipValue(t *testing.T) {
	long := `["` + strings.Repeat("é", 100) + `",{"a":[1.5e3,true]}]`
	for _, test := range []struct {
		text     string
		at       int
		depthMax int
		want     int
	}{
		{`1`, 0, 0, 1},
		{`{"a":12}}}`, 5, 0, 7},
		{`xx"a"yy`, 2, 0, 5},
		{`{"a":[1]}}`, 5, 1, 8},
		{`{"a":[1]}}`, 5, 0, -1},
		{`{"a":[1]}}`, 5, -1, -1},
		{`[1`, 0, 9, -1},
		{``, 0, 9, -1},
		{`1`, 1, 9, -1},
		{` 1`, 0, 9, -1},
		{`"` + "\xff" + `"`, 0, 9, -1},
		{`"a"` + "\xff", 0, 9, 3}, // what is behind is not looked at
		{"\xff" + `"a"`, 1, 9, 4},
		{long + "}}", 0, 3, len(long)},
		{long + "}}", 0, 2, -1},
		{strings.Replace(long, "éé", "\xc3é", 1), 0, 3, -1},
	} {
		if got := SkipValue([]byte(test.text), test.at, test.depthMax); got != test.want {
			t.Errorf("SkipValue(%.60q, %d, %d) = %d, want %d", test.text, test.at, test.depthMax, got, test.want)
		}
	}
}
