package client

import "bytes"

// WithTrace makes the client call f with every message that it sends (dir ">") and receives (dir "<"),
// without the LF, on every connection. Bearer and resume tokens are replaced by "…". f runs on the
// goroutines that write and read, at the same time, and holds them up; line is valid during the call only.
func WithTrace(f func(dir string, line []byte)) Option { return func(o *options) { o.trace = f } }

// traced is a transport that shows what it carries.
type traced struct {
	transport
	show func(dir string, line []byte)
}

// Read returns the next message after showing it.
func (t traced) Read(limit int) ([]byte, error) {
	line, err := t.transport.Read(limit)
	if err == nil {
		t.show("<", hideTokens(line))
	}
	return line, err
}

// Write shows each message and sends them.
func (t traced) Write(batch []byte) error {
	for line := range bytes.Lines(batch) {
		t.show(">", hideTokens(bytes.TrimSuffix(line, []byte("\n"))))
	}
	return t.transport.Write(batch)
}

// hideTokens returns line, or a copy without the tokens in it.
func hideTokens(line []byte) []byte {
	line = hide(line, []byte(`"`+resumeTokenKey+`":"`))
	if bytes.Contains(line, []byte(`"method":"authenticate"`)) {
		line = hide(line, []byte(`"token":"`))
	}
	return line
}

// hide replaces the text of the string that begins after the first occurrence of key.
func hide(line, key []byte) []byte {
	before, rest, found := bytes.Cut(line, key)
	if !found {
		return line
	}
	end := 0
	for end < len(rest) && rest[end] != '"' {
		if rest[end] == '\\' {
			end++
		}
		end++
	}
	out := append(append(append([]byte(nil), before...), key...), "…"...)
	return append(out, rest[min(end, len(rest)):]...)
}
