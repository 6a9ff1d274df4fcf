package relay

import "unicode/utf8"

// glob reports whether s matches pattern, in which * stands for any text and ? for any one character.
// It takes at most len(pattern) * len(s) steps and allocates nothing.
func glob(pattern, s string) bool {
	p, i := 0, 0
	star, mark := -1, 0 // the latest *, and up to where in s it stretches
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && pattern[p] == '?':
			_, size := utf8.DecodeRuneInString(s[i:])
			p++
			i += size
		case p < len(pattern) && pattern[p] == s[i]:
			p++
			i++
		case star >= 0:
			_, size := utf8.DecodeRuneInString(s[mark:])
			mark += size
			p, i = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
