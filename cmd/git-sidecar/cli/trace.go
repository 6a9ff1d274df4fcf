package cli

import (
	"fmt"
	"io"
	"sync"
	"unicode/utf8"
)

// traceBytesMax is how much of a message is shown.
const traceBytesMax = 200

// tracer returns a function that prints messages as lines of "> …" (sent) and "< …" (received).
func (p *Program) tracer() func(dir string, line []byte) {
	return func(dir string, line []byte) {
		fmt.Fprintf(p.Err, "%s %s\n", dir, shorten(line))
	}
}

// shorten returns line, cut between characters, with what was cut off.
func shorten(line []byte) string {
	if len(line) <= traceBytesMax {
		return printable(string(line))
	}
	cut := traceBytesMax
	for cut > 0 && !utf8.RuneStart(line[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… %d bytes more", printable(string(line[:cut])), len(line)-cut)
}

// lines makes single Writes to out from several goroutines whole.
type lines struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(b)
}
