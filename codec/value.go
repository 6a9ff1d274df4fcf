package codec

// The functions on values below expect JSON that Parse has validated. They never panic on other input,
// but what they say about it means nothing.

// KindOf returns the JSON type of the raw value, Absent for an empty one.
func KindOf(raw []byte) ValueKind {
	if len(raw) == 0 {
		return Absent
	}
	return kindOf(raw[0])
}

func kindOf(first byte) ValueKind {
	switch first {
	case '"':
		return String
	case '{':
		return Object
	case '[':
		return Array
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	}
	return Number
}

// DepthOf returns how deep the raw value nests: 0 for a scalar, 1 for an array or object of scalars.
func DepthOf(raw []byte) int {
	level, deepest := 0, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			end := skipString(raw, i+1)
			if end < 0 {
				return deepest
			}
			i = end - 1
		case '{', '[':
			level++
			deepest = max(deepest, level)
		case '}', ']':
			level--
		}
	}
	return deepest
}
