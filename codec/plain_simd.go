//go:build goexperiment.simd && amd64

package codec

import (
	"math/bits"
	"simd/archsimd"
)

// This file has the inner loops with AVX2; plain.go has those for other builds, with the same answers.
// 256-bit code clears the upper halves of the registers before it returns: leaving them dirty makes
// every older vector instruction that follows cost a merge.

var hasAVX2 = archsimd.X86.AVX2()

// halves loads a block of 64 bytes.
func halves(block *[64]uint8) (lo, hi archsimd.Uint8x32) {
	return archsimd.LoadUint8x32((*[32]uint8)(block[:32])), archsimd.LoadUint8x32((*[32]uint8)(block[32:]))
}

// skipPlain returns an index from i on, up to which the inside of a string needs no look: none of the
// bytes before it is a quote, a backslash or a control character. It reads whole blocks of b and leaves
// what is behind the last one to its caller.
func skipPlain(b []byte, i int) int {
	if !hasAVX2 || i+64 > len(b) {
		return i
	}
	quote, backslash, control := archsimd.BroadcastUint8x32('"'), archsimd.BroadcastUint8x32('\\'), archsimd.BroadcastUint8x32(0x1F)
	var hit uint64
	rest := b[i:]
	for len(rest) >= 64 {
		lo, hi := halves((*[64]uint8)(rest))
		inLo := lo.Equal(quote).Or(lo.Equal(backslash)).Or(lo.Min(control).Equal(lo))
		inHi := hi.Equal(quote).Or(hi.Equal(backslash)).Or(hi.Min(control).Equal(hi))
		hit = uint64(inLo.ToBits()) | uint64(inHi.ToBits())<<32
		if hit != 0 {
			break
		}
		rest = rest[64:]
	}
	archsimd.ClearAVXUpperBits()
	i = len(b) - len(rest)
	if hit != 0 {
		i += bits.TrailingZeros64(hit)
	}
	return i
}

// skipASCII returns the index of the first byte of b that is not ASCII, or one shortly before it; len(b)
// means that all of b is ASCII.
func skipASCII(b []byte) int {
	if !hasAVX2 || len(b) < 64 {
		return skipASCIIWords(b, 0)
	}
	rest := b
	for len(rest) >= 64 {
		lo, hi := halves((*[64]uint8)(rest))
		if lo.Or(hi).AsInt8x32().Less(archsimd.Int8x32{}).ToBits() != 0 {
			break
		}
		rest = rest[64:]
	}
	archsimd.ClearAVXUpperBits()
	return skipASCIIWords(b, len(b)-len(rest))
}
