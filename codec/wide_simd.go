//go:build goexperiment.simd && amd64

package codec

import "simd/archsimd"

// This file does with AVX-512 what block_simd.go and literal_simd.go do with AVX2.

var hasWide = archsimd.X86.AVX512() && archsimd.X86.AVX512VPCLMULQDQ()

// classifyWide does classify's work.
func (w *walk) classifyWide(text *[blockBytes]uint8) (quote, space, comma, colon, open, shut, curly, digit, zero uint64) {
	v := archsimd.LoadUint8x64(text)
	w.high |= v.AsInt8x64().Less(archsimd.Int8x64{}).ToBits()
	w.rare = v.Equal(rowWide(backslashRow)).Or(v.LessEqual(rowWide(controlRow))).ToBits()
	quote = equalWide(v, quoteRow)
	space = equalWide(v, spaceRow)
	comma = equalWide(v, commaRow)
	colon = equalWide(v, colonRow)
	zero = equalWide(v, zeroRow)
	digit = v.Add(rowWide(liftRow)).AsInt8x64().Greater(rowWide(liftedRow).AsInt8x64()).ToBits()
	bit5 := v.Or(rowWide(spaceRow))
	open = equalWide(bit5, openRow)
	shut = equalWide(bit5, closeRow)
	curly = bit5.Equal(v).ToBits()
	archsimd.ClearAVXUpperBits()
	return quote, space, comma, colon, open, shut, curly, digit, zero
}

// classifyWide does classify's work.
func (k *marks) classifyWide(text *[blockBytes]uint8) {
	v := archsimd.LoadUint8x64(text)
	k.minus = equalWide(v, minusRow)
	k.plus = equalWide(v, plusRow)
	k.dot = equalWide(v, dotRow)
	k.exponent = equalWide(v.Or(rowWide(spaceRow)), eRow)
	archsimd.ClearAVXUpperBits()
}

// spelledWide does spelled's work.
func spelledWide(k *window) (first, second, other, f uint64) {
	v := archsimd.LoadUint8x64(blockOf(k))
	before1 := archsimd.LoadUint8x64((*[blockBytes]uint8)(k[beforeBytes-1:]))
	before2 := archsimd.LoadUint8x64((*[blockBytes]uint8)(k[beforeBytes-2:]))
	first = archsimd.LoadUint8x64(&spelling[0]).PermuteOrZeroGrouped(v.AsInt8x64()).Equal(v).ToBits()
	second = archsimd.LoadUint8x64(&spelling[1]).PermuteOrZeroGrouped(before1.AsInt8x64()).Equal(v).ToBits()
	other = archsimd.LoadUint8x64(&spelling[2]).PermuteOrZeroGrouped(before2.AsInt8x64()).Equal(v).ToBits()
	f = equalWide(v, fRow)
	archsimd.ClearAVXUpperBits()
	return first, second, other, f
}

var ones = [2]uint64{^uint64(0), 0}

// prefixXorWide does prefixXor's work: a product without carries by all ones is just that.
func prefixXorWide(x uint64) uint64 {
	return archsimd.Uint64x2{}.SetElem(0, x).CarrylessMultiply(0, 0, archsimd.LoadUint64x2(&ones)).GetElem(0)
}

// rowWide returns the character of a row in every byte.
func rowWide(n int) archsimd.Uint8x64 { return archsimd.LoadUint8x64(&characters[n]) }

// equalWide returns which bytes equal the character of a row.
func equalWide(v archsimd.Uint8x64, n int) uint64 { return v.Equal(rowWide(n)).ToBits() }
