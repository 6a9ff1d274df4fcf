//go:build goexperiment.simd && amd64

package codec

import (
	"math"
	"math/bits"
)

// This file judges a container 64 bytes at a time: each rule of the grammar is arithmetic on words with
// one bit a byte, so that only brackets, literals and escapes are looked at one by one. Whatever a byte
// demands of the bytes behind it crosses into the next block as a carry.

// denseBytesMin is from how many bytes on a container is judged in blocks.
var denseBytesMin = func() int {
	if hasAVX2 {
		return 72
	}
	return math.MaxInt
}()

// walk is what is known at the end of a block. Fields that say "bit 0" are 0 or 1 and concern the first
// byte of the next block.
type walk struct {
	block
	open  nesting
	depth int

	object   uint64 // all ones when the innermost open container is an object
	inString uint64 // all ones inside a string
	inName   uint64 // bit 0: the string is a member name
	escaped  uint64 // bit 0: behind a backslash
	literal  uint64 // the first bytes that belong to true, false or null
	scalar   uint64 // bit 0: behind a byte of a number or literal

	// Bit 0: the next byte that is no white space must be …
	end   uint64 // a comma or closing bracket
	colon uint64 // a colon
	value uint64 // the start of a value
	name  uint64 // the start of a name
	empty uint64 // … or may be a closing bracket instead
	number
}

// skipDense does skipValue's work for the container that opens at b[i].
func skipDense(b []byte, i, depth int) int {
	w := walk{depth: depth, value: 1}
	for i+blockBytes <= len(b) {
		end, ok := w.step(b, i, (*[blockBytes]uint8)(b[i:]))
		if !ok {
			return -1
		}
		if end != 0 {
			return end
		}
		i += blockBytes
		if w.inString != 0 && w.escaped == 0 && w.quote>>32 == 0 { // seems to be a long one
			i = skipPlain(b, i)
		}
	}
	var last [blockBytes]uint8
	for k := copy(last[:], b[i:]); k < blockBytes; k++ {
		last[k] = ' '
	}
	if end, ok := w.step(b, i, &last); ok && end != 0 {
		return end
	}
	return -1
}

// step judges the block text, which is b[at:] filled up with spaces. When the outermost container ends in
// it, end is the index behind.
func (w *walk) step(b []byte, at int, text *[blockBytes]uint8) (end int, ok bool) {
	w.classify(text)
	escaped := w.escapes()
	quote := w.quote &^ escaped
	inString := prefixXor(quote) ^ w.inString
	opening, closing := quote&inString, quote&^inString
	outside := ^(inString | closing)
	space := w.space & outside
	if w.control&outside != 0 {
		more, ok := rareSpace(text, w.control&outside)
		if !ok {
			return 0, false
		}
		space |= more
	}
	w.block.open &= outside
	w.close &= outside
	w.comma &= outside
	w.block.colon &= outside
	brackets := w.block.open | w.close
	object, keep := w.object, ^uint64(0)
	if brackets != 0 {
		if object, keep, ok = w.brackets(); !ok {
			return 0, false
		}
		if w.open.level == 0 {
			end = at + bits.Len64(keep)
		}
	}
	if escaped &= keep; escaped != 0 && !validEscapes(b, at, escaped) {
		return 0, false
	}
	scalar := outside &^ (space | w.comma | w.block.colon | brackets)
	start := scalar &^ (scalar<<1 + w.scalar)
	wrong := w.control&inString | w.order(object, inString, opening, closing, space, scalar, start)
	literal := w.literal
	if begun := start & keep &^ (w.digit | w.minus); begun|literal != 0 {
		if literal, ok = w.literals(b, at, begun); !ok {
			return 0, false
		}
	}
	wrong |= w.numbers(&w.block, text, scalar&^literal, start)
	w.inString = uint64(int64(inString) >> 63)
	w.scalar = scalar >> 63
	return end, wrong&keep == 0
}

// order judges which tokens stand behind which and returns those that must not be where they are. object
// says before which bytes the innermost container is an object; start is where scalars begin.
func (w *walk) order(object, inString, opening, closing, space, scalar, start uint64) (wrong uint64) {
	open, shut, comma, colon := w.block.open, w.close, w.comma, w.block.colon
	separated := comma | open
	behind := separated << 1
	mayShut, emptyCarry := follow(open<<1+w.empty, space)
	names, nameCarry := follow(behind&object|w.name, space)
	values, valueCarry := follow(behind&^object|(colon<<1+w.value), space)
	empty := shut & mayShut
	names &^= empty
	values &^= empty
	wrong = names&^opening | ((opening | start | open) ^ (names | values))

	run, nameGoesOn := bits.Add64(names, inString, w.inName)
	nameEnd := run & closing
	colons, colonCarry := follow(nameEnd<<1+w.colon, space)
	wrong |= colon ^ colons

	done := closing&^nameEnd | shut
	afterScalar := (scalar<<1 + w.scalar) &^ scalar
	ends, endCarry := follow(done<<1|afterScalar|w.end, space)
	wrong |= (comma | shut) ^ (ends | empty)

	w.inName = nameGoesOn
	w.empty = emptyCarry | open>>63
	w.name = nameCarry | separated>>63&w.object
	w.value = valueCarry | separated>>63&^w.object | colon>>63
	w.colon = colonCarry | nameEnd>>63
	w.end = endCarry | done>>63
	return wrong
}

