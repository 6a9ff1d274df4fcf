package relay

// glob reports whether s matches pattern, in which * stands for any text and ? for any one character.
// It takes at most len(pattern) * len(s) steps.
func glob(pattern, s string) bool {
	p, star, mark := 0, -1, 0
	pattern2, s2 := []rune(pattern), []rune(s)
	i := 0
	for i < len(s2) {
		switch {
		case p < len(pattern2) && pattern2[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern2) && (pattern2[p] == '?' || pattern2[p] == s2[i]):
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern2) && pattern2[p] == '*' {
		p++
	}
	return p == len(pattern2)
}
