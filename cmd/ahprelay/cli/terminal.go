package cli

import (
	"fmt"
	"os"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"
)

// terminal reports whether stream, an io.Reader or io.Writer, is a terminal.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}

// printable returns s with control characters escaped as in JSON, so that what a stranger chose (a
// clientId, metadata, a message) cannot drive the terminal. JSON stays the same JSON.
func printable(s string) string {
	if !strings.ContainsFunc(s, commanding) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if commanding(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// commanding reports whether r does something to a terminal or to the order of text in it, white space
// of JSON aside.
func commanding(r rune) bool {
	switch r {
	case '\t', '\n', '\r':
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}
