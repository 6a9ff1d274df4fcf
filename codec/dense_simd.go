//go:build goexperiment.simd && amd64

package codec

import (
	"math"
	"math/bits"
)

// This file judges a container 64 bytes at a time: each rule of the grammar is arithmetic on words with
// one bit a byte, so that only what is rare is looked at byte by byte. Whatever a byte demands of the
// bytes behind it crosses into the next block as a carry.

// denseBytesMin is from how many bytes on, to the end of the line, a container is judged in blocks.
var denseBytesMin = func() int {
	if hasAVX2 {
		return 40
	}
	return math.MaxInt
}()

// walk is what is known at the end of a block. Fields that say "bit 0" are 0 or 1 and concern the first
// byte of the next block.
type walk struct {
	b     []byte
	at    int // where the block begins
	open  nesting
	depth int
	limit int    // up to how many levels one more fits depth and the word of open
	alive uint64 // the bytes of the next block that count
	rare  uint64 // not 0 when the block has backslashes or control characters
	high  uint64 // not 0 when some bytes so far are not ASCII

	quote    uint64 // quotes of the last block
	inString uint64 // all ones inside a string
	inName   uint64 // bit 0: the string is a member name
	escaped  uint64 // bit 0: behind a backslash
	scalar   uint64 // bit 0: behind a byte of a number or literal

	// Bit 0: the last byte that is no white space was …
	separator uint64 // a comma or opening bracket
	opener    uint64 // an opening bracket
	colon     uint64
	name      uint64 // the end of a name
	number
	letters
}

// skipDense does skipValue's work for the container that opens at b[i]. high is false when the container
// is ASCII.
//
// The blocks end where b does, so that the first one begins before the container, as a rule.
func skipDense(b []byte, i, depth int) (end int, high bool) {
	if i++; depth < 1 || i >= len(b) {
		return -1, false
	}
	blocks := uint(len(b)-i+blockBytes-1) / blockBytes
	at := len(b) - int(blocks)*blockBytes
	dead := uint(i-at) & 63
	if at >= 0 && hasTokens {
		if end, high = scanTokens(tokens, (*[blockBytes]uint8)(b[at:]), int(blocks), ^uint64(0)<<dead, uint64(b[i-1])>>5&1, min(depth, 63)); end > 0 {
			return at + end, high
		}
	}
	var w walk
	w.b, w.at, w.depth, w.limit = b, at, depth, min(depth, 63)-1
	w.separator, w.opener, w.alive = 1<<dead, 1<<dead, ^uint64(0)<<dead
	w.open.word, w.open.level = uint64(b[i-1])>>5&1, 1
	if at < beforeBytes {
		var first window
		copy(first[beforeBytes+dead:], b[i:])
		if end = w.step(&first); end != 0 {
			return w.behind(end)
		}
		w.at += blockBytes
	}
	for rest := b[w.at-beforeBytes:]; len(rest) >= windowBytes; rest = rest[blockBytes:] {
		if end = w.step((*window)(rest)); end != 0 {
			return w.behind(end)
		}
		w.at += blockBytes
		if w.inString != 0 && w.quote>>32 == 0 && w.escaped == 0 { // seems to be a long one
			n, high := plainBlocks(rest[windowBytes:])
			rest = rest[n:]
			w.at += n
			w.high |= high
		}
	}
	return -1, false
}

// behind returns skipDense's results when step has returned end.
func (w *walk) behind(end int) (int, bool) {
	if end < 0 {
		return -1, false
	}
	return w.at + end, w.high != 0
}

