package codec

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// frames feeds the reads to a new Framer and returns its lines, in quotes, then "more:n" for n pending
// bytes or "too long".
func frames(limit int, reads ...string) string {
	var f Framer
	out := ""
	for _, read := range reads {
		data := []byte(read)
		for {
			line, rest, s := f.Next(data, limit)
			if s == FrameTooLong {
				return out + "too long"
			}
			if s == FrameMore {
				break
			}
			out += fmt.Sprintf("%q ", line)
			data = rest
		}
	}
	return out + fmt.Sprintf("more:%d", f.Pending())
}

func TestFramer(t *testing.T) {
	const mark = "\xef\xbb\xbf"
	for _, test := range []struct {
		limit int
		input string
		want  string
	}{
		{10, "", `more:0`},
		{10, "a", `more:1`},
		{10, "a\n", `"a" more:0`},
		{10, "a\nb\nc", `"a" "b" more:1`},
		{10, "a\r\nb\r\n", `"a" "b" more:0`},
		{10, "a\r\r\n", `"a\r" more:0`},
		{10, "a\rb\n", `"a\rb" more:0`},
		{10, "\n\r\n\na\n\n\r\nb\n\n", `"a" "b" more:0`},
		{10, "\r\r\n", `"\r" more:0`},
		{10, " \n", `" " more:0`},
		{10, "\u2028\u2029\v\f\n", `"\u2028\u2029\v\f" more:0`},
		{10, "a\x00b\n", `"a\x00b" more:0`},
		// The byte order mark.
		{10, mark + "a\n" + mark + "b\n", `"a" "\ufeffb" more:0`},
		{10, mark + "\na\n", `"a" more:0`},
		{10, mark + "\r\na\n", `"a" more:0`},
		{10, "\n" + mark + "a\n", `"\ufeffa" more:0`},
		{10, mark + mark + "a\n", `"\ufeffa" more:0`},
		{10, "\xef\xbb\n", `"\xef\xbb" more:0`},
		{10, "\xef\xbbx\n", `"\xef\xbbx" more:0`},
		{10, "a" + mark + "\n", `"a\ufeff" more:0`},
		// The limit.
		{3, "abc\n", `"abc" more:0`},
		{3, "abc", `more:3`},
		{3, "abcd", `too long`},
		{3, "abcd\n", `too long`},
		{3, "abc\r\n", `"abc" more:0`},
		{3, "abc\r", `more:4`},
		{3, "abc\r\r", `too long`},
		{3, "abc\rd\n", `too long`},
		{3, "ab\r\r\n", `"ab\r" more:0`},
		{3, mark + "abc\n", `"abc" more:0`},
		{3, mark + "abc\r\n", `"abc" more:0`},
		{3, mark + "abc\r", `more:7`},
		{3, mark + "abcd", `too long`},
		{3, "a\n" + mark + "\n", `"a" "\ufeff" more:0`},
		{3, "a\n" + mark + "b", `"a" too long`},
		{3, "abc\nabc\nabcd\nabc\n", `"abc" "abc" too long`},
	} {
		if got := frames(test.limit, test.input); got != test.want {
			t.Errorf("whole %q: %s, want %s", test.input, got, test.want)
		}
		if got := frames(test.limit, strings.Split(test.input, "")...); got != test.want && !strings.Contains(test.input, "\x00") && isASCII(test.input) {
			t.Errorf("by characters %q: %s, want %s", test.input, got, test.want)
		}
		single := make([]string, 0, len(test.input))
		for i := range len(test.input) {
			single = append(single, test.input[i:i+1])
		}
		if got := frames(test.limit, single...); got != test.want {
			t.Errorf("byte by byte %q: %s, want %s", test.input, got, test.want)
		}
		for i := range len(test.input) {
			if got := frames(test.limit, test.input[:i], test.input[i:]); got != test.want {
				t.Errorf("%q then %q: %s, want %s", test.input[:i], test.input[i:], got, test.want)
			}
		}
	}
}

func isASCII(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0 }

func TestFramerLimitChanges(t *testing.T) {
	var f Framer
	if _, _, s := f.Next([]byte("abcdef"), 10); s != FrameMore {
		t.Fatal(s)
	}
	if _, _, s := f.Next([]byte(strings.Repeat("x", 90)+"\nrest"), 100); s != FrameLine {
		t.Fatal(s)
	}
	if _, _, s := f.Next([]byte("abcdef"), 10); s != FrameMore {
		t.Fatal(s)
	}
	if _, _, s := f.Next(nil, 6); s != FrameMore {
		t.Fatal(s)
	}
	if _, _, s := f.Next(nil, 5); s != FrameTooLong {
		t.Fatal(s)
	}
	if f.Held() != 0 || f.Pending() != 0 {
		t.Error(f.Held(), f.Pending())
	}
	if line, rest, s := f.Next([]byte("a\n"), 100); s != FrameTooLong || line != nil || rest != nil {
		t.Error("a finished Framer goes on")
	}
}

