package sim

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// value is one JSON value, read naively: it is checked against encoding/json by FuzzJSON.
type value struct {
	raw   string
	kind  byte     // { [ " t for both literals, n for null, 0 for numbers written as '0'; 0 for none
	names []string // of an object's members, decoded
	items []value  // of an object or array
}

const number = '0'

// reader reads JSON by the letter of RFC 8259.
type reader struct {
	s     string
	i     int
	depth int // open containers
	most  int // the greatest depth
}

// readJSON reads a whole line. It reports false for anything that is not JSON in UTF-8.
func readJSON(s string, depthMax int) (v value, ok bool) {
	r := &reader{s: s}
	r.space()
	v, ok = r.value()
	r.space()
	return v, ok && r.i == len(s) && r.most <= depthMax && utf8.ValidString(s)
}

func (r *reader) space() {
	for r.i < len(r.s) && strings.IndexByte(" \t\r\n", r.s[r.i]) >= 0 {
		r.i++
	}
}

func (r *reader) peek() byte {
	if r.i < len(r.s) {
		return r.s[r.i]
	}
	return 0
}

func (r *reader) take(text string) bool {
	if strings.HasPrefix(r.s[r.i:], text) {
		r.i += len(text)
		return true
	}
	return false
}

func (r *reader) value() (v value, ok bool) {
	start := r.i
	switch c := r.peek(); {
	case c == '{' || c == '[':
		v.kind = c
		ok = r.container(&v)
	case c == '"':
		v.kind = '"'
		ok = r.text()
	case r.take("true"), r.take("false"):
		v.kind, ok = 't', true
	case r.take("null"):
		v.kind, ok = 'n', true
	default:
		v.kind = number
		ok = r.number()
	}
	v.raw = r.s[start:r.i]
	return v, ok
}

func (r *reader) container(v *value) bool {
	end := "}"
	if v.kind == '[' {
		end = "]"
	}
	r.i++
	r.depth++
	r.most = max(r.most, r.depth)
	defer func() { r.depth-- }()
	r.space()
	if r.depth > 5000 || r.take(end) {
		return r.depth <= 5000
	}
	for {
		if v.kind == '{' {
			at := r.i
			if r.peek() != '"' || !r.text() {
				return false
			}
			name, _ := unquote(r.s[at:r.i])
			v.names = append(v.names, name)
			r.space()
			if !r.take(":") {
				return false
			}
			r.space()
		}
		item, ok := r.value()
		if !ok {
			return false
		}
		v.items = append(v.items, item)
		r.space()
		if r.take(end) {
			return true
		}
		if !r.take(",") {
			return false
		}
		r.space()
	}
}

func (r *reader) text() bool {
	for r.i++; r.i < len(r.s); r.i++ {
		switch c := r.s[r.i]; {
		case c == '"':
			r.i++
			return true
		case c < ' ':
			return false
		case c != '\\':
			continue
		}
		r.i++
		if r.peek() == 'u' {
			if r.i+5 > len(r.s) || strings.Trim(r.s[r.i+1:r.i+5], "0123456789abcdefABCDEF") != "" {
				return false
			}
			r.i += 4
		} else if c := r.peek(); c == 0 || strings.IndexByte(`"\/bfnrt`, c) < 0 {
			return false
		}
	}
	return false
}

func (r *reader) number() bool {
	r.take("-")
	if !r.take("0") && !r.digits() {
		return false
	}
	if r.take(".") && !r.digits() {
		return false
	}
	if r.take("e") || r.take("E") {
		if !r.take("+") {
			r.take("-")
		}
		return r.digits()
	}
	return true
}

func (r *reader) digits() bool {
	start := r.i
	for c := r.peek(); c >= '0' && c <= '9'; c = r.peek() {
		r.i++
	}
	return r.i > start
}

// unquote decodes a valid JSON string. clean is false when half of a surrogate pair stands alone; such
// halves come out as bytes that no UTF-8 has, so that the text equals no other.
func unquote(raw string) (text string, clean bool) {
	raw = raw[1 : len(raw)-1]
	if strings.IndexByte(raw, '\\') < 0 {
		return raw, true
	}
	var out []byte
	clean = true
	for raw != "" {
		if raw[0] != '\\' {
			out, raw = append(out, raw[0]), raw[1:]
			continue
		}
		if raw[1] != 'u' {
			out, raw = append(out, "\"\\/\b\f\n\r\t"[strings.IndexByte(`"\/bfnrt`, raw[1])]), raw[2:]
			continue
		}
		unit := hexUnit(raw)
		raw = raw[6:]
		switch {
		case !utf16.IsSurrogate(unit):
			out = utf8.AppendRune(out, unit)
		case strings.HasPrefix(raw, `\u`) && utf16.DecodeRune(unit, hexUnit(raw)) != utf8.RuneError:
			out = utf8.AppendRune(out, utf16.DecodeRune(unit, hexUnit(raw)))
			raw = raw[6:]
		default:
			clean = false
			out = append(out, 0xff, byte(unit>>8), byte(unit))
		}
	}
	return string(out), clean
}

func hexUnit(raw string) rune {
	n, _ := strconv.ParseUint(raw[2:6], 16, 16)
	return rune(n)
}

// get returns the first member of that name and how many there are.
func (v *value) get(name string) (found value, count int) {
	for i, n := range v.names {
		if n != name {
			continue
		}
		if count == 0 {
			found = v.items[i]
		}
		count++
	}
	return found, count
}

// is reports whether v is a string with that text.
func (v *value) is(text string) bool {
	s, clean := v.string()
	return clean && s == text
}

// string decodes v; ok is false when it is no string or has half a surrogate pair.
func (v *value) string() (s string, ok bool) {
	if v.kind != '"' {
		return "", false
	}
	return unquote(v.raw)
}

// integer returns the value of an integral number, however it is spelled.
func (v *value) integer() (n int64, ok bool) {
	if v.kind != number {
		return 0, false
	}
	if n, err := strconv.ParseInt(v.raw, 10, 64); err == nil {
		return n, true
	}
	n = math.MaxInt64
	if v.raw[0] == '-' {
		n = math.MinInt64
	}
	if i := strings.IndexAny(v.raw, "eE"); i >= 0 && len(v.raw)-i > 5 {
		if strings.Trim(v.raw[:i], "-0.") == "" {
			return 0, true
		}
		return n, v.raw[i+1] != '-'
	}
	r, ok := new(big.Rat).SetString(v.raw)
	if !ok || !r.IsInt() {
		return 0, false
	}
	if r.Num().IsInt64() {
		n = r.Num().Int64()
	}
	return n, true
}

// deep returns how many containers v nests.
func (v *value) deep() int {
	if v.kind != '{' && v.kind != '[' {
		return 0
	}
	most := 0
	for i := range v.items {
		most = max(most, v.items[i].deep())
	}
	return most + 1
}

// distinct reports whether no two members of an object have equal names.
func (v *value) distinct() bool {
	seen := map[string]bool{}
	for _, n := range v.names {
		if seen[n] {
			return false
		}
		seen[n] = true
	}
	return true
}

// quote spells a text as the relay does: it escapes no more than it must.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r >= ' ':
			b.WriteRune(r)
		case strings.ContainsRune("\b\f\n\r\t", r):
			b.WriteString(`\` + string("btnvfr"[r-'\b']))
		default:
			b.WriteString(`\u00` + string("0123456789abcdef"[r>>4]) + string("0123456789abcdef"[r&15]))
		}
	}
	b.WriteByte('"')
	return b.String()
}
