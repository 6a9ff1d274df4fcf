//go:build goexperiment.simd && amd64

package codec

import "simd/archsimd"

// This file and tokens_simd.s accept containers fast on processors with AVX-512: what they do not accept is
// judged again, by skipDense, so that they may give up on whatever is rare.
//
// It takes two steps. The first looks at 64 bytes at a time: it finds the strings, checks what is in
// them, checks numbers and literals by looking at each byte with the two before it, and writes one byte for
// each token, be it ever so long, behind each other. The second looks at 64 tokens at a time: it matches
// brackets and checks each token with the two before it.

// hasTokens says that scanTokens runs on this processor.
var hasTokens = hasWide && archsimd.X86.AVX512VBMI() && archsimd.X86.AVX512VBMI2() && hasBMI()

// hasBMI asks the processor for BMI1 and BMI2. Every one with VBMI2 has them, unless a virtual machine hides them.
func hasBMI() bool

// scanTokens accepts the container whose inside begins at the lowest bit of alive, in the first of so many
// blocks; object is 1 when it is an object, 0 for an array. It returns how many bytes there are from first
// to behind its end, 0 when it is invalid, nests more than limit levels (at most 63), goes on behind the
// blocks, or has something rare in it. high is false when it is ASCII. It reads no byte outside the blocks. c is
// tokens.
//
//go:noescape
func scanTokens(c *classes, first *[blockBytes]uint8, blocks int, alive, object uint64, limit int) (end int, high bool)

// What a byte outside strings is to numbers and literals: the lower half of its class.
const (
	elseByte = iota // to neither
	digitByte
	zeroByte
	dotByte
	minusByte
	plusByte
	eByte // e and E follow each other, and the first one is even
	capitalByte
	tByte
	rByte
	uByte
	fByte
	aByte
	lByte
	sByte
	nByte
)

// What a token is: the upper half of the class of its last byte.
const (
	scalarToken = iota
	stringToken // its closing quote
	commaToken  // of an array
	colonToken
	openToken
	openObjectToken
	shutToken
	shutObjectToken
	memberToken = commaToken + 8 // a comma of an object
)

// wrongByte is the class of what must not stand outside strings.
const wrongByte = 0x80

// What is known of a character behind a backslash.
const (
	simpleEscaped = 1 << iota // also u
	unicodeEscaped
	hexDigit
)

// classes are the tables and constants of scanTokens. Rows are as long as a vector register; a table of
// halves stands in it four times.
type classes struct {
	class  [128]uint8 // of each ASCII character outside strings
	escape [128]uint8

	// What a byte is part of, if anything, in each bit one rule that three bytes in a row break together, or two.
	pairBefore, pair                       [blockBytes]uint8
	tripleBefore2, tripleBefore, triple    [blockBytes]uint8
	grammarBefore2, grammarBefore, grammar [blockBytes]uint8
	quote, backslash, control              [blockBytes]uint8
	lower, upper, dot, even, exponent      [blockBytes]uint8
	bracket, shut, curly, comma, member    [blockBytes]uint8
	simple, unicode, hex                   [blockBytes]uint8
	ones                                   [2]uint64
}

var tokens = makeClasses()

func makeClasses() *classes {
	c := &classes{ones: [2]uint64{^uint64(0), 0}}
	c.classify()
	c.bytesInARow()
	c.tokensInARow()
	for row, value := range map[*[blockBytes]uint8]uint8{
		&c.quote: '"', &c.backslash: '\\', &c.control: 0x1F,
		&c.lower: 0x0F, &c.upper: 0x70, &c.dot: dotByte, &c.even: 0xFE, &c.exponent: eByte,
		&c.bracket: openToken << 4, &c.shut: shutToken << 4, &c.curly: 1 << 4, &c.comma: commaToken << 4, &c.member: memberToken - commaToken,
		&c.simple: simpleEscaped, &c.unicode: unicodeEscaped, &c.hex: hexDigit,
	} {
		for i := range row {
			row[i] = value
		}
	}
	return c
}

