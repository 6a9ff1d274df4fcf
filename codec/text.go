package codec

import (
	"bytes"
	"unicode/utf8"
)

// loneSurrogate is what decodeEscape returns for half a surrogate pair without the other half, added to
// the half's value.
const loneSurrogate rune = 1 << 24

// inner returns the text between the quotes of a raw JSON string; ok is false for other values.
func inner(raw []byte) (text []byte, ok bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return nil, false
	}
	return raw[1 : len(raw)-1], true
}

// EqualString reports whether the raw JSON value is a string that equals want after unescaping.
func EqualString(raw []byte, want string) bool {
	text, ok := inner(raw)
	if !ok {
		return false
	}
	if len(text) == len(want) && string(text) == want {
		// Equal spellings with a backslash are different texts: the escape is shorter than itself.
		return bytes.IndexByte(text, '\\') < 0
	}
	// Every escape is at least twice as long as what it stands for, so equal texts never get longer.
	return len(text) > len(want) && equalEscaped(text, want)
}

// equalEscaped reports whether text, the inside of a raw JSON string, equals want after unescaping.
func equalEscaped(text []byte, want string) bool {
	var decoded [utf8.UTFMax]byte
	for len(text) > 0 && len(want) > 0 {
		if text[0] != '\\' {
			if text[0] != want[0] {
				return false
			}
			text, want = text[1:], want[1:]
			continue
		}
		r, n := decodeEscape(text)
		if n == 0 || r >= loneSurrogate {
			return false
		}
		size := utf8.EncodeRune(decoded[:], r)
		if len(want) < size || string(decoded[:size]) != want[:size] {
			return false
		}
		text, want = text[n:], want[size:]
	}
	return len(text) == 0 && len(want) == 0
}

// Unquote appends the text of the raw JSON string to dst, as UTF-8. For each escaped lone surrogate it
// appends U+FFFD and returns ok false; for a value that is no string it appends nothing and returns
// false.
func Unquote(dst, raw []byte) (out []byte, ok bool) {
	text, ok := inner(raw)
	if !ok {
		return dst, false
	}
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return append(dst, text...), ok
		}
		dst = append(dst, text[:i]...)
		r, n := decodeEscape(text[i:])
		if n == 0 {
			return dst, false
		}
		if r >= loneSurrogate {
			r, ok = utf8.RuneError, false
		}
		dst = utf8.AppendRune(dst, r)
		text = text[i+n:]
	}
}

// DecodedLen returns how many bytes Unquote would append for the raw JSON string.
func DecodedLen(raw []byte) int {
	text, _ := inner(raw)
	total := 0
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return total + len(text)
		}
		r, n := decodeEscape(text[i:])
		if n == 0 {
			return total + i
		}
		if r >= loneSurrogate {
			r = utf8.RuneError
		}
		total += i + utf8.RuneLen(r)
		text = text[i+n:]
	}
}

// decodeEscape decodes the escape sequence at the start of text, whose first byte is a backslash, and
// returns its length, 0 when it is invalid. Two escapes that make a surrogate pair are taken together.
func decodeEscape(text []byte) (r rune, n int) {
	if len(text) < 2 {
		return 0, 0
	}
	switch c := text[1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		return decodeUnicode(text)
	}
	return 0, 0
}

// decodeUnicode does decodeEscape's work for \u escapes.
func decodeUnicode(text []byte) (r rune, n int) {
	r = hex4(text, 2)
	switch {
	case r < 0:
		return 0, 0
	case r < 0xD800 || r > 0xDFFF:
		return r, 6
	}
	if r < 0xDC00 && len(text) >= 12 && text[6] == '\\' && text[7] == 'u' {
		if low := hex4(text, 8); low >= 0xDC00 && low <= 0xDFFF {
			return 0x10000 + (r-0xD800)<<10 + (low - 0xDC00), 12
		}
	}
	return loneSurrogate + r, 6
}

const hexDigits = "0123456789abcdef"

// AppendQuoted appends s as a JSON string. Only quotes, backslashes and control characters are escaped;
// bytes that are no UTF-8 become U+FFFD, one each.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0 // of what has not been copied yet
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, s[start:i]...)
				dst = utf8.AppendRune(dst, utf8.RuneError)
				start = i + 1
			}
			i += size
			continue
		}
		if c < ' ' || c == '"' || c == '\\' {
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, c)
			start = i + 1
		}
		i++
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendEscape appends the escape sequence of a character that needs one.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
