package explore

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// FuzzTree: a tree that is taken apart can be put together again, but for leading zeros of its modes.
func FuzzTree(f *testing.F) {
	f.Add([]byte("100644 a\x0012345678901234567890" + "40000 dir\x0012345678901234567890"))
	f.Add([]byte("160000 \xff\x0012345678901234567890"))
	f.Add([]byte("100644 a\x00123"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := parseTree(&Object{OID: strings.Repeat("a", 40), Type: "tree", Data: data})
		if err != nil {
			return
		}
		var again []byte
		rest := data
		for _, e := range entries {
			bits, err := strconv.ParseUint(e.Mode, 8, 18)
			oid, _ := hex.DecodeString(e.OID)
			if err != nil || len(oid) != 20 || e.Path == "" || strings.ContainsAny(e.Path, "/\x00") {
				t.Fatalf("%+v", e)
			}
			mode, _, _ := bytes.Cut(rest, []byte(" "))
			if got, err := strconv.ParseUint(string(mode), 8, 18); err != nil || got != bits {
				t.Fatalf("mode %q became %s", mode, e.Mode)
			}
			entry := fmt.Appendf(nil, "%s %s\x00%s", mode, e.Path, oid)
			again = append(again, entry...)
			rest = rest[len(entry):]
		}
		if !bytes.Equal(again, data) {
			t.Fatalf("%q became %q", data, again)
		}
	})
}
