package codec

import (
	"bytes"
	"unicode/utf8"
)

// fewMembers is up to how many members are compared pairwise, which needs no map.
const fewMembers = 8

// UniqueMembers reports whether no two top-level members of the raw object have names that are equal
// after unescaping. Names with lone surrogates are compared by those surrogates. It allocates only for
// objects of many members or with escapes in names.
func UniqueMembers(object []byte) bool {
	var few [fewMembers][]byte
	var many map[string]struct{}
	count := 0
	members := ObjectMembers(object)
	for {
		raw, _, ok := members.Next()
		if !ok {
			return true
		}
		name := canonical(raw)
		if count < fewMembers {
			for _, other := range few[:count] {
				if bytes.Equal(name, other) {
					return false
				}
			}
			few[count] = name
			count++
			continue
		}
		if many == nil {
			many = make(map[string]struct{}, 4*fewMembers)
			for _, other := range few {
				many[string(other)] = struct{}{}
			}
		}
		if _, twice := many[string(name)]; twice {
			return false
		}
		many[string(name)] = struct{}{}
	}
}

// canonical returns the unescaped text of a raw name, one spelling for equal names: lone surrogates are
// written as the three bytes that UTF-8 forbids, so that they stay distinct from each other and from
// everything else. Without escapes the result aliases raw.
func canonical(raw []byte) []byte {
	text, _ := inner(raw)
	if bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return append(out, text...)
		}
		out = append(out, text[:i]...)
		r, n := decodeEscape(text[i:])
		if n == 0 {
			return out
		}
		if r >= loneSurrogate {
			r -= loneSurrogate
			out = append(out, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
		} else {
			out = utf8.AppendRune(out, r)
		}
		text = text[i+n:]
	}
	return out
}
