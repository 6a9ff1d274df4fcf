package sim

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzJSON compares the model's reading of JSON with that of the standard library.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{``, `{}`, `[1,-0.5e+3,"a\u00e9\ud83d\ude00",{"a":null,"a":[true,false]}]`, `01`, `1.`, `-`, `"\x"`, `"\ud800"`, "\"\t\"", `[1,]`, `{"a":1,}`, `{"a" : 1 } `, `1 1`, "\v1", `nul`, `[[[]]]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, ok := readJSON(string(data), 1000)
		if want := json.Valid(data) && utf8.Valid(data); ok != want && (!want || v.deep() <= 1000) {
			t.Fatalf("readJSON says %v, encoding/json %v", ok, want)
		}
		if !ok {
			return
		}
		if trimmed := bytes.Trim(data, " \t\r\n"); v.raw != string(trimmed) {
			t.Fatalf("raw is %q", v.raw)
		}
		if text, clean := v.string(); clean {
			var want string
			if err := json.Unmarshal(data, &want); err != nil || text != want {
				t.Fatalf("%s is %q, want %q", data, text, want)
			}
			if back, err := unquoted(quote(text)); err != nil || back != text {
				t.Fatalf("%q quoted is %s", text, quote(text))
			}
		}
		if v.kind == '[' {
			var want []json.RawMessage
			if err := json.Unmarshal(data, &want); err != nil || len(want) != len(v.items) {
				t.Fatalf("%d elements, want %d", len(v.items), len(want))
			}
			for i, item := range want {
				if v.items[i].raw != string(item) {
					t.Fatalf("element %d is %s, want %s", i, v.items[i].raw, item)
				}
			}
		}
	})
}

func unquoted(raw string) (text string, err error) {
	err = json.Unmarshal([]byte(raw), &text)
	return text, err
}
