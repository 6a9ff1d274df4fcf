package codec

import (
	"strings"
	"testing"
)

// accepted and refused are whole lines, by the part of RFC 8259 or RFC 3629 that they try.
var accepted = map[string][]string{
	"scalar": {`null`, `true`, `false`, `0`, `-0`, `""`, `"a"`, `[]`, `{}`},
	"space":  {" null", "null ", "\t\r null\r\t ", "[ ]", "{ }", "[\t1\r,\n2 ]", "{ \"a\" : 1 , \"b\" : 2 }", " { } "},
	"number": {`1`, `-1`, `10`, `1.0`, `-0.0`, `0.5`, `1e1`, `1E1`, `1e+1`, `1e-1`, `0e0`, `1.25e-3`, `1e999999999`,
		`123456789012345678901234567890`, `-1.0E+00`, `[0,1,-1]`, `9007199254740993`, `0.` + strings.Repeat("0", 100) + `1`},
	"escape": {`"\""`, `"\\"`, `"\/"`, `"\b\f\n\r\t"`, `"\u0041"`, `"\u00e9\u00E9"`, `"\uD834\uDD1E"`, `"\u0000"`, `"a\u000ab"`,
		`"\ud800"`, `"\udc00"`, `"\ud800x"`, `"\ud800\ud800"`, `"\udc00\ud800"`, `"\ud800\n"`, `"\uFFFF"`, `"\\u0041"`, `"\\\""`},
	"text": {"\"\u2028\u2029\"", "\"\u0085\u00a0\"", "\"\x7f\"", "\"é\"", "\"€\"", "\"日本語\"", "\"😀\"", "\"\U0010ffff\"", "\"\u07ff\u0800\uffff\"",
		"\"\ufeff\"", "[\"\ufeff\"]", "\"\xc2\x80\"", "\"\xe0\xa0\x80\"", "\"\xed\x9f\xbf\"", "\"\xee\x80\x80\"", "\"\xf0\x90\x80\x80\"", "\"\xf4\x8f\xbf\xbf\"", "\"\ufffe\uffff\""},
	"object": {`{"a":1}`, `{"a":1,"b":2}`, `{"":0}`, `{"a":{},"b":[]}`, `{"a":1,"a":2}`, `{"a":null,"b":[{"c":[{}]}]}`, `{"\ud800":1}`, `{"\u0000":1}`},
	"array":  {`[1]`, `[1,2]`, `[[]]`, `[[],[]]`, `[{},{}]`, `[null,true,false,"",0]`, `[[[[[[]]]]]]`},
}

