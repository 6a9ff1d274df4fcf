//go:build goexperiment.simd && amd64

package codec

import (
	"encoding/binary"
	"math/bits"
)

// words holds true, false and null by bits 3 and 4 of their first characters, which differ.
var words = [4]struct{ text, mask, bits uint64 }{
	't' >> 3 & 3: {'t' | 'r'<<8 | 'u'<<16 | 'e'<<24, 0xFFFFFFFF, 0xF},
	'n' >> 3 & 3: {'n' | 'u'<<8 | 'l'<<16 | 'l'<<24, 0xFFFFFFFF, 0xF},
	'f' >> 3 & 3: {'f' | 'a'<<8 | 'l'<<16 | 's'<<24 | 'e'<<32, 0xFFFFFFFFFF, 0x1F},
	3:            {1, 0, 0}, // never equal
}

// literals judges the scalars that begin where starts says and are no numbers. It returns the bytes of
// this block that belong to them.
//
// No branch tells the three words apart, because none could be predicted.
func (w *walk) literals(b []byte, at int, starts uint64) (literal uint64, ok bool) {
	literal, w.literal = w.literal, 0
	var wrong uint64
	for ; starts != 0; starts &= starts - 1 {
		i := bits.TrailingZeros64(starts) & 63
		if at+i+5 > len(b) { // a bracket is still to come
			return 0, false
		}
		text := b[at+i : at+i+5]
		word := &words[text[0]>>3&3]
		wrong |= (uint64(binary.LittleEndian.Uint32(text))|uint64(text[4])<<32)&word.mask ^ word.text
		literal |= word.bits << i
		w.literal = word.bits >> 1 >> (63 - i)
	}
	return literal, wrong == 0
}
