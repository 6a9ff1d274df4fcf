package codec

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special returns a word whose lowest set bit is bit 7 of the first byte of x (little endian) that ends
// the plain part of a string: a quote, a backslash or a control character. Bits above the lowest may be
// wrong, because the subtractions borrow from the byte above a hit.
func special(x uint64) uint64 {
	return ((x - ' '*lows) | ((x ^ '"'*lows) - lows) | ((x ^ '\\'*lows) - lows)) &^ x & highs
}

// IsPlain reports whether text is ASCII that may stand in a JSON string as it is.
func IsPlain(text []byte) bool {
	i := 0
	for ; i+8 <= len(text); i += 8 {
		if x := binary.LittleEndian.Uint64(text[i:]); special(x)|x&highs != 0 {
			return false
		}
	}
	if i < len(text) && len(text) >= 8 {
		x := binary.LittleEndian.Uint64(text[len(text)-8:])
		return special(x)|x&highs == 0
	}
	for ; i < len(text); i++ {
		if c := text[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// wordsAlone is how many words of a string are looked at before skipPlain takes over.
const wordsAlone = 4

// skipString validates a string from b[i], the byte behind its opening quote, and returns the index
// behind its closing quote, -1 when invalid. Bytes of 0x80 and above are left to validText.
func skipString(b []byte, i int) int {
	for {
		for words := 0; i+8 <= len(b); words++ {
			if words == wordsAlone {
				if i = skipPlain(b, i); i+8 > len(b) {
					break
				}
			}
			if hit := special(binary.LittleEndian.Uint64(b[i:])); hit != 0 {
				i += bits.TrailingZeros64(hit) >> 3
				break
			}
			i += 8
		}
		if i >= len(b) {
			return -1
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			if i = skipEscape(b, i); i < 0 {
				return -1
			}
		case c < ' ':
			return -1
		default: // only in the last seven bytes
			i++
		}
	}
}

// simpleEscape tells the characters that make an escape sequence of two. A table, because which one
// comes is hard to predict.
var simpleEscape = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// skipEscape returns the index behind the escape sequence whose backslash is b[i], -1 when invalid.
// Halves of surrogate pairs are legal here, alone too.
func skipEscape(b []byte, i int) int {
	if i+1 >= len(b) {
		return -1
	}
	if simpleEscape[b[i+1]] {
		return i + 2
	}
	if b[i+1] == 'u' && hex4(b, i+2) >= 0 {
		return i + 6
	}
	return -1
}

// hexValue holds the value of each hexadecimal digit, and 0xFF for every other byte.
var hexValue = func() (values [256]uint8) {
	for c := range values {
		values[c] = 0xFF
	}
	for value, c := range "0123456789abcdef" {
		values[c] = uint8(value)
	}
	for value, c := range "ABCDEF" {
		values[c] = uint8(10 + value)
	}
	return values
}()

// hex4 returns the value of the four hexadecimal digits at b[i], -1 when they are not all there.
func hex4(b []byte, i int) rune {
	if i+4 > len(b) {
		return -1
	}
	text := b[i : i+4]
	first, second, third, fourth := hexValue[text[0]], hexValue[text[1]], hexValue[text[2]], hexValue[text[3]]
	if first|second|third|fourth > 0xF {
		return -1
	}
	return rune(first)<<12 | rune(second)<<8 | rune(third)<<4 | rune(fourth)
}
