package codec

import (
	"bytes"
	"strings"
	"testing"
)

func TestUnquote(t *testing.T) {
	for _, test := range []struct {
		raw, want string
		ok        bool
	}{
		{`""`, "", true},
		{`"abc"`, "abc", true},
		{`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t", true},
		{`"\u0041\u00e9\u20AC\u0000"`, "Aé€\x00", true},
		{`"a\ud83d\ude00b"`, "a😀b", true},
		{`"\uD800\uDC00\uDBFF\uDFFF"`, "\U00010000\U0010ffff", true},
		{`"\ud800"`, "\ufffd", false},
		{`"\udc00x"`, "\ufffdx", false},
		{`"\ud800\ud800\udc00"`, "\ufffd\U00010000", false},
		{`"\ud800\n\udc00"`, "\ufffd\n\ufffd", false},
		{`"\ud800\\udc00"`, "\ufffd\\udc00", false},
		{`"\ufffd"`, "\ufffd", true},
		{"\"é日本😀\u2028\"", "é日本😀\u2028", true},
		// No strings.
		{``, "", false},
		{`"`, "", false},
		{`1`, "", false},
		{`null`, "", false},
		{`{"a":"b"}`, "", false},
		// Not validated: whatever comes out, nothing panics and the length agrees.
		{`"\"`, "", false},
		{`"a\x"`, "a", false},
		{`"a\u12"`, "a", false},
		{`"\ud800\u12"`, "\ufffd", false},
	} {
		got, ok := Unquote([]byte("<"), []byte(test.raw))
		if string(got) != "<"+test.want || ok != test.ok {
			t.Errorf("Unquote(%s) = %q, %v; want %q, %v", test.raw, got[1:], ok, test.want, test.ok)
		}
		if n := DecodedLen([]byte(test.raw)); n != len(test.want) {
			t.Errorf("DecodedLen(%s) = %d, want %d", test.raw, n, len(test.want))
		}
	}
}

func TestEqualString(t *testing.T) {
	for _, test := range []struct {
		raw, text string
		want      bool
	}{
		{`""`, "", true},
		{`"a"`, "a", true},
		{`"a"`, "b", false},
		{`"a"`, "", false},
		{`""`, "a", false},
		{`"ab"`, "a", false},
		{`"a"`, "ab", false},
		{`"a"`, "A", false},
		{`"\u0061"`, "a", true},
		{`"\u0061"`, `\u0061`, false},
		{`"\\"`, `\\`, false},
		{`"\\"`, `\`, true},
		{`"\\n"`, `\n`, true},
		{`"\n"`, "\n", true},
		{`"\n"`, `\n`, false},
		{`"a\ud83d\ude00"`, "a😀", true},
		{`"a\ud83d\ude00"`, "a😁", false},
		{`"\u65e5本"`, "日本", true},
		{`"\u65e5"`, "\xe6\x97", false},
		{`"\ud800"`, "\ufffd", false},
		{`"\ud800"`, "\xed\xa0\x80", false},
		{`"a\u0062c"`, "abcd", false},
		{`"a\u0062c"`, "ab", false},
		{`"ahp-root:\/\/"`, ChannelRoot, true},
		{`"ahp-root://"`, ChannelRoot, true},
		{`1`, "1", false},
		{`a`, "", false},
		{``, "", false},
		{`"`, "", false},
		{`null`, "null", false},
		{`"\x"`, "x", false},
		{`"\"`, `"`, false},
	} {
		if got := EqualString([]byte(test.raw), test.text); got != test.want {
			t.Errorf("EqualString(%s, %q) = %v", test.raw, test.text, got)
		}
	}
	plain, escaped := []byte(`"ahp-client-services://"`), []byte(`"ahp-client-services:\u002f\/"`)
	if n := testing.AllocsPerRun(100, func() {
		if !EqualString(plain, ChannelServices) || !EqualString(escaped, ChannelServices) {
			t.Error("not equal")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAppendQuoted(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", `""`},
		{"abc", `"abc"`},
		{`a"b\c/`, `"a\"b\\c/"`},
		{"\x00\x01\b\t\n\v\f\r\x1a\x1f\x7f", "\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001a\\u001f\x7f\""},
		{"é日本😀\u2028<>&", "\"é日本😀\u2028<>&\""},
		{"\xff", "\"\ufffd\""},
		{"a\xffb\xe2\x82", "\"a\ufffdb\ufffd\ufffd\""},
		{"\xed\xa0\x80", "\"\ufffd\ufffd\ufffd\""},
		{"\ufffd", "\"\ufffd\""},
	} {
		if got := AppendQuoted([]byte("<"), test.text); string(got) != "<"+test.want {
			t.Errorf("AppendQuoted(%q) = %s, want %s", test.text, got[1:], test.want)
		}
	}
}

func TestQuotedComesBack(t *testing.T) {
	for c := range 256 {
		text := strings.Repeat("x", c%7) + string(rune(c)) + "y"
		raw := AppendQuoted(nil, text)
		got, ok := Unquote(nil, raw)
		if !ok || string(got) != text || !EqualString(raw, text) || DecodedLen(raw) != len(text) {
			t.Errorf("%q became %s and then %q", text, raw, got)
		}
		if !Parse(raw, 1, new(Message)) || bytes.IndexByte(raw, '\n') >= 0 {
			t.Errorf("%q became %s", text, raw)
		}
	}
}

func TestIsPlain(t *testing.T) {
	for size := range 30 {
		text := bytes.Repeat([]byte("x"), size)
		if !IsPlain(text) {
			t.Fatalf("%q", text)
		}
		for i := range text {
			for c := range 256 {
				text[i] = byte(c)
				if want := c >= ' ' && c < 0x80 && c != '"' && c != '\\'; IsPlain(text) != want {
					t.Fatalf("%q: %v", text, !want)
				}
			}
			text[i] = 'x'
		}
	}
}
