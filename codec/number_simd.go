//go:build goexperiment.simd && amd64

package codec

import "math/bits"

// number carries what numbers demand from one block to the next; each field is 0 or 1.
type number struct {
	any  uint64 // the last byte belonged to a number
	zero uint64 // it was a zero that no digit may follow
	marked
}

// marked is the part for numbers with more than digits.
type marked struct {
	digits        uint64 // the last byte was a digit, and likewise
	dot           uint64
	sign          uint64
	exponent      uint64
	exponentSign  uint64
	first         uint64 // a minus at the start
	fraction      uint64 // a digit of a fraction
	exponentDigit uint64
}

// numbers judges the bytes of scalar, which belong to numbers, in text; start says where scalars begin.
// It returns the bytes that must not be where they are.
func (n *number) numbers(k *block, text *[blockBytes]uint8, scalar, start uint64) (wrong uint64) {
	digit := k.digit & scalar
	begin := scalar &^ (scalar<<1 + n.any)
	wrong = begin &^ start // glued to a literal
	var leading uint64
	if digit != scalar || n.dot|n.sign|n.exponent|n.fraction|n.exponentDigit != 0 {
		var more uint64
		more, leading = n.marks(text, scalar, digit, k.minus&scalar, begin)
		wrong |= more
	}
	// No digit behind a zero that begins a number.
	zero := k.zero & digit & (begin | leading)
	wrong |= (zero<<1 + n.zero) & digit
	n.any, n.zero, n.digits = scalar>>63, zero>>63, digit>>63
	return wrong
}

// marks does the part of numbers that is about signs, dots and exponents. leading are the bytes behind a
// minus that begins a number.
func (n *marked) marks(text *[blockBytes]uint8, scalar, digit, minus, begin uint64) (wrong, leading uint64) {
	var k marks
	k.classify(text)
	dot, plus, exponent := k.dot&scalar, k.plus&scalar, k.exponent&scalar
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
	return wrong, leading
}
