package codec

// skipSpace returns the index of the first byte from b[i] on that is no JSON white space, len(b) when
// there is none.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// nesting remembers for every open container whether it is an object: the innermost 64 in one word, the
// ones around them in spilled words. Those have fixed places for 192 levels in all, so that only lines
// that nest deeper cost an allocation.
type nesting struct {
	word    uint64 // bit 0 is the innermost container; 1 means object
	level   int
	spilled [2]uint64
	deeper  []uint64
}

// push enters a container, an object when object is 1, an array when it is 0.
func (n *nesting) push(object uint64) {
	if n.level&63 == 0 {
		n.spill(n.word)
	}
	n.word = n.word<<1 | object
	n.level++
}

// pop leaves the innermost container.
func (n *nesting) pop() {
	n.word >>= 1
	n.level--
	if n.level&63 == 0 {
		n.word = n.unspill()
	}
}

// spill stores a full word away, before level goes above a multiple of 64.
func (n *nesting) spill(word uint64) {
	switch i := n.level>>6 - 1; {
	case i < 0:
	case i < len(n.spilled):
		n.spilled[i] = word
	default:
		n.deeper = append(n.deeper, word)
	}
}

// unspill returns the word to go on with, after level has come down to a multiple of 64.
func (n *nesting) unspill() uint64 {
	i := n.level>>6 - 1
	if i < 0 {
		return 0
	}
	if i < len(n.spilled) {
		return n.spilled[i]
	}
	last := len(n.deeper) - 1
	word := n.deeper[last]
	n.deeper = n.deeper[:last]
	return word
}

// behindBytes is how many bytes stand behind a value in the middle of a line, for the choice of a way to
// skip it.
const behindBytes = 32

// skipValue validates the JSON value that starts at b[i] and returns the index behind it, -1 when it is
// invalid or nests more than depth containers.
func skipValue(b []byte, i, depth int) int {
	var open nesting
value:
	if i >= len(b) {
		return -1
	}
	switch c := b[i]; c {
	case '"':
		i = skipString(b, i+1)
	case '{', '[':
		if open.level >= depth {
			return -1
		}
		if open.level == 0 && len(b)-i-denseBytesMin >= behindBytes {
			end, _ := skipDense(b, i, depth)
			return end
		}
		i = skipSpace(b, i+1)
		if i < len(b) && b[i] == c+2 { // '}' is '{'+2, ']' is '['+2
			i++
			break
		}
		open.push(uint64(c) >> 5 & 1)
		if c == '{' {
			goto name
		}
		goto value
	case 't':
		i = skipLiteral(b, i, "true")
	case 'f':
		i = skipLiteral(b, i, "false")
	case 'n':
		i = skipLiteral(b, i, "null")
	default:
		i = skipNumber(b, i)
	}
	if i < 0 {
		return -1
	}
after:
	if open.level == 0 {
		return i
	}
	if i = skipSpace(b, i); i >= len(b) {
		return -1
	}
	switch c := b[i]; {
	case c == ',':
		i = skipSpace(b, i+1)
		if open.word&1 == 0 {
			goto value
		}
	case c == '}' && open.word&1 == 1, c == ']' && open.word&1 == 0:
		i++
		open.pop()
		goto after
	default:
		return -1
	}
name:
	if _, i = scanName(b, i); i < 0 {
		return -1
	}
	goto value
}

// scanName scans a member name and its colon from b[i] on. It returns the text between the quotes and
// the index at which the value must start, -1 when invalid.
func scanName(b []byte, i int) (name []byte, next int) {
	if i >= len(b) || b[i] != '"' {
		return nil, -1
	}
	end := skipString(b, i+1)
	if end < 0 {
		return nil, -1
	}
	name = b[i+1 : end-1]
	if end = skipSpace(b, end); end >= len(b) || b[end] != ':' {
		return nil, -1
	}
	return name, skipSpace(b, end+1)
}

// skipLiteral returns the index behind word, which must stand at b[i], else -1.
func skipLiteral(b []byte, i int, word string) int {
	if end := i + len(word); end <= len(b) && string(b[i:end]) == word {
		return end
	}
	return -1
}
