package config

import (
	"strconv"
	"strings"
)

// lines maps the dotted name of each key and table of a TOML document to the line where it stands.
// Elements of arrays of tables are numbered from 0: principal.1.name.
type lines map[string]int

// of returns the line of the longest part of name that the document spells out: a key inside an
// inline table has the line of that table.
func (l lines) of(name string) int {
	for {
		if n, ok := l[name]; ok {
			return n
		}
		i := strings.LastIndexByte(name, '.')
		if i < 0 {
			return 0
		}
		name = name[:i]
	}
}

// locator walks a TOML document. It relies on the decoder having accepted it, which keeps no positions
// of its own that a caller could read; on anything else it ends early or finds nonsense, but ends.
type locator struct {
	text  string
	at    int
	line  int
	found lines
	count map[string]int // elements seen of each array of tables
}

func locate(text string) lines {
	l := &locator{text: strings.TrimPrefix(text, "\ufeff"), line: 1, found: lines{}, count: map[string]int{}}
	table := ""
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == '\n' || c == ' ' || c == '\t' || c == '\r':
			l.next()
		case c == '#':
			l.comment()
		case c == '[':
			table = l.header()
		default:
			start := l.at
			l.found[table+l.key('=')] = l.line
			l.value()
			if l.at == start {
				l.next()
			}
		}
	}
	return l.found
}

// next steps over one byte.
func (l *locator) next() {
	if l.text[l.at] == '\n' {
		l.line++
	}
	l.at++
}

func (l *locator) comment() {
	for l.at < len(l.text) && l.text[l.at] != '\n' {
		l.at++
	}
}

// header reads [table] or [[table]] and returns the prefix of the keys below it.
func (l *locator) header() string {
	array := strings.HasPrefix(l.text[l.at:], "[[")
	line := l.line
	for l.at < len(l.text) && l.text[l.at] == '[' {
		l.at++
	}
	name := l.key(']')
	for l.at < len(l.text) && l.text[l.at] == ']' {
		l.at++
	}
	if array {
		i := l.count[name]
		l.count[name]++
		name += "." + strconv.Itoa(i)
	}
	l.found[name] = line
	return name + "."
}

// key reads a dotted key up to and including end, and returns it without quotes and spaces.
func (l *locator) key(end byte) string {
	var name strings.Builder
	for l.at < len(l.text) {
		switch c := l.text[l.at]; c {
		case end:
			l.at++
			return name.String()
		case '\n':
			return name.String()
		case '"', '\'':
			start := l.at + 1
			l.quoted()
			name.WriteString(l.text[start:max(start, min(l.at, len(l.text))-1)])
		case ' ', '\t':
			l.at++
		default:
			name.WriteByte(c)
			l.at++
		}
	}
	return name.String()
}

// value steps over a value: to the end of the line on which its last bracket closes.
func (l *locator) value() {
	depth := 0
	for l.at < len(l.text) {
		switch c := l.text[l.at]; c {
		case '"', '\'':
			l.quoted()
			continue
		case '#':
			l.comment()
			continue
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '\n':
			if depth <= 0 {
				return
			}
		}
		l.next()
	}
}

// quoted steps over a string of any of the four kinds.
func (l *locator) quoted() {
	quote := l.text[l.at : l.at+1]
	escapes := quote == `"`
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(l.text[l.at:], triple) {
		quote = triple
	}
	l.at += len(quote)
	for l.at < len(l.text) {
		switch {
		case escapes && l.text[l.at] == '\\' && l.at+1 < len(l.text):
			l.next()
			l.next()
		case strings.HasPrefix(l.text[l.at:], quote):
			l.at += len(quote)
			for len(quote) == 3 && l.at < len(l.text) && l.text[l.at] == quote[0] {
				l.at++ // a multi-line string may end in up to two more quotes
			}
			return
		default:
			l.next()
		}
	}
}