var refused = map[string][]string{
	"nothing": {"", " ", "\t", "\r"},
	"literal": {`nul`, `nulll`, `NULL`, `True`, `tru`, `fals`, `falsee`, `nullnull`, `n`, `t`, `f`, `NaN`, `Infinity`, `-Infinity`, `undefined`, `None`, `truefalse`, `true1`, `null0`, `false-1`, `1true`, `-true`},
	"number": {`01`, `-01`, `00`, `1.`, `.1`, `-.1`, `-`, `+1`, `1e`, `1e+`, `1e-`, `1E`, `1.e1`, `0x10`, `1_000`, `1a`, `- 1`, `--1`, `1..2`, `1.2.3`, `1e1.5`, `1e1e1`,
		"1\x00", `0.`, `-0.`, `1 2`, `[1.]`, `[01]`, `[-]`, `{"a":1.}`, `１`, `1+1`, `1-`, `[1-]`, `[1+2]`, `[1.5.5]`, `[1e]`},
	"string": {`"`, `"a`, `"\"`, `"a\"`, `'a'`, "\"a\tb\"", "\"\x00\"", "\"\x1f\"", "\"a\nb\"", "\"a\rb\"", `""a`, `"a""b"`, `a`, `"a" "b"`, "\"1234567\x01\"", "\"12345678\x01\"",
		"\"123456789012345\x01\"", "\"1234567890123456\x1f\"", `"12345678`, `"1234567`, `"123456789`},
	"escape": {`"\a"`, `"\x41"`, `"\u"`, `"\u0"`, `"\u00"`, `"\u004"`, `"\u004g"`, `"\U0041"`, `"\u00-1"`, `"\u 041"`, `"\'"`, `"\0"`, "\"\\\"", `"\`, `"\u004`, "\"\\\n\"", `"\N"`, `"\u{41}"`, "\"\\é\""},
	"utf8": {"\"\x80\"", "\"\xbf\"", "\"\xc0\x80\"", "\"\xc1\xbf\"", "\"\xc2\"", "\"\xc2", "\"\xc2A\"", "\"\xc2\xc2\"", "\"\xe0\x80\x80\"", "\"\xe0\x9f\xbf\"", "\"\xed\xa0\x80\"", "\"\xed\xbf\xbf\"",
		"\"\xed\xa0\xb4\xed\xb4\x9e\"", "\"\xe2\x82\"", "\"\xe2\x82", "\"\xe2\"", "\"\xe2\x28\xa1\"", "\"\xe2\x82\x28\"", "\"\xf0\x80\x80\x80\"", "\"\xf0\x8f\xbf\xbf\"", "\"\xf4\x90\x80\x80\"", "\"\xf5\x80\x80\x80\"",
		"\"\xf0\x9f\x98\"", "\"\xf0\x9f\"", "\"\xf0\"", "\"\xf0\x9f\x98", "\"\xf0\x28\x8c\x80\"", "\"\xf0\x9f\x28\x80\"", "\"\xf0\x9f\x98\x28\"", "\"\xff\"", "\"\xfe\"", "\"\xf8\x88\x80\x80\x80\"", "\xff", "é", "[\xc3\xa9]",
		"{\"\xff\":1}", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\x80\""},
	"object": {`{`, `}`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{,}`, `{,"a":1}`, `{"a":1,,"b":2}`, `{"a":1 "b":2}`, `{a:1}`, `{'a':1}`, `{1:1}`, `{"a" 1}`, `{"a"::1}`, `{"a":1]`, `{"a":1}}`, `{"a":1}{}`,
		`{null:1}`, `{"a":1,"b"}`, `{"a":1;"b":2}`, `{"a"`, `{"a":`, `{"a":1,`, `{[]:1}`, `{"a":{"b":1}`, `{"a",1}`, `{"a":1:2}`},
	"array":     {`[`, `]`, `[1`, `[1,`, `[1,]`, `[,]`, `[,1]`, `[1,,2]`, `[1 2]`, `[1}`, `[1]]`, `[1][2]`, `[[1]`, `[1:2]`, `["a":1]`, `[}`, `[{]}`, `[1;2]`, `(1)`, `[[1}]`, `[{"a":1]]`},
	"space":     {"\v1", "\f1", "1\v", "\u00a01", "\u20281", "1\x00", "\x001", "[1\x00]", "[1,\x0b2]", "\ufeff1", "\ufeff{}", "{\ufeff}", "[\u2028]", "\x85"},
	"extension": {`// c`, `{}//`, `/**/1`, `[1,/*x*/2]`, `{"a":1}#`, `"a"x`, `1;`, `{}x`, `[]x`, `{} {}`, `[] 1`},
}

// wrappers put a line into the places where another part of the scanner reads it.
var wrappers = []struct{ name, before, after string }{
	{"whole", "", ""},
	{"element", "[1, ", " ]"},
	{"member", `{"x":[0,`, `]}`},
	{"params", `{"jsonrpc":"2.0","method":"m","params":`, `}`},
	{"payload", `{"jsonrpc":"2.0","method":"m","params":{"serviceId":"s","params":`, `}}`},
	{"repeated params", `{"params":{},"params":`, `}`},
	{"id", `{"id":`, `}`},
	{"after a long string", `{"a":"` + strings.Repeat("x", 100) + `","b":`, `}`},
	{"far", `{"method":"m","params":{"params":["` + strings.Repeat("x", 700) + `",`, `]}}`},
	{"far and dense", `{"method":"m","params":{"params":[` + strings.Repeat(`1,`, 400), `]}}`},
	{"far and not ASCII", `{"method":"m","params":{"params":["` + strings.Repeat("日", 400) + `",`, `]}}`},
}

func TestGrammar(t *testing.T) {
	for _, w := range wrappers {
		for part, lines := range accepted {
			for _, line := range lines {
				if whole := w.before + line + w.after; !Parse([]byte(whole), 128, new(Message)) {
					t.Errorf("%s as %s: refused %q", part, w.name, whole)
				}
			}
		}
		for part, lines := range refused {
			for _, line := range lines {
				if whole := w.before + line + w.after; Parse([]byte(whole), 128, new(Message)) {
					t.Errorf("%s as %s: accepted %q", part, w.name, whole)
				}
			}
		}
	}
}

// TestGrammarAtEveryOffset moves each string to every place relative to a block of 64 bytes.
func TestGrammarAtEveryOffset(t *testing.T) {
	for pad := range 130 {
		before, after := `["`+strings.Repeat("p", pad)+`",`, `]`
		for _, part := range []string{"text", "escape", "number"} {
			for _, line := range accepted[part] {
				if whole := before + line + after; !Parse([]byte(whole), 128, new(Message)) {
					t.Errorf("refused %q", whole)
				}
			}
		}
		for _, part := range []string{"utf8", "escape", "string", "number"} {
			for _, line := range refused[part] {
				if whole := before + line + after; Parse([]byte(whole), 128, new(Message)) {
					t.Errorf("accepted %q", whole)
				}
			}
		}
	}
}

// TestEveryCut refuses every proper prefix of a line that ends with the bracket of its first byte.
func TestEveryCut(t *testing.T) {
	line := `{"jsonrpc":"2.0","id":-1.5e+3,"method":"a\u00e9é","params":{"serviceId":"s","params":[true,false,null,{"日本語":"😀\ud83d\ude00"}]}}`
	for i := range line {
		if Parse([]byte(line[:i]), 128, new(Message)) {
			t.Errorf("accepted %q", line[:i])
		}
	}
	if !Parse([]byte(line), 128, new(Message)) {
		t.Errorf("refused %q", line)
	}
}

// TestEveryByte tries every byte value in every place of short documents where only some may stand.
func TestEveryByte(t *testing.T) {
	for c := range 256 {
		b := string([]byte{byte(c)})
		for _, test := range []struct {
			before, after string
			legal         func(c byte) bool
		}{
			{``, `1`, func(c byte) bool { return strings.IndexByte(" \t\r\n-123456789", c) >= 0 }},
			{`1`, ``, func(c byte) bool { return strings.IndexByte(" \t\r\n0123456789", c) >= 0 }},
			{`"`, `"`, func(c byte) bool { return c >= ' ' && c != '\\' && c < 0x80 && c != '"' }},
			{`"12345678901234567`, `1234567890123456789012345678901234567890"`, func(c byte) bool { return c >= ' ' && c != '\\' && c < 0x80 && c != '"' }},
			{`"\`, `"`, func(c byte) bool { return strings.IndexByte(`"\/bfnrt`, c) >= 0 }},
			{`"\u00`, `0"`, func(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }},
			{`[1`, `1]`, func(c byte) bool { return strings.IndexByte("0123456789,.eE", c) >= 0 }},
			{`[0`, `1]`, func(c byte) bool { return strings.IndexByte(",.eE", c) >= 0 }},
			{`[1e`, `1]`, func(c byte) bool { return strings.IndexByte("0123456789+-", c) >= 0 }},
			{`{"a"`, `1}`, func(c byte) bool { return c == ':' }},
			{`{"a":1`, `"b":1}`, func(c byte) bool { return c == ',' }},
			{`["a"`, `]`, func(c byte) bool { return strings.IndexByte(" \t\r\n", c) >= 0 }},
			{`[[1`, `]`, func(c byte) bool { return c == ']' }},
			{`[{"a":1`, `]`, func(c byte) bool { return c == '}' }},
		} {
			if got, want := Parse([]byte(test.before+b+test.after), 128, new(Message)), test.legal(byte(c)); got != want {
				t.Errorf("%q: got %v", test.before+b+test.after, got)
			}
		}
	}
}

func TestDepth(t *testing.T) {
	nest := func(open, inner, close string, levels int) string {
		return strings.Repeat(open, levels) + inner + strings.Repeat(close, levels)
	}
	for _, depthMax := range []int{4, 63, 64, 65, 127, 128, 129, 191, 192, 193, 256, 1000, 1 << 16} {
		for _, test := range []struct {
			name  string
			build func(levels int) string
		}{
			{"arrays", func(n int) string { return nest("[", "1", "]", n) }},
			{"empty arrays", func(n int) string { return nest("[", "", "]", n) }},
			{"objects", func(n int) string { return nest(`{"a":`, "1", "}", n) }},
			{"alternating", func(n int) string { return nest(`[{"a":`, "1", "}]", n/2) + "" }},
			{"id", func(n int) string { return `{"id":` + nest("[", "1", "]", n-1) + "}" }},
			{"params", func(n int) string { return `{"params":` + nest(`{"params":`, "1", "}", n-1) + "}" }},
			{"payload", func(n int) string { return `{"method":"m","params":{"params":` + nest(`[`, "", "]", n-2) + "}}" }},
			{"siblings", func(n int) string { return "[" + nest("[", "{}", "]", n-2) + "," + nest("[", "[]", "]", n-2) + "]" }},
		} {
			for levels := depthMax - 1; levels <= depthMax+1; levels++ {
				line := test.build(levels)
				want := DepthOf([]byte(line)) <= depthMax
				if got := Parse([]byte(line), depthMax, new(Message)); got != want {
					t.Errorf("%s of %d levels at depth_max %d: got %v", test.name, levels, depthMax, got)
				}
			}
		}
		if Parse([]byte(nest("[", "", "]", depthMax-1)+"]"), depthMax, new(Message)) || Parse([]byte(nest("[", "", "}", depthMax)), depthMax, new(Message)) {
			t.Errorf("accepted wrong brackets at %d", depthMax)
		}
	}
	if !Parse([]byte("1"), 0, new(Message)) || Parse([]byte("{}"), 0, new(Message)) || Parse([]byte("[]"), 0, new(Message)) {
		t.Error("depth 0 must allow scalars only")
	}
}
