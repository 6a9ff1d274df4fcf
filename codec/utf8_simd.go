//go:build goexperiment.simd && amd64

package codec

import (
	"simd/archsimd"
	"unicode/utf8"
)

// The vector check of UTF-8 follows Keiser and Lemire, "Validating UTF-8 in less than one instruction
// per byte" (2021): three table look-ups by the halves of two neighbouring bytes yield what may be wrong
// with the pair, one bit a mistake; it is wrong when all three agree.

// pairs lists the mistakes: which halves make them, as sets of half bytes.
var pairs = [8]struct{ firstHigh, firstLow, secondHigh uint16 }{
	{0xF000, 0xFFFF, 0xF0FF}, // a lead byte, then no continuation
	{0x00FF, 0xFFFF, 0x0F00}, // ASCII, then a continuation
	{0x1000, 0x0003, 0x0F00}, // C0 and C1: overlong
	{0x4000, 0x0001, 0x0300}, // E0, then less than A0: overlong
	{0x4000, 0x2000, 0x0C00}, // ED, then A0 or more: a surrogate
	{0x8000, 0xFFF0, 0x0E00}, // F4 and above, then 90 or more: above U+10FFFF
	{0x8000, 0xFFE1, 0x0100}, // F0, then less than 90: overlong; F5 and above, then less than 90
	{0x0F00, 0xFFFF, 0x0F00}, // two continuations: right behind a lead of three or four bytes only
}

// mistakes holds pairs as look-up tables, each twice, for either half of a register.
var mistakes = func() (t struct{ firstHigh, firstLow, secondHigh [32]uint8 }) {
	for bit, pair := range pairs {
		for i := range 32 {
			t.firstHigh[i] |= uint8(pair.firstHigh>>(i&15)&1) << bit
			t.firstLow[i] |= uint8(pair.firstLow>>(i&15)&1) << bit
			t.secondHigh[i] |= uint8(pair.secondHigh>>(i&15)&1) << bit
		}
	}
	return t
}()

// reachBytes is how many bytes mistaken looks at: 32, and the three before them.
const reachBytes = 35

// validFrom reports whether b is UTF-8 from b[i] on; what stands before is ASCII.
func validFrom(b []byte, i int) bool {
	n := len(b)
	if !hasAVX2 || n < reachBytes {
		return utf8.Valid(b[i:])
	}
	if b[n-1] >= 0xC0 || b[n-2] >= 0xE0 || b[n-3] >= 0xF0 { // goes on behind the end
		return false
	}
	var wrong archsimd.Uint8x32
	if i < 3 {
		var first [reachBytes]uint8
		copy(first[3:], b)
		wrong = mistaken(&first, wrong)
		i = 32
	}
	rest := b[i-3:]
	for ; len(rest) >= reachBytes+32; rest = rest[64:] {
		wrong = mistaken((*[reachBytes]uint8)(rest[32:]), mistaken((*[reachBytes]uint8)(rest), wrong))
	}
	if len(rest) >= reachBytes {
		wrong = mistaken((*[reachBytes]uint8)(rest), wrong)
		rest = rest[32:]
	}
	if len(rest) > 3 {
		wrong = mistaken((*[reachBytes]uint8)(b[n-reachBytes:]), wrong)
	}
	right := wrong.IsZero()
	archsimd.ClearAVXUpperBits()
	return right
}

// constants holds what mistaken needs. Loads cost less than broadcasts.
var constants = func() (t struct {
	low, third, fourth, top [32]uint8
	four                    [8]uint32
}) {
	for i := range 32 {
		t.low[i], t.third[i], t.fourth[i], t.top[i], t.four[i/4] = 0x0F, 0xE0-0x80, 0xF0-0x80, 0x80, 4
	}
	return t
}()

// mistaken adds to wrong a non-zero byte for each of the last 32 bytes of window that is wrong after the
// three before it.
func mistaken(window *[reachBytes]uint8, wrong archsimd.Uint8x32) archsimd.Uint8x32 {
	low, four := archsimd.LoadUint8x32(&constants.low), archsimd.LoadUint32x8(&constants.four)
	second := archsimd.LoadUint8x32((*[32]uint8)(window[3:]))
	first := archsimd.LoadUint8x32((*[32]uint8)(window[2:]))
	firstHigh := first.AsUint32x8().ShiftRight(four).AsUint8x32().And(low).AsInt8x32()
	secondHigh := second.AsUint32x8().ShiftRight(four).AsUint8x32().And(low).AsInt8x32()
	pair := archsimd.LoadUint8x32(&mistakes.firstHigh).PermuteOrZeroGrouped(firstHigh).
		And(archsimd.LoadUint8x32(&mistakes.firstLow).PermuteOrZeroGrouped(first.And(low).AsInt8x32())).
		And(archsimd.LoadUint8x32(&mistakes.secondHigh).PermuteOrZeroGrouped(secondHigh))
	// Bit 7 must be set exactly where a third or fourth byte of a sequence belongs.
	third := archsimd.LoadUint8x32((*[32]uint8)(window[1:])).SubSaturated(archsimd.LoadUint8x32(&constants.third))
	fourth := archsimd.LoadUint8x32((*[32]uint8)(window[:])).SubSaturated(archsimd.LoadUint8x32(&constants.fourth))
	return third.Or(fourth).And(archsimd.LoadUint8x32(&constants.top)).Xor(pair).Or(wrong)
}
