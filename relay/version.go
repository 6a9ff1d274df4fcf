package relay

import (
	"strings"

	"github.com/ahprelay/ahprelay/codec"
)

// ProtocolRanges are the AHP versions that the relay speaks, newest first, as SemVer caret ranges.
var ProtocolRanges = []string{"^1.0.0", "^0.9.0", "^0.8.0", "^0.7.0", "^0.6.0", "^0.5.0", "^0.4.0", "^0.3.0"}

var unsupportedData = []byte(`{"supportedVersions":["` + strings.Join(ProtocolRanges, `","`) + `"]}`)

// version is a SemVer core version; its parts keep their spelling, for they may have any length.
type version [3]string

// parseVersion reads MAJOR.MINOR.PATCH without pre-release or build parts.
func parseVersion(s string) (v version, ok bool) {
	parts := strings.Split(s, ".")
	if len(parts) != 3 {
		return v, false
	}
	for i, part := range parts {
		if part == "" || part[0] == '0' && part != "0" || strings.Trim(part, "0123456789") != "" {
			return v, false
		}
		v[i] = part
	}
	return v, true
}

// less orders versions; a part without leading zeros is greater when it is longer.
func (v version) less(w version) bool {
	for i := range v {
		if v[i] != w[i] {
			return len(v[i]) < len(w[i]) || len(v[i]) == len(w[i]) && v[i] < w[i]
		}
	}
	return false
}

// supported reports whether the version lies in one of ProtocolRanges.
func (v version) supported() bool {
	if v[0] == "0" {
		return len(v[1]) == 1 && v[1] >= "3"
	}
	return v[0] == "1"
}

// chooseVersion picks the highest version of a list that the relay speaks, "" when it speaks none. It
// returns false when raw is no list of versions, or an empty one.
func chooseVersion(raw []byte) (chosen string, ok bool) {
	if codec.KindOf(raw) != codec.Array {
		return "", false
	}
	var best version
	for it := codec.ArrayElements(raw); ; {
		value, more := it.Next()
		if !more {
			return chosen, ok
		}
		s, valid := text(value, 256)
		if !valid {
			return "", false
		}
		v, valid := parseVersion(s)
		if !valid {
			return "", false
		}
		ok = true
		if v.supported() && (chosen == "" || best.less(v)) {
			best, chosen = v, s
		}
	}
}
