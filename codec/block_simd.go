//go:build goexperiment.simd && amd64

package codec

import "simd/archsimd"

// blockBytes is the size of a block: one bit of a word for each byte.
const blockBytes = 64

// window is a block and the bytes before it that literals look at.
type window = [windowBytes]uint8

const (
	beforeBytes = 2
	windowBytes = beforeBytes + blockBytes
)

// blockOf returns the block in a window.
func blockOf(k *window) *[blockBytes]uint8 { return (*[blockBytes]uint8)(k[beforeBytes:]) }

// characters holds in each row one character that classify looks for, 64 times over. A load from memory
// costs less than a broadcast.
var characters = func() (all [charactersCount][blockBytes]uint8) {
	for row, c := range [charactersCount]uint8{'"', '\\', ' ', ',', ':', '{', '}', '0', '-', '+', '.', 'e', 0x1F, 0x7F - '9', 0x7F - 10, 'f'} {
		for i := range all[row] {
			all[row][i] = c
		}
	}
	return all
}()

// The rows of characters.
const (
	quoteRow = iota
	backslashRow
	spaceRow
	commaRow
	colonRow
	openRow
	closeRow
	zeroRow
	minusRow
	plusRow
	dotRow
	eRow
	controlRow
	liftRow   // makes the ten largest signed bytes of the digits
	liftedRow // the byte below those
	fRow
	charactersCount
)

// classify says of each byte of text what it is, without regard to strings: bit i stands for byte i. open and
// shut are brackets of either shape; curly tells those of objects, and means nothing elsewhere. What is rare
// is noted in w only. No register is left half dirty.
func (w *walk) classify(text *[blockBytes]uint8) (quote, space, comma, colon, open, shut, curly, digit, zero uint64) {
	lo, hi := halves(text)
	w.high |= uint64(lo.Or(hi).AsInt8x32().Less(archsimd.Int8x32{}).ToBits())
	backslash, most, least := row(backslashRow), row(controlRow), lo.Min(hi)
	w.rare = uint64(lo.Equal(backslash).Or(hi.Equal(backslash)).Or(least.Min(most).Equal(least)).ToBits())
	quote = equal(lo, hi, quoteRow)
	space = equal(lo, hi, spaceRow)
	comma = equal(lo, hi, commaRow)
	colon = equal(lo, hi, colonRow)
	zero = equal(lo, hi, zeroRow)
	lift, limit := row(liftRow), row(liftedRow).AsInt8x32()
	digit = join(lo.Add(lift).AsInt8x32().Greater(limit), hi.Add(lift).AsInt8x32().Greater(limit))
	// Square brackets differ from curly ones in bit 5, which no other characters that become equal have.
	bit5 := row(spaceRow)
	lo5, hi5 := lo.Or(bit5), hi.Or(bit5)
	open = equal(lo5, hi5, openRow)
	shut = equal(lo5, hi5, closeRow)
	curly = join(lo5.Equal(lo), hi5.Equal(hi))
	archsimd.ClearAVXUpperBits()
	return quote, space, comma, colon, open, shut, curly, digit, zero
}

// marks says which bytes of a block may stand in a number besides digits.
type marks struct{ minus, plus, dot, exponent uint64 } // exponent: e and E

// classify fills k from text.
func (k *marks) classify(text *[blockBytes]uint8) {
	if hasWide {
		k.classifyWide(text)
		return
	}
	lo, hi := halves(text)
	k.minus = equal(lo, hi, minusRow)
	k.plus = equal(lo, hi, plusRow)
	k.dot = equal(lo, hi, dotRow)
	bit5 := row(spaceRow) // makes e of E, and of nothing else
	k.exponent = equal(lo.Or(bit5), hi.Or(bit5), eRow)
	archsimd.ClearAVXUpperBits()
}

// row returns the character of a row in every byte.
func row(n int) archsimd.Uint8x32 { return archsimd.LoadUint8x32((*[32]uint8)(characters[n][:])) }

// equal returns which bytes equal the character of a row.
func equal(lo, hi archsimd.Uint8x32, n int) uint64 {
	all := row(n)
	return join(lo.Equal(all), hi.Equal(all))
}

func join(lo, hi archsimd.Mask8x32) uint64 { return uint64(lo.ToBits()) | uint64(hi.ToBits())<<32 }
