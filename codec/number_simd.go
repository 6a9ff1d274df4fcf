//go:build goexperiment.simd && amd64

package codec

import "math/bits"

// number carries what numbers demand from one block to the next; each field is 0 or 1.
type number struct {
	zeros         uint64 // the last byte was a zero that no digit may follow
	digits        uint64 // it was a digit, and likewise below
	dot           uint64
	sign          uint64
	exponent      uint64
	exponentSign  uint64
	first         uint64 // a minus at the start
	fraction      uint64 // a digit of a fraction
	exponentDigit uint64
	pending       uint64 // not 0 when one of them but digits is 1
}

// marks does the part of numbers that is about signs, dots and exponents. leading are the bytes behind a
// minus that begins a number.
func (n *number) marks(text *[blockBytes]uint8, scalar, digit, begin uint64) (wrong, leading uint64) {
	var k marks
	k.classify(text)
	minus, dot, plus, exponent := k.minus&scalar, k.dot&scalar, k.plus&scalar, k.exponent&scalar
	sign := minus | plus
	wrong = scalar &^ (digit | dot | sign | exponent)

	afterDigit := digit<<1 + n.digits
	afterDot := dot<<1 + n.dot
	afterSign := sign<<1 + n.sign
	afterExponent := exponent<<1 + n.exponent
	wrong |= minus&^(begin|afterExponent) | plus&^afterExponent | (dot|exponent)&^afterDigit
	wrong |= (afterDot|afterSign)&^digit | afterExponent&^(digit|sign)
	leading = begin&minus<<1 + n.first

	// Behind the digits of a fraction no dot, behind those of an exponent neither dot nor exponent. A one
	// added to the first digit of a run ripples to the byte behind the run.
	run, fraction := bits.Add64(afterDot&digit, digit, n.fraction)
	wrong |= run &^ digit & dot
	exponentSign := sign & afterExponent
	run, exponentDigit := bits.Add64((afterExponent|(exponentSign<<1+n.exponentSign))&digit, digit, n.exponentDigit)
	wrong |= run &^ digit & (dot | exponent)

	n.dot, n.sign, n.exponent = dot>>63, sign>>63, exponent>>63
	n.exponentSign, n.first = exponentSign>>63, begin&minus>>63
	n.fraction, n.exponentDigit = fraction, exponentDigit
	n.pending = n.dot | n.sign | n.exponent | n.exponentSign | n.first | fraction | exponentDigit
	return wrong, leading
}
