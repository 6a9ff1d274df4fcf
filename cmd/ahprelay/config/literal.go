package config

import (
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// literal returns the value of k in c as TOML.
func (k Key) literal(c *Config) string {
	field := k.field(c)
	if d, ok := field.(*time.Duration); ok && *d == 0 && k.Zero != "" {
		return quote(k.Zero)
	}
	return literal(field)
}

// literal returns the value behind field as TOML that setTOML reads back to the same value.
func literal(field any) string {
	switch p := field.(type) {
	case *string:
		return quote(*p)
	case *[]string:
		quoted := make([]string, len(*p))
		for i, s := range *p {
			quoted[i] = quote(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	case *bool:
		return strconv.FormatBool(*p)
	case *int:
		return strconv.Itoa(*p)
	case *int64:
		return strconv.FormatInt(*p, 10)
	case **int:
		return strconv.Itoa(**p)
	case *time.Duration:
		return quote(duration(*p))
	case *fs.FileMode:
		return quote(fmt.Sprintf("%04o", uint32(*p)))
	case *relay.Overload:
		if *p == relay.OverloadDisconnect {
			return quote("disconnect")
		}
		return quote("drop")
	case *slog.Level:
		return quote(levels[*p])
	}
	panic(fmt.Sprintf("config: no literal of %T", field))
}

// duration is d as people write it: "10m", not "10m0s".
func duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// quote returns s as a TOML basic string. TOML has no \x and no \a, so strconv.Quote will not do.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
