package fuzz

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ahprelay/ahprelay/codec"
)

func FuzzUnquote(f *testing.F) {
	for _, raw := range []string{`""`, `"a"`, `"\ud83d\ude00"`, `"\ud800"`, `"\ud800\ud800\udc00\u0041"`, `"\b\f\n\r\t\/\\\""`, `"日本\u00e9"`, `1`, `"\u12"`, `"`} {
		f.Add([]byte(raw), raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte, other string) {
		got, ok := codec.Unquote(nil, raw)
		if n := codec.DecodedLen(raw); n != len(got) {
			t.Fatalf("DecodedLen %d, Unquote %q", n, got)
		}
		equal := codec.EqualString(raw, other)
		quoted := codec.AppendQuoted(nil, other)
		if back, ok := codec.Unquote(nil, quoted); !ok || string(back) != validUTF8(other) || !codec.EqualString(quoted, string(back)) || !json.Valid(quoted) {
			t.Fatalf("%q quoted is %s", other, quoted)
		}
		if !codec.Parse(raw, 1, new(codec.Message)) || codec.KindOf(raw) != codec.String {
			return
		}
		var want string
		if err := json.Unmarshal(raw, &want); err != nil {
			return // white space around it is no raw value, and what is no string is caught above
		}
		if raw[len(raw)-1] != '"' {
			return
		}
		if string(got) != want {
			t.Fatalf("%s is %q, want %q", raw, got, want)
		}
		if !ok && !strings.Contains(want, "\ufffd") {
			t.Fatalf("%s has no lone surrogate", raw)
		}
		if equal != (ok && want == other) || codec.EqualString(raw, want) != ok {
			t.Fatalf("EqualString(%s, %q) = %v", raw, other, equal)
		}
	})
}

// validUTF8 replaces each byte that is no UTF-8.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func FuzzInteger(f *testing.F) {
	for _, raw := range []string{`0`, `-0.0e5`, `1e3`, `1000.0`, `10000e-1`, `9223372036854775807`, `-9223372036854775808`, `9223372036854775808`, `1.5`, `1e999999999`, `0e999999999999`, `0.001e3`, `x`} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, ok := codec.Integer(raw)
		if !json.Valid(raw) || codec.KindOf(raw) != codec.Number || bytes.TrimSpace(raw)[0] != raw[0] || len(bytes.TrimSpace(raw)) != len(raw) {
			if ok {
				t.Fatalf("%q is no number", raw)
			}
			return
		}
		if i := bytes.IndexAny(raw, "eE"); i >= 0 && len(raw)-i > 6 {
			return // math/big would take forever
		}
		want, _ := new(big.Rat).SetString(string(raw))
		if fits := want.IsInt() && want.Num().IsInt64(); ok != fits || ok && got != want.Num().Int64() {
			t.Fatalf("%s is %d, %v; want %v", raw, got, ok, want)
		}
	})
}

func FuzzIterators(f *testing.F) {
	for _, line := range lines {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		names, elements := rebuild(raw)
		unique, depth := codec.UniqueMembers(raw), codec.DepthOf(raw)
		codec.ParseError(raw)
		if !codec.Parse(raw, 10000, new(codec.Message)) {
			return
		}
		found := membersOf(raw)
		for _, m := range found {
			if m.twice && unique && !bytes.Contains(raw, []byte(`\ud`)) && !bytes.Contains(raw, []byte(`\uD`)) {
				t.Fatalf("%s has unique members", raw)
			}
		}
		if found != nil && len(names) < len(found) {
			t.Fatalf("%s has %d members, %d found", raw, len(found), len(names))
		}
		if found != nil && len(names) == len(found) != unique && unique {
			t.Fatalf("%s: %d names, %d different", raw, len(names), len(found))
		}
		if want := depthOf(raw); depth != want {
			t.Fatalf("depth %d, want %d", depth, want)
		}
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
			if len(list) != len(elements) {
				t.Fatalf("%s has %d elements, %d found", raw, len(list), len(elements))
			}
			for i, want := range list {
				if !bytes.Equal(elements[i], want) {
					t.Fatalf("element %d is %s, want %s", i, elements[i], want)
				}
			}
		}
	})
}

