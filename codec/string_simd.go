//go:build goexperiment.simd && amd64

package codec

import (
	"math/bits"
	"simd/archsimd"
)

// prefixXor returns a word whose bit i is the parity of the bits 0 to i of x.
func prefixXor(x uint64) uint64 {
	if hasWide {
		return prefixXorWide(x)
	}
	x ^= x << 1
	x ^= x << 2
	x ^= x << 4
	x ^= x << 8
	x ^= x << 16
	x ^= x << 32
	return x
}

// oddities returns which bytes stand behind a backslash that is not itself behind one, and the control
// characters.
func (w *walk) oddities(k *window, alive uint64) (escaped, control uint64) {
	lo, hi := halves(blockOf(k))
	most := row(controlRow)
	control = join(lo.Min(most).Equal(lo), hi.Min(most).Equal(hi)) & alive
	backslash := equal(lo, hi, backslashRow) & alive
	archsimd.ClearAVXUpperBits()
	if backslash == 0 {
		escaped, w.escaped = w.escaped, 0
		return escaped, control
	}
	// A run of backslashes escapes what stands at odd distances from its start. Subtracting the start
	// of the run from the alternating pattern of odd places flips the pattern behind even starts.
	const odd = 0xAAAAAAAAAAAAAAAA
	run := backslash &^ w.escaped
	pattern := (run<<1 | odd) - run
	escaped = pattern ^ odd ^ (backslash | w.escaped)
	w.escaped = (pattern ^ odd) & backslash >> 63
	return escaped, control
}

// validOddities judges the bytes behind backslashes, and control characters: outside strings, tabs and line
// ends are white space.
func (w *walk) validOddities(escaped, control, inString uint64) bool {
	if control&inString != 0 {
		return false
	}
	for ; escaped != 0; escaped &= escaped - 1 {
		if skipEscape(w.b, w.at+bits.TrailingZeros64(escaped)-1) < 0 {
			return false
		}
	}
	for ; control != 0; control &= control - 1 {
		switch w.b[w.at+bits.TrailingZeros64(control)] {
		case '\t', '\r', '\n':
		default:
			return false
		}
	}
	return true
}

// plainBlocks returns how many bytes of b, which goes on with a string, are whole blocks of plain characters.
// high is not 0 when some of them are not ASCII.
func plainBlocks(b []byte) (n int, high uint64) {
	quote, backslash, most := row(quoteRow), row(backslashRow), row(controlRow)
	var all archsimd.Uint8x32
	rest := b
	for len(rest) >= blockBytes {
		lo, hi := halves((*[blockBytes]uint8)(rest))
		least := lo.Min(hi)
		if lo.Equal(quote).Or(hi.Equal(quote)).Or(lo.Equal(backslash)).Or(hi.Equal(backslash)).
			Or(least.Min(most).Equal(least)).ToBits() != 0 {
			break
		}
		all = all.Or(lo).Or(hi)
		rest = rest[blockBytes:]
	}
	high = uint64(all.AsInt8x32().Less(archsimd.Int8x32{}).ToBits())
	archsimd.ClearAVXUpperBits()
	return len(b) - len(rest), high
}
