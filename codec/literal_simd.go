//go:build goexperiment.simd && amd64

package codec

import "simd/archsimd"

// letters carries what literals demand from one block to the next.
type letters struct {
	word, f uint64 // where the last block had words begin, and false
	literal uint64 // bit 0: behind a word
}

// In true, false and null the second letter follows from the first, and each further one from that two
// before it. Row k of spelling holds which letter stands k bytes behind another, by the low half of that
// other one, once for each quarter of a block. In row 0 first letters find themselves, and no other byte.
var spelling = func() (all [3][blockBytes]uint8) {
	for i := range all[0] {
		all[0][i] = 0xFF
	}
	for _, word := range []string{"true", "false", "null"} {
		all[0][word[0]&15] = word[0]
		all[1][word[0]&15] = word[1]
		for i := 2; i < len(word); i++ {
			all[2][word[i-2]&15] = word[i]
		}
	}
	for i := range all {
		for k := 16; k < blockBytes; k += 16 {
			copy(all[i][k:], all[i][:16])
		}
	}
	return all
}()

// spelled returns which bytes may begin a word, which are the right ones behind a first letter, which are the
// right ones two behind a letter, and which are f.
func spelled(k *window) (first, second, other, f uint64) {
	lo, hi := halves(blockOf(k))
	lo1, hi1 := halves((*[blockBytes]uint8)(k[beforeBytes-1:]))
	lo2, hi2 := halves((*[blockBytes]uint8)(k[beforeBytes-2:]))
	first = join(follows(lo, 0, lo), follows(hi, 0, hi))
	second = join(follows(lo1, 1, lo), follows(hi1, 1, hi))
	other = join(follows(lo2, 2, lo), follows(hi2, 2, hi))
	f = equal(lo, hi, fRow)
	archsimd.ClearAVXUpperBits()
	return first, second, other, f
}

// follows returns which letters are what row k says, by the bytes k before them.
func follows(before archsimd.Uint8x32, k int, letter archsimd.Uint8x32) archsimd.Mask8x32 {
	return archsimd.LoadUint8x32((*[32]uint8)(spelling[k][:])).PermuteOrZeroGrouped(before.AsInt8x32()).Equal(letter)
}

// literals judges the words that begin where starts says. It returns the bytes of this block that belong to
// them and those that are wrong. What does not begin like a word is left to numbers.
func (w *walk) literals(k *window, starts uint64) (literal, wrong uint64) {
	var first, second, other, f uint64
	if hasWide {
		first, second, other, f = spelledWide(k)
	} else {
		first, second, other, f = spelled(k)
	}
	f &= starts
	word := starts & first
	at1 := word<<1 | w.word>>63
	at23 := word<<2 | w.word>>62 | word<<3 | w.word>>61
	at4 := f<<4 | w.f>>60
	w.word, w.f = word, f
	return word | at1 | at23 | at4, at1&^second | (at23|at4)&^other
}
