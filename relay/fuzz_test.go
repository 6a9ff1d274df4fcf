package relay

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ahprelay/ahprelay/codec"
)

// FuzzGlob compares matching with its definition.
func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{{"", ""}, {"*", "x"}, {"a*b*c", "aXbXbc"}, {"?é*", "ééé"}, {"**?**", "\xff"}, {"*a*a*a*b", "aaaaaaaaaaaa"}, {"[a-z]", "b"}, {`\*`, `\x`}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if !utf8.ValidString(pattern) || !utf8.ValidString(s) {
			return // neither a configuration nor a decoded string
		}
		if strings.Count(pattern, "*") > 5 || len(s) > 60 {
			glob(pattern, s) // the definition would take forever
			return
		}
		if got, want := glob(pattern, s), naiveGlob([]rune(pattern), []rune(s)); got != want {
			t.Fatalf("glob(%q, %q) = %v", pattern, s, got)
		}
	})
}

var semVer = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$`)

// newest picks the version that the contract wants from a list, with numbers of any size.
func newest(list []string) (chosen string) {
	var best [3]*big.Int
	for _, s := range list {
		var v [3]*big.Int
		for i, part := range semVer.FindStringSubmatch(s)[1:] {
			v[i], _ = new(big.Int).SetString(part, 10)
		}
		zero, minor := v[0].Sign() == 0, v[1]
		if !(v[0].Cmp(big.NewInt(1)) == 0 || zero && minor.Cmp(big.NewInt(3)) >= 0 && minor.Cmp(big.NewInt(9)) <= 0) {
			continue
		}
		higher := chosen == ""
		for i := 0; i < 3 && !higher; i++ {
			if order := v[i].Cmp(best[i]); order != 0 {
				higher = order > 0
				break
			}
		}
		if higher {
			chosen, best = s, v
		}
	}
	return chosen
}

// FuzzVersions compares the choice of a version with one by encoding/json, a regular expression and
// numbers without bound.
func FuzzVersions(f *testing.F) {
	for _, seed := range []string{`[]`, `["1.0.0"]`, `["0.3.0","1.2.3","1.10.0"]`, `["0.10.0","0.9.99999999999999999999"]`, `["1.0"]`, `["01.0.0"]`, `["1.0.0-rc"]`, `["\u0031.0.0"]`, `[1]`, `{}`, `["1.0.0",""]`, `["+1.0.0"]`, `["٣.0.0"]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !utf8.Valid(raw) || !codec.Parse(raw, 100, new(codec.Message)) || len(raw) == 0 || strings.IndexByte(" \t\r\n", raw[0]) >= 0 {
			return
		}
		chosen, ok := chooseVersion(raw)
		var list []string
		valid := raw[0] == '[' && json.Unmarshal(raw, &list) == nil && len(list) > 0
		for _, s := range list {
			if len(s) > 256 {
				return // longer than any version needs to be; refused
			}
			valid = valid && semVer.MatchString(s)
		}
		if raw[0] == '[' && strings.Contains(string(raw), "null") {
			return // encoding/json takes null for a string
		}
		if ok != valid {
			t.Fatalf("%s: valid %v, want %v", raw, ok, valid)
		}
		if valid && chosen != newest(list) {
			t.Fatalf("%s: %q, want %q", raw, chosen, newest(list))
		}
	})
}
