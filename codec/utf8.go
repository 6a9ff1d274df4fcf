package codec

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// validText reports whether b, which has passed the grammar, is UTF-8. The grammar lets bytes of 0x80
// and above stand inside strings only, and looks at nothing else about them, so that this one pass over
// the line may come after it.
func validText(b []byte) bool {
	i := skipASCII(b)
	return i == len(b) || validFrom(b, i)
}

// skipASCIIWords returns the index of the first byte from b[i] on that is not ASCII, len(b) when there is
// none.
func skipASCIIWords(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if high := binary.LittleEndian.Uint64(b[i:]) & highs; high != 0 {
			return i + bits.TrailingZeros64(high)>>3
		}
	}
	if i < len(b) && len(b) >= 8 && binary.LittleEndian.Uint64(b[len(b)-8:])&highs == 0 {
		return len(b)
	}
	for i < len(b) && b[i] < utf8.RuneSelf {
		i++
	}
	return i
}