// step judges the block at w.at. It returns how many bytes of it there are up to the end of the outermost container
// when that ends in the block, 0 when it goes on, -1 when something is wrong.
func (w *walk) step(k *window) (end int) {
	var quote, space, comma, colon, open, shut, curly, digit, zero uint64
	if hasWide {
		quote, space, comma, colon, open, shut, curly, digit, zero = w.classifyWide(blockOf(k))
	} else {
		quote, space, comma, colon, open, shut, curly, digit, zero = w.classify(blockOf(k))
	}
	alive := w.alive
	w.alive = ^uint64(0)
	quote &= alive
	var escaped, control uint64
	if w.rare|w.escaped != 0 {
		escaped, control = w.oddities(k, alive)
		quote &^= escaped
	}
	w.quote = quote
	inString := prefixXor(quote) ^ w.inString
	w.inString = negative(inString)
	outside := ^(inString | quote) & alive
	space = (space | control) & outside
	open, shut, comma, colon = open&outside, shut&outside, comma&outside, colon&outside

	object, keep, wrong, simple := w.leaves(open, shut, curly)
	if !simple {
		object, keep, wrong = w.brackets(open, shut, curly)
	}
	if w.open.level == 0 { // nothing behind the end counts
		end = bits.Len64(keep)
		inString, outside, escaped, control = inString&keep, outside&keep, escaped&keep, control&keep
		open, shut, comma, colon, space = open&keep, shut&keep, comma&keep, colon&keep, space&keep
	}
	scalar := outside ^ (space | comma | colon | open | shut)
	start := (scalar<<1 | w.scalar) ^ scalar
	start &= scalar
	w.scalar = scalar >> 63

	separator := comma | open
	afterSeparator, afterOpen, afterColon := separator<<1|w.separator, open<<1|w.opener, colon<<1|w.colon
	w.separator, w.opener, w.colon = separator>>63, open>>63, colon>>63
	if space != 0 {
		afterSeparator = follow(afterSeparator, space, &w.separator)
		afterOpen = follow(afterOpen, space, &w.opener)
		afterColon = follow(afterColon, space, &w.colon)
	}
	first := afterOpen&shut ^ afterSeparator // of a value or a name, unless the container is empty
	name := first & object
	opening := quote & inString
	wrong |= opening ^ (start | open) ^ (first | afterColon) | name&(start|open)

	run, carry := bits.Add64(name, inString, w.inName)
	w.inName = carry
	name = run & (quote ^ opening) // their ends
	afterName := name<<1 | w.name
	if w.name = name >> 63; space != 0 {
		afterName = follow(afterName, space, &w.name)
	}
	wrong |= colon ^ afterName | w.scalars(k, scalar, start, digit, zero)
	if wrong != 0 || escaped|control != 0 && !w.validOddities(escaped, control, inString) {
		return -1
	}
	return end
}

// scalars judges the bytes of scalar, which belong to literals and numbers that begin where start says. It
// returns those that are wrong.
func (w *walk) scalars(k *window, scalar, start, digit, zero uint64) (wrong uint64) {
	other := scalar &^ digit
	if begun := start & other; begun|w.word != 0 {
		literal, mistaken := w.literals(k, begun)
		other ^= literal
		scalar ^= literal
		start &= scalar
		wrong = mistaken | (literal<<1|w.literal)&scalar
		w.literal = literal >> 63
	}
	if other|w.pending != 0 {
		more, behindMinus := w.marks(blockOf(k), scalar, digit&scalar, start)
		wrong |= more
		start |= behindMinus
	}
	// No digit behind a zero that begins a number.
	zero &= start
	wrong |= (zero<<1 | w.zeros) & digit
	w.zeros, w.digits = zero>>63, digit>>63
	return wrong
}

// follow returns where the first byte is, from each byte of at on, that is no white space. carry is set
// when that is in the next block.
func follow(at, space uint64, carry *uint64) (first uint64) {
	first, more := ripple(at, space)
	*carry |= more
	return first
}

// ripple returns where the first byte is, from each byte of at on, that is no white space. carry is set
// when that is in the next block.
func ripple(at, space uint64) (first, carry uint64) {
	// Adding a one where a run of white space begins makes it ripple to the byte behind the run.
	run, carry := bits.Add64(at&space, space, 0)
	return (at | run) &^ space, carry
}
