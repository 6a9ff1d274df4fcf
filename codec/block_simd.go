//go:build goexperiment.simd && amd64

package codec

import "simd/archsimd"

// blockBytes is the size of a block: one bit of a word for each byte.
const blockBytes = 64

// block says about each byte of 64 what it is, without regard to strings: bit i stands for byte i.
type block struct {
	quote, backslash, control, space        uint64 // control: below 0x20
	comma, colon, open, close               uint64 // open and close are brackets of either shape
	digit, zero, minus, plus, dot, exponent uint64 // exponent: e and E
}

// classify fills k from text. It leaves no register half dirty.
func (k *block) classify(text *[blockBytes]uint8) {
	lo, hi := halves(text)
	k.quote = equal(lo, hi, '"')
	k.backslash = equal(lo, hi, '\\')
	k.space = equal(lo, hi, ' ')
	k.comma = equal(lo, hi, ',')
	k.colon = equal(lo, hi, ':')
	k.zero = equal(lo, hi, '0')
	k.minus = equal(lo, hi, '-')
	k.plus = equal(lo, hi, '+')
	k.dot = equal(lo, hi, '.')
	most := archsimd.BroadcastUint8x32(0x1F)
	k.control = join(lo.Min(most).Equal(lo), hi.Min(most).Equal(hi))
	first, nine := archsimd.BroadcastUint8x32('0'), archsimd.BroadcastUint8x32(9)
	loDigit, hiDigit := lo.Sub(first), hi.Sub(first)
	k.digit = join(loDigit.Min(nine).Equal(loDigit), hiDigit.Min(nine).Equal(hiDigit))
	// With bit 5 set, [ and { are one character, ] and }, and E and e too, and nothing else joins them.
	bit5 := archsimd.BroadcastUint8x32(0x20)
	lo, hi = lo.Or(bit5), hi.Or(bit5)
	k.open = equal(lo, hi, '{')
	k.close = equal(lo, hi, '}')
	k.exponent = equal(lo, hi, 'e')
	archsimd.ClearAVXUpperBits()
}

// equal returns which bytes equal c.
func equal(lo, hi archsimd.Uint8x32, c uint8) uint64 {
	all := archsimd.BroadcastUint8x32(c)
	return join(lo.Equal(all), hi.Equal(all))
}

func join(lo, hi archsimd.Mask8x32) uint64 { return uint64(lo.ToBits()) | uint64(hi.ToBits())<<32 }
