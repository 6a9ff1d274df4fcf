package codec

// skipRune returns the index behind the multi-byte UTF-8 sequence at b[i], -1 when it is overlong, a
// surrogate, above U+10FFFF, cut short or a lone continuation byte.
func skipRune(b []byte, i int) int {
	c := b[i]
	switch {
	case c < 0xC2:
		return -1
	case c < 0xE0:
		if i+2 <= len(b) && continuation(b[i+1]) {
			return i + 2
		}
	case c < 0xF0:
		if i+3 > len(b) || !continuation(b[i+1]) || !continuation(b[i+2]) {
			return -1
		}
		if c == 0xE0 && b[i+1] < 0xA0 || c == 0xED && b[i+1] >= 0xA0 {
			return -1
		}
		return i + 3
	case c < 0xF5:
		if i+4 > len(b) || !continuation(b[i+1]) || !continuation(b[i+2]) || !continuation(b[i+3]) {
			return -1
		}
		if c == 0xF0 && b[i+1] < 0x90 || c == 0xF4 && b[i+1] >= 0x90 {
			return -1
		}
		return i + 4
	}
	return -1
}

func continuation(c byte) bool { return c&0xC0 == 0x80 }
