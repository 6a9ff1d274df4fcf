//go:build goexperiment.simd && amd64

package codec

import "math/bits"

// number carries what numbers demand from one block to the next; each field is 0 or 1.
type number struct {
	any           uint64 // the last byte belonged to a number, and likewise
	digits        uint64
	dot           uint64
	sign          uint64
	exponent      uint64
	exponentSign  uint64
	zero          uint64 // a zero that no digit may follow
	first         uint64 // a minus at the start
	fraction      uint64 // the last byte was a digit of a fraction
	exponentDigit uint64
}

// numbers judges the bytes of scalar, which belong to numbers; start says where scalars begin. It
// returns the bytes that must not be where they are.
func (n *number) numbers(k *block, scalar, start uint64) (wrong uint64) {
	digit, dot := k.digit&scalar, k.dot&scalar
	minus, plus, exponent := k.minus&scalar, k.plus&scalar, k.exponent&scalar
	sign := minus | plus
	wrong = scalar &^ (digit | dot | sign | exponent)
	begin := scalar &^ (scalar<<1 | n.any)
	wrong |= begin &^ start // glued to a literal

	afterDigit := digit<<1 | n.digits
	afterDot := dot<<1 | n.dot
	afterSign := sign<<1 | n.sign
	afterExponent := exponent<<1 | n.exponent
	wrong |= minus&^(begin|afterExponent) | plus&^afterExponent | (dot|exponent)&^afterDigit
	wrong |= (afterDot|afterSign)&^digit | afterExponent&^(digit|sign)

	// No digit behind a zero that begins a number.
	leading := begin&minus<<1 | n.first
	zero := k.zero & digit & (begin | leading)
	wrong |= (zero<<1 | n.zero) & digit

	// Behind the digits of a fraction no dot, behind those of an exponent neither dot nor exponent. A one
	// added to the first digit of a run ripples to the byte behind the run.
	run, fraction := bits.Add64(afterDot&digit, digit, n.fraction)
	wrong |= run &^ digit & dot
	exponentSign := sign & afterExponent
	run, exponentDigit := bits.Add64((afterExponent|exponentSign<<1|n.exponentSign)&digit, digit, n.exponentDigit)
	wrong |= run &^ digit & (dot | exponent)

	n.any, n.digits, n.dot, n.sign, n.exponent = scalar>>63, digit>>63, dot>>63, sign>>63, exponent>>63
	n.exponentSign, n.zero, n.first = exponentSign>>63, zero>>63, begin&minus>>63
	n.fraction, n.exponentDigit = fraction, exponentDigit
	return wrong
}