// follow returns where the first byte is, from each byte of at on, that is no white space. carry is set
// when that is in the next block.
func follow(at, space uint64) (first, carry uint64) {
	// Adding a one where a run of white space begins makes it ripple to the byte behind the run.
	run, carry := bits.Add64(at&space, space, 0)
	return (at | run) &^ space, carry
}

// prefixXor returns a word whose bit i is the parity of the bits 0 to i of x.
func prefixXor(x uint64) uint64 {
	x ^= x << 1
	x ^= x << 2
	x ^= x << 4
	x ^= x << 8
	x ^= x << 16
	x ^= x << 32
	return x
}

// escapes returns which bytes stand behind a backslash that is not itself behind one.
func (w *walk) escapes() uint64 {
	if w.backslash == 0 {
		escaped := w.escaped
		w.escaped = 0
		return escaped
	}
	// A run of backslashes escapes what stands at odd distances from its start. Subtracting the start
	// of the run from the alternating pattern of odd places flips the pattern behind even starts.
	const odd = 0xAAAAAAAAAAAAAAAA
	run := w.backslash &^ w.escaped
	pattern := (run<<1 | odd) - run
	escaped := pattern ^ odd ^ (w.backslash | w.escaped)
	w.escaped = (pattern ^ odd) & w.backslash >> 63
	return escaped
}

// validEscapes judges the bytes behind backslashes.
func validEscapes(b []byte, at int, escaped uint64) bool {
	for ; escaped != 0; escaped &= escaped - 1 {
		if i := at + bits.TrailingZeros64(escaped); i >= len(b) || skipEscape(b, i-1) < 0 {
			return false
		}
	}
	return true
}

// rareSpace judges control characters outside strings: tabs and line ends are white space.
func rareSpace(text *[blockBytes]uint8, control uint64) (space uint64, ok bool) {
	for rest := control; rest != 0; rest &= rest - 1 {
		switch text[bits.TrailingZeros64(rest)&63] {
		case '\t', '\r', '\n':
		default:
			return 0, false
		}
	}
	return control, true
}

// brackets follows the containers through a block. It returns for each byte whether the innermost
// container before it is an object, and the bytes of the block up to the end of the outermost container.
//
// Which way a bracket goes is hard to predict, so that both ways are computed and one is taken.
func (w *walk) brackets() (object, keep uint64, ok bool) {
	n := &w.open
	leaf := w.leaves()
	brackets := (w.block.open | w.close) &^ leaf.brackets
	keep, object = ^uint64(0), w.object
	var wrong uint64 // bit 0: closed by the wrong bracket
	for ; brackets != 0; brackets &= brackets - 1 {
		i := bits.TrailingZeros64(brackets) & 63
		isObject := w.curly >> i & 1
		opens := w.block.open >> i & 1
		wrong |= (n.word ^ isObject) &^ opens
		if n.level&63 == 0 && opens != 0 {
			n.spill(n.word)
		}
		popped, pushed := n.word>>1, n.word<<1|isObject
		n.word = popped ^ (popped^pushed)&-opens
		if n.level += int(opens<<1) - 1; n.level&63 == 0 {
			if n.level == 0 {
				keep = ^uint64(0) >> (63 - i)
				break
			}
			if opens == 0 {
				n.word = n.unspill()
			}
		}
		if n.level > w.depth {
			return 0, 0, false
		}
		w.object = -(n.word & 1)
		above := ^uint64(1) << i
		object = object&^above | w.object&above
	}
	return object&^leaf.inside | leaf.objects, keep, wrong&1|leaf.wrong&keep == 0
}

// leaves are the containers that begin and end in a block with no other in them.
type leaves struct {
	brackets uint64 // that make them
	inside   uint64 // bytes before which one of them is the innermost container
	objects  uint64 // those of them that are in objects
	wrong    uint64 // brackets that do not fit their partner
}

// leaves finds the leaves of a block where that is simple: when no container begins in another that
// begins in the same block.
func (w *walk) leaves() (l leaves) {
	open, brackets := w.block.open, w.block.open|w.close
	next, last := follow(open<<1, ^brackets)
	if next&open != 0 || w.open.level == 0 || w.open.level >= w.depth {
		return l
	}
	shut := next & brackets
	if last != 0 || open>>63 != 0 { // the last one goes on behind the block
		open ^= 1 << 63 >> bits.LeadingZeros64(open)
	}
	next, _ = follow(open&w.curly<<1, ^brackets)
	curlyShut := shut & w.curly
	l.brackets = open | shut
	l.inside = (shut - open) << 1
	l.objects = (curlyShut - open&w.curly) << 1
	l.wrong = next ^ curlyShut
	return l
}
