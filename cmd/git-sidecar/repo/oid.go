package repo

import "errors"

// OID is a full object id in lower-case hex: 40 digits (SHA-1) or 64 (SHA-256).
type OID string

// ParseOID returns text as an OID; anything but 40 or 64 lower-case hex digits is an error. No
// abbreviations, no ref names, no revision syntax.
func ParseOID(text string) (OID, error) {
	if len(text) != 40 && len(text) != 64 {
		return "", errors.New("an object id is 40 or 64 hex digits")
	}
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", errors.New("an object id is lower-case hex digits only")
		}
	}
	return OID(text), nil
}

// Format returns the hash that made o: "sha1" or "sha256".
func (o OID) Format() string {
	if len(o) == 64 {
		return "sha256"
	}
	return "sha1"
}
