//go:build goexperiment.simd && amd64

package codec

import (
	"encoding/binary"
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

// skipASCII returns the index of the first byte of b that is not ASCII, len(b) when there is none.
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

// skipText returns the index behind the container at b[i] if that is an object of one member, a long
// string, and 0 when it is anything else: so text is often sent. Nothing may be wrong with it. high is false
// when it is ASCII.
func skipText(b []byte, i int) (end int, high bool) {
	const nameBytes, plainBytes = 8, 32
	if i+nameBytes+plainBytes+5 > len(b) || b[i] != '{' || b[i+1] != '"' {
		return 0, false
	}
	name := binary.LittleEndian.Uint64(b[i+2:])
	hit := special(name)
	i += 2 + bits.TrailingZeros64(hit)>>3 // behind the name
	if hit == 0 || b[i] != '"' || b[i+1] != ':' || b[i+2] != '"' {
		return 0, false
	}
	i += 3
	v := archsimd.LoadUint8x32((*[plainBytes]uint8)(b[i:]))
	hits := v.Equal(row(quoteRow)).Or(v.Equal(row(backslashRow))).Or(v.Min(row(controlRow)).Equal(v)).ToBits()
	archsimd.ClearAVXUpperBits()
	if hits != 0 {
		return 0, false
	}
	n, more := plainBlocks(b[i:])
	if end = skipString(b, i+n); end < 0 || end >= len(b) || b[end] != '}' {
		return 0, false
	}
	return end + 1, name&highs|more != 0 || skipASCII(b[i+n:end]) < end-i-n
}
