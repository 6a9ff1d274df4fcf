package reader

import (
	"encoding/base64"
	"unicode/utf8"
)

// fit returns how many bytes of data, from the first, an answer with room for that many encoded bytes
// holds. Data that are text up to the cut are cut between characters, so that they stay text; whole says
// that data are not a cut already.
func fit(data []byte, whole bool, room int) int {
	room = max(room, 0)
	body := data
	if !whole {
		body = data[:wholeRunes(data)]
	}
	if len(body) > 0 && utf8.Valid(body) {
		return textFit(body, room)
	}
	if base64.StdEncoding.EncodedLen(len(data)) <= room {
		return len(data)
	}
	n := room / 4 * 3
	if kept := wholeRunes(data[:n]); kept > 0 && utf8.Valid(data[:kept]) {
		return textFit(data[:kept], room) // text here, binary further on
	}
	return n
}

// wholeRunes returns the length of data without a character that its end cuts.
func wholeRunes(data []byte) int {
	for n := len(data) - 1; n >= 0 && n >= len(data)-utf8.UTFMax; n-- {
		if utf8.RuneStart(data[n]) {
			if !utf8.FullRune(data[n:]) {
				return n
			}
			break
		}
	}
	return len(data)
}

// textFit returns how many bytes of the valid UTF-8 data, whole characters, have a JSON string of at most
// room bytes, quotes not counted.
func textFit(data []byte, room int) int {
	for i, c := range data {
		if room -= escapedLen(c); room < 0 {
			for !utf8.RuneStart(data[i]) {
				i--
			}
			return i
		}
	}
	return len(data)
}

// encodedLen returns the length of data in an answer, quotes not counted.
func encodedLen(data []byte) int {
	if !utf8.Valid(data) {
		return base64.StdEncoding.EncodedLen(len(data))
	}
	n := 0
	for _, c := range data {
		n += escapedLen(c)
	}
	return n
}

// escapedLen returns what a byte of UTF-8 takes in a JSON string as codec.AppendQuoted writes it.
func escapedLen(c byte) int {
	switch {
	case c == '"', c == '\\', c == '\b', c == '\f', c == '\n', c == '\r', c == '\t':
		return 2
	case c < ' ':
		return 6
	}
	return 1
}
