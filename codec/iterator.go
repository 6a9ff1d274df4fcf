package codec

import "math"

// ObjectIter walks the members of one object, in order, duplicates included.
type ObjectIter struct {
	rest []byte
	next int // index into rest of the next name; 0 when there is none
}

// ObjectMembers returns an iterator over the top-level members of the raw object. A value of another
// type has none.
func ObjectMembers(object []byte) ObjectIter {
	return ObjectIter{object, open(object, '{')}
}

// Next returns the next member: its raw name with the quotes and its raw value, both without the white
// space around them and aliasing the object. ok is false when there are no more.
func (it *ObjectIter) Next() (name, value []byte, ok bool) {
	if it.next == 0 {
		return nil, nil, false
	}
	start := it.next
	it.next = 0
	text, at := scanName(it.rest, start)
	if at < 0 {
		return nil, nil, false
	}
	end := skipValue(it.rest, at, math.MaxInt)
	if end < 0 {
		return nil, nil, false
	}
	it.next = comma(it.rest, end)
	nameEnd := start + len(text) + 2
	return it.rest[start:nameEnd:nameEnd], it.rest[at:end:end], true
}

// ArrayIter walks the elements of one array, in order.
type ArrayIter struct {
	rest []byte
	next int
}

// ArrayElements returns an iterator over the elements of the raw array. A value of another type has
// none.
func ArrayElements(array []byte) ArrayIter {
	return ArrayIter{array, open(array, '[')}
}

// Next returns the next raw element, without the white space around it and aliasing the array. ok is
// false when there are no more.
func (it *ArrayIter) Next() (value []byte, ok bool) {
	if it.next == 0 {
		return nil, false
	}
	start := it.next
	it.next = 0
	end := skipValue(it.rest, start, math.MaxInt)
	if end < 0 {
		return nil, false
	}
	it.next = comma(it.rest, end)
	return it.rest[start:end:end], true
}

// open returns the index of the first member of raw if it starts with bracket, else 0.
func open(raw []byte, bracket byte) int {
	i := skipSpace(raw, 0)
	if i < len(raw) && raw[i] == bracket {
		return skipSpace(raw, i+1)
	}
	return 0
}

// comma returns the index of the member behind the comma at or after b[i], 0 when there is no comma.
func comma(b []byte, i int) int {
	i = skipSpace(b, i)
	if i < len(b) && b[i] == ',' {
		return skipSpace(b, i+1)
	}
	return 0
}
