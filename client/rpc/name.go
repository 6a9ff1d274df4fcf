package rpc

import "unicode"

// wireName returns the name on the wire of the Go method of this name: lower camel case, an initialism
// at the beginning as one word.
func wireName(method string) string {
	runes := []rune(method)
	for i, r := range runes {
		if !unicode.IsUpper(r) {
			break
		}
		if i > 0 && i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
			break // the first letter of the second word
		}
		runes[i] = unicode.ToLower(r)
	}
	return string(runes)
}