// TestFramerTooLongEarly sees that an over-long line is known from the bytes beyond the limit alone and
// that not even they are kept.
func TestFramerTooLongEarly(t *testing.T) {
	const limit = 1000
	var f Framer
	for sent := 0; ; sent++ {
		_, _, s := f.Next([]byte("x"), limit)
		if s == FrameTooLong {
			if sent != limit {
				t.Errorf("reported after %d bytes", sent+1)
			}
			break
		}
		if f.Held() > limit+strippedBytes || f.Pending() != sent+1 {
			t.Fatalf("holds %d bytes, %d pending, of %d", f.Held(), f.Pending(), sent+1)
		}
	}
}

func TestFramerAliases(t *testing.T) {
	var f Framer
	data := []byte("one\ntwo\nthr")
	line, rest, _ := f.Next(data, 100)
	if &line[0] != &data[0] || cap(line) != 3 {
		t.Error("a whole line must alias data, without capacity")
	}
	line, rest, _ = f.Next(rest, 100)
	if &line[0] != &data[4] || &rest[0] != &data[8] {
		t.Error("a whole line must alias data")
	}
	if _, rest, s := f.Next(rest, 100); s != FrameMore || rest != nil || f.Pending() != 3 {
		t.Error("unfinished line", s, rest, f.Pending())
	}
	line, rest, _ = f.Next([]byte("ee\nfour\n"), 100)
	copyOf := string(line)
	if copyOf != "three" || f.Pending() != 0 {
		t.Errorf("straddling line %q, %d pending", line, f.Pending())
	}
	next, _, _ := f.Next(rest, 100)
	if string(next) != "four" || string(line) != copyOf {
		t.Errorf("then %q; the line before became %q", next, line)
	}
	line, _, _ = f.Next([]byte("x"), 100)
	if line != nil {
		t.Error("line with FrameMore")
	}
	line, _, _ = f.Next([]byte("y\n"), 100)
	f.Release()
	if string(line) != "xy" || f.Held() != 0 {
		t.Errorf("after Release %q, %d held", line, f.Held())
	}
}

func TestFramerHeld(t *testing.T) {
	var f Framer
	limit := 1 << 20
	send := func(size int) {
		t.Helper()
		f.Next(bytes.Repeat([]byte("x"), size-1), limit)
		line, rest, s := f.Next([]byte("y\n"), limit)
		if s != FrameLine || len(line) != size {
			t.Fatal(s, len(line))
		}
		f.Next(rest, limit)
	}
	if f.Held() != 0 {
		t.Error("a new Framer holds", f.Held())
	}
	send(10)
	if f.Held() != tailBytesMin {
		t.Error("after a small line", f.Held())
	}
	send(60 << 10)
	if f.Held() < 60<<10 || f.Held() > tailBytesKept {
		t.Error("after a middling line", f.Held())
	}
	send(1 << 20)
	if f.Held() != 0 {
		t.Error("after a big line", f.Held())
	}
}

// TestFramerLinear counts the bytes copied by growth through the capacities that the tail goes through.
func TestFramerLinear(t *testing.T) {
	var f Framer
	limit, copied, held := 1<<20, 0, 0
	piece := bytes.Repeat([]byte("x"), 100)
	for range limit / len(piece) {
		before := f.Pending()
		if _, _, s := f.Next(piece, limit); s != FrameMore {
			t.Fatal(s)
		}
		if f.Held() != held {
			copied, held = copied+before, f.Held()
		}
	}
	if copied > 2*limit {
		t.Errorf("%d bytes copied for %d", copied, limit)
	}
	if held > limit+strippedBytes {
		t.Errorf("%d bytes held for %d", held, limit)
	}
}

func TestFramerAllocatesNothing(t *testing.T) {
	var f Framer
	reads := [][]byte{[]byte("{\"a\":1}\n{\"b\""), []byte(":2}\r\n\r\n{\"c\":"), []byte(strings.Repeat(" ", 3000)), []byte("3}\n{}\n")}
	run := func() {
		for _, data := range reads {
			for s := FrameLine; s == FrameLine; {
				_, data, s = f.Next(data, 1<<20)
			}
		}
	}
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