func (c *classes) classify() {
	for i := range c.class {
		c.class[i] = wrongByte
	}
	for i, class := range map[byte]uint8{
		' ': elseByte, '\t': elseByte, '\r': elseByte, '\n': elseByte,
		'"': stringToken << 4, ',': commaToken << 4, ':': colonToken << 4,
		'[': openToken << 4, '{': openObjectToken << 4, ']': shutToken << 4, '}': shutObjectToken << 4,
		'0': zeroByte, '.': dotByte, '-': minusByte, '+': plusByte, 'e': eByte, 'E': capitalByte,
		't': tByte, 'r': rByte, 'u': uByte, 'f': fByte, 'a': aByte, 'l': lByte, 's': sByte, 'n': nByte,
	} {
		c.class[i] = class
	}
	for i := byte('1'); i <= '9'; i++ {
		c.class[i] = digitByte
	}
	for _, i := range `"\/bfnrtu` {
		c.escape[i] |= simpleEscaped
	}
	c.escape['u'] |= unicodeEscaped
	for _, i := range "0123456789abcdefABCDEF" {
		c.escape[i] |= hexDigit
	}
}

// set is a set of halves of a class, a bit for each.
type set uint16

func of(members ...uint8) (s set) {
	for _, member := range members {
		s |= 1 << member
	}
	return s
}

const anything = ^set(0)

// rule is what must not follow each other: one of before2, one of before, and one of this.
type rule struct{ before2, before, this set }

// fill writes up to eight rules into the tables, which are for the byte two before, the one before and the byte
// itself.
func fill(before2, before, this *[blockBytes]uint8, rules []rule) {
	for bit, r := range rules {
		for i := range blockBytes {
			before2[i] |= uint8(r.before2>>(i&15)&1) << bit
			before[i] |= uint8(r.before>>(i&15)&1) << bit
			this[i] |= uint8(r.this>>(i&15)&1) << bit
		}
	}
}

// bytesInARow fills in what numbers and literals must not have. What remains to be checked is that a number
// has one dot at most, and neither dot nor exponent behind an exponent. One rule refuses too much: a zero at the
// start of an exponent with a minus.
func (c *classes) bytesInARow() {
	digits := of(digitByte, zeroByte)
	letters := of(tByte, rByte, uByte, eByte, fByte, aByte, lByte, sByte, nByte)
	var ignored [blockBytes]uint8
	fill(&ignored, &c.pairBefore, &c.pair, []rule{
		// Starts, and what may follow in numbers.
		{anything, of(elseByte), of(dotByte, plusByte, eByte, capitalByte, rByte, uByte, aByte, lByte, sByte)},
		{anything, of(dotByte, minusByte, plusByte), ^digits},
		{anything, digits, of(minusByte, plusByte) | letters&^of(eByte)},
		// In true, false and null a letter follows from the one before, or two.
		{anything, of(tByte), ^of(rByte)},
		{anything, of(rByte, nByte), ^of(uByte)},
		{anything, of(fByte), ^of(aByte)},
		{anything, of(aByte), ^of(lByte)},
		{anything, of(sByte, uByte), ^of(eByte, lByte)},
	})
	fill(&c.tripleBefore2, &c.tripleBefore, &c.triple, []rule{
		{of(uByte, sByte), of(eByte), ^of(elseByte)},
		{of(aByte), of(lByte), ^of(sByte)},
		{of(uByte), of(lByte), ^of(lByte)},
		{of(lByte), of(lByte), ^of(elseByte)},
		{of(rByte, lByte), of(uByte, sByte), of(lByte)},
		{of(nByte), of(uByte), of(eByte)},
		{of(elseByte, minusByte), of(zeroByte), digits},
		{digits, of(eByte, capitalByte), ^(digits | of(minusByte, plusByte))},
	})
}

// tokensInARow fills in what tokens must not follow each other. What remains to be checked is that brackets
// match.
func (c *classes) tokensInARow() {
	begin := of(scalarToken, stringToken, openToken, openObjectToken) // a value
	shut := of(shutToken, shutObjectToken)
	commas := of(commaToken, memberToken)
	beforeName := of(openObjectToken, memberToken)
	fill(&c.grammarBefore2, &c.grammarBefore, &c.grammar, []rule{
		{anything, of(openObjectToken), ^of(stringToken, shutObjectToken)},
		{anything, of(openToken), ^(begin | of(shutToken))},
		{anything, of(commaToken, colonToken), ^begin},
		{anything, of(memberToken), ^of(stringToken)},
		{anything, of(scalarToken) | shut, ^(commas | shut)},
		{anything, of(stringToken), begin},
		{beforeName, of(stringToken), ^of(colonToken)},
		{^beforeName, of(stringToken), of(colonToken)},
	})
}
