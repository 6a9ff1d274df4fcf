//go:build goexperiment.simd && amd64

package codec

import "simd/archsimd"

// blockBytes is the size of a block: one bit of a word for each byte.
const blockBytes = 64

// block says about each byte of 64 what it is, without regard to strings: bit i stands for byte i.
type block struct {
	quote, backslash, control, space uint64 // control: below 0x20
	comma, colon, open, close        uint64 // open and close are brackets of either shape
	curly                            uint64 // brackets of objects
	digit, zero, minus               uint64
}

// characters holds in each row one character that classify looks for, 32 times over. A load from memory
// costs less than a broadcast.
var characters = func() (all [charactersCount][32]uint8) {
	for row, c := range [charactersCount]uint8{'"', '\\', ' ', ',', ':', '0', '-', '+', '.', 0x1F, 9, '{', '}', '[', ']', 'e'} {
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
	zeroRow
	minusRow
	plusRow
	dotRow
	controlRow
	nineRow
	openCurlyRow
	closeCurlyRow
	openSquareRow
	closeSquareRow
	exponentRow
	charactersCount
)

// classify fills k from text. It leaves no register half dirty.
func (k *block) classify(text *[blockBytes]uint8) {
	lo, hi := halves(text)
	k.quote = equal(lo, hi, quoteRow)
	k.backslash = equal(lo, hi, backslashRow)
	k.space = equal(lo, hi, spaceRow)
	k.comma = equal(lo, hi, commaRow)
	k.colon = equal(lo, hi, colonRow)
	k.zero = equal(lo, hi, zeroRow)
	k.minus = equal(lo, hi, minusRow)
	most := row(controlRow)
	k.control = join(lo.Min(most).Equal(lo), hi.Min(most).Equal(hi))
	first, nine := row(zeroRow), row(nineRow)
	loDigit, hiDigit := lo.Sub(first), hi.Sub(first)
	k.digit = join(loDigit.Min(nine).Equal(loDigit), hiDigit.Min(nine).Equal(hiDigit))
	openCurly, closeCurly := equal(lo, hi, openCurlyRow), equal(lo, hi, closeCurlyRow)
	k.open = openCurly | equal(lo, hi, openSquareRow)
	k.close = closeCurly | equal(lo, hi, closeSquareRow)
	k.curly = openCurly | closeCurly
	archsimd.ClearAVXUpperBits()
}

// marks says which bytes of a block may stand in a number besides digits and minus.
type marks struct{ plus, dot, exponent uint64 } // exponent: e and E

// classify fills k from text, like that of block.
func (k *marks) classify(text *[blockBytes]uint8) {
	lo, hi := halves(text)
	k.plus = equal(lo, hi, plusRow)
	k.dot = equal(lo, hi, dotRow)
	bit5 := row(spaceRow) // makes e of E, and of nothing else
	k.exponent = equal(lo.Or(bit5), hi.Or(bit5), exponentRow)
	archsimd.ClearAVXUpperBits()
}

// row returns the character of a row in every byte.
func row(n int) archsimd.Uint8x32 { return archsimd.LoadUint8x32(&characters[n]) }

// equal returns which bytes equal the character of a row.
func equal(lo, hi archsimd.Uint8x32, n int) uint64 {
	all := row(n)
	return join(lo.Equal(all), hi.Equal(all))
}

func join(lo, hi archsimd.Mask8x32) uint64 { return uint64(lo.ToBits()) | uint64(hi.ToBits())<<32 }
