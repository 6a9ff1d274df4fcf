package repo

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	nameBytesMax   = 64   // of a repository's name: it stands in metadata and in every request
	prefixBytesMax = 1024 // of a ref prefix; git's own names are bounded by the file system's 4096
)

// CheckName reports why name cannot name a repository: 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a
// letter or digit, without "..".
func CheckName(name string) error {
	if name == "" || len(name) > nameBytesMax {
		return fmt.Errorf("a repository's name has 1 to %d characters", nameBytesMax)
	}
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '.' && c != '_' && c != '-') {
			return errors.New("a repository's name is letters, digits, '.', '_' and '-', beginning with a letter or digit")
		}
	}
	if strings.Contains(name, "..") {
		return errors.New("a repository's name has no '..'")
	}
	return nil
}

// CheckPrefix reports why prefix cannot be the beginning of a ref's name. It need not end at a slash; the
// empty prefix is every ref.
func CheckPrefix(prefix string) error {
	switch {
	case len(prefix) > prefixBytesMax:
		return fmt.Errorf("longer than %d bytes", prefixBytesMax)
	case !utf8.ValidString(prefix):
		return errors.New("not valid UTF-8")
	case strings.HasPrefix(prefix, "/"), strings.HasPrefix(prefix, "-"):
		return errors.New("begins with '/' or '-'")
	case strings.Contains(prefix, ".."), strings.Contains(prefix, "//"), strings.Contains(prefix, "@{"):
		return errors.New("has '..', '//' or '@{'")
	case strings.ContainsAny(prefix, " ~^:?*[\\\x7f"):
		return errors.New("has a character that no ref's name has")
	}
	for i := range len(prefix) {
		if prefix[i] < 0x20 {
			return errors.New("has a control character")
		}
	}
	return nil
}
