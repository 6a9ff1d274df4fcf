package codec

import (
	"encoding/binary"
	"unicode/utf8"
)

// validText reports whether b, which has passed the grammar, is UTF-8. The grammar lets bytes of 0x80
// and above stand inside strings only, and looks at nothing else about them, so that this one pass over
// the line may come after it.
func validText(b []byte) bool {
	i := skipASCII(b)
	return i == len(b) || validFrom(b, i)
}

// skipASCIIWords returns the index of the first eight bytes from b[i] on that are not all ASCII; of the
// last seven bytes each counts on its own.
func skipASCIIWords(b []byte, i int) int {
	for i+8 <= len(b) && binary.LittleEndian.Uint64(b[i:])&highs == 0 {
		i += 8
	}
	if i+8 > len(b) {
		for i < len(b) && b[i] < utf8.RuneSelf {
			i++
		}
	}
	return i
}