// rebuild reads raw as an object and as an array.
func rebuild(raw []byte) (names, elements [][]byte) {
	members := codec.ObjectMembers(raw)
	for name, _, ok := members.Next(); ok; name, _, ok = members.Next() {
		names = append(names, name)
	}
	list := codec.ArrayElements(raw)
	for value, ok := list.Next(); ok; value, ok = list.Next() {
		elements = append(elements, value)
	}
	return names, elements
}

// depthOf measures valid JSON with the standard library.
func depthOf(raw []byte) int {
	d := json.NewDecoder(bytes.NewReader(raw))
	level, deepest := 0, 0
	for {
		token, err := d.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			level++
			deepest = max(deepest, level)
		case json.Delim(']'), json.Delim('}'):
			level--
		}
	}
}

func FuzzAppend(f *testing.F) {
	f.Add("s1", "me", "prin", "m", []byte(`{"a": 1.0}`), uint64(7), int64(1000))
	f.Add("", "\xff\n", "", "\u2028", []byte(`[1, "\ud800"]`), uint64(1<<53-1), int64(-1))
	f.Fuzz(func(t *testing.T, serviceID, client, name, method string, payload []byte, number uint64, ms int64) {
		for _, c := range serviceID {
			if !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", c) {
				return
			}
		}
		if bytes.IndexByte(payload, '\n') >= 0 || !codec.Parse(payload, 100, new(codec.Message)) {
			return
		}
		sender, principal, raw := codec.AppendQuoted(nil, client), codec.AppendQuoted(nil, name), codec.AppendQuoted(nil, method)
		object := codec.AppendServiceObject(nil, serviceID, sender, payload)
		for _, c := range []struct {
			line    []byte
			payload bool
		}{
			{codec.AppendNotification(nil, serviceID, sender, principal, raw, payload), true},
			{codec.AppendNotification(nil, serviceID, sender, nil, raw, nil), false},
			{codec.AppendHandleRequest(nil, number, serviceID, sender, principal, raw, payload, ms), true},
			{codec.AppendResult(nil, raw, payload), true},
			{codec.AppendError(nil, raw, codec.CodeTimeout, method, payload), true},
			{codec.AppendErrorRaw(nil, raw, payload), true},
			{codec.AppendCancel(nil, number), false},
			{codec.AppendActionSet(nil, object, number), true},
			{codec.AppendActionRemoved(nil, serviceID, number), false},
			{codec.AppendDropped(nil, serviceID, number), false},
			{codec.AppendClosing(nil, method, client), false},
			{codec.AppendShutdown(nil, method, client, ms, ms), false},
			{codec.AppendAuthRequired(nil, method, client), false},
		} {
			checkLine(t, c.line, payload, c.payload)
		}
		line := codec.AppendNotification(nil, serviceID, sender, principal, raw, payload)
		var m codec.Message
		if codec.Parse(line[:len(line)-1], 128, &m); !bytes.Equal(m.Payload.Of(line), bytes.Trim(payload, " \t\r")) || !codec.EqualString(m.Name.Of(line), validUTF8(method)) {
			t.Fatalf("%s has payload %s, name %s", line, m.Payload.Of(line), m.Name.Of(line))
		}
	})
}

func checkLine(t *testing.T, line, payload []byte, carries bool) {
	if bytes.IndexByte(line, '\n') != len(line)-1 {
		t.Fatalf("%q is not one line", line)
	}
	var m codec.Message
	if !codec.Parse(line[:len(line)-1], 128, &m) || !m.Version || m.Duplicates != 0 || m.Kind == codec.KindNone {
		t.Fatalf("%q is no message: %+v", line, m)
	}
	if carries && !bytes.Contains(line, payload) {
		t.Fatalf("%q lost its payload %q", line, payload)
	}
}
