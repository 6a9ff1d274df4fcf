package codec

import (
	"encoding/binary"
	"math/bits"
)

// skipNumber validates a number from b[i] on and returns the index behind it, -1 when invalid. What
// follows the number is the caller's business.
func skipNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i >= len(b) {
		return -1
	}
	if b[i] == '0' {
		i++
	} else if i = skipDigits(b, i); i < 0 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = skipDigits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return skipDigits(b, i)
	}
	return i
}

// skipDigits returns the index behind the digits at b[i], -1 when there is none.
func skipDigits(b []byte, i int) int {
	start := i
	for i+8 <= len(b) {
		// Bit 7 of each byte that is no digit: the others are 0 to 9 less '0', and carry nothing over.
		x := binary.LittleEndian.Uint64(b[i:]) ^ '0'*lows
		if other := ((x&^highs + (0x80-10)*lows) | x) & highs; other != 0 {
			if i += bits.TrailingZeros64(other) >> 3; i == start {
				return -1
			}
			return i
		}
		i += 8
	}
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i == start {
		return -1
	}
	return i
}
