//go:build goexperiment.simd && amd64

package codec

import "math/bits"

// leaves does brackets' work where no container of the block begins in another that begins there: those
// that also end in it need no look of their own. It reports whether that was so.
func (w *walk) leaves(open, shut, curly uint64) (object, keep, wrong uint64, simple bool) {
	word, level := w.open.word, w.open.level
	object, keep = -(word & 1), ^uint64(0)
	if open|shut == 0 {
		return object, keep, 0, true
	}
	next, _ := ripple(open<<1, ^(open | shut))
	if next&open != 0 || level > w.limit {
		return 0, 0, 0, false
	}
	leaf := next & shut
	// The rest began before the block. The first is done without a branch, since there is one or none as a rule.
	rest := shut ^ leaf
	low := rest & -rest
	wrong = low & (curly ^ object)
	object ^= -(low << 1) & -((word ^ word>>1) & 1)
	ends := -low >> 63
	word >>= ends & 63
	level -= int(ends)
	for rest ^= low; rest != 0 && level > 0; rest &= rest - 1 {
		low = rest & -rest
		wrong |= low & (curly ^ -(word & 1))
		object ^= -(low << 1) & -((word ^ word>>1) & 1)
		word >>= 1
		level--
	}
	inside, objects := leaf-open, leaf&curly-open&curly
	wrong |= objects &^ inside
	if level == 0 {
		keep = low | (low - 1)
	} else {
		goesOn := inside >> 63
		word = word<<(goesOn&63) | objects>>63
		level += int(goesOn)
	}
	w.open.word, w.open.level = word, level
	return object&^(inside<<1) | objects<<1, keep, wrong & keep, true
}

// brackets follows the containers through a block. It returns for each byte whether the innermost container
// before it is an object, the bytes of the block up to the end of the outermost container, and those that
// are wrong.
//
// Containers with no other in them are dealt with together. Which way a bracket of the others goes is hard to
// predict, so that both ways are computed and one is taken.
func (w *walk) brackets(open, shut, curly uint64) (object, keep, wrong uint64) {
	n := &w.open
	between := ^(open | shut)
	next, _ := ripple(open<<1, between)
	nextCurly, _ := ripple((open&curly)<<1, between)
	leaf := next & shut
	wrong = (nextCurly ^ curly) & leaf
	// The rest are closing brackets of what began earlier, and those before the first of what they contain.
	rest := shut ^ leaf
	levels := n.level
	for nested := next & open; nested != 0; nested &= nested - 1 {
		before := open & (nested&-nested - 1)
		rest |= 1 << 63 >> (bits.LeadingZeros64(before) & 63)
		levels++
	}
	if levels > w.limit {
		return w.deepBrackets(open, shut, curly)
	}
	word, level := n.word, n.level
	object, keep = -(word & 1), ^uint64(0)
	for ; rest != 0; rest &= rest - 1 {
		low := rest & -rest
		closes := negative(open&low - 1)
		square := negative(curly&low - 1)
		wrong |= (word + square + 1) & closes & 1
		word = word>>1&closes | (word<<1+square+1)&^closes
		if level += int(closes)*2 + 1; level == 0 {
			keep = low | (low - 1)
			break
		}
		object ^= (object ^ -(word & 1)) & -(low << 1)
	}
	inside, objects := next-open, nextCurly-open&curly
	if level > 0 {
		goesOn := inside >> 63
		word = word<<(goesOn&63) | objects>>63
		level += int(goesOn)
	}
	n.word, n.level = word, level
	return object&^(inside<<1) | objects<<1, keep, wrong & keep
}

// negative returns all ones when bit 63 of x is set, else 0.
func negative(x uint64) uint64 { return uint64(int64(x) >> 63) }

// deepBrackets does brackets' work one by one, on any level.
func (w *walk) deepBrackets(open, shut, curly uint64) (object, keep, wrong uint64) {
	n := &w.open
	object, keep = -(n.word & 1), ^uint64(0)
	for rest := open | shut; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest) & 63
		isObject := curly >> i & 1
		opens := open >> i & 1
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
			return 0, keep, 1
		}
		above := ^uint64(1) << i
		object = object&^above | -(n.word&1)&above
	}
	return object, keep, wrong & 1
}
