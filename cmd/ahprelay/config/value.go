package config

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// setText stores text, from a flag or an environment variable, in the value behind field. Errors
// complete the sentence "KEY: …".
func setText(field any, text string) error {
	switch p := field.(type) {
	case *[]string:
		*p = nil
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				*p = append(*p, part)
			}
		}
		return nil
	case *bool:
		switch text {
		case "true", "1":
			*p = true
		case "false", "0":
			*p = false
		default:
			return fmt.Errorf("want true or false, got %q", text)
		}
		return nil
	case *int, *int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("%s is out of range", text)
		}
		if err != nil {
			return fmt.Errorf("want an integer, got %q", text)
		}
		return setInt(p, n)
	}
	return setString(field, text)
}

// setTOML stores a value that the TOML decoder made in the value behind field.
func setTOML(field, value any) error {
	switch p := field.(type) {
	case *[]string:
		return setStrings(p, value)
	case *bool:
		b, ok := value.(bool)
		if !ok {
			return fmt.Errorf("want true or false, got %s", describe(value))
		}
		*p = b
		return nil
	case *int, *int64, **int:
		n, ok := value.(int64)
		if !ok {
			return fmt.Errorf("want an integer, got %s", describe(value))
		}
		return setInt(p, n)
	}
	s, ok := value.(string)
	if !ok {
		return fmt.Errorf("want %s, got %s", want(field), describe(value))
	}
	return setString(field, s)
}

func setStrings(p *[]string, value any) error {
	list, ok := value.([]any)
	if !ok {
		return fmt.Errorf("want a list of strings, got %s", describe(value))
	}
	all := make([]string, len(list))
	for i, v := range list {
		if all[i], ok = v.(string); !ok {
			return fmt.Errorf("want a list of strings, got %s in it", describe(v))
		}
	}
	*p = all
	return nil
}

func setInt(field any, n int64) error {
	switch p := field.(type) {
	case *int64:
		*p = n
	case *int:
		if n < math.MinInt || n > math.MaxInt {
			return fmt.Errorf("%d is out of range", n)
		}
		*p = int(n)
	case **int:
		if n < 0 || n > math.MaxUint32 {
			return fmt.Errorf("%d is out of range", n)
		}
		v := int(n)
		*p = &v
	default:
		panic(fmt.Sprintf("config: no integer in %T", field))
	}
	return nil
}

func setString(field any, text string) error {
	switch p := field.(type) {
	case *string:
		*p = text
	case *time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("want %s, got %q", want(field), text)
		}
		*p = d
	case *fs.FileMode:
		mode, err := strconv.ParseUint(text, 8, 32)
		if err != nil || mode > 0o777 {
			return fmt.Errorf("want %s, got %q", want(field), text)
		}
		*p = fs.FileMode(mode)
	case *relay.Overload:
		switch text {
		case "drop":
			*p = relay.OverloadDrop
		case "disconnect":
			*p = relay.OverloadDisconnect
		default:
			return fmt.Errorf("want %s, got %q", want(field), text)
		}
	case *slog.Level:
		for level, name := range levels {
			if name == text {
				*p = level
				return nil
			}
		}
		return fmt.Errorf("want %s, got %q", want(field), text)
	default:
		panic(fmt.Sprintf("config: no string in %T", field))
	}
	return nil
}

var levels = map[slog.Level]string{slog.LevelDebug: "debug", slog.LevelInfo: "info", slog.LevelWarn: "warn", slog.LevelError: "error"}

// want names what the value behind field looks like.
func want(field any) string {
	switch field.(type) {
	case *[]string:
		return "a list of strings"
	case *bool:
		return "true or false"
	case *int, *int64, **int:
		return "an integer"
	case *time.Duration:
		return `a duration such as "30s"`
	case *fs.FileMode:
		return `an octal mode such as "0660"`
	case *relay.Overload:
		return `"drop" or "disconnect"`
	case *slog.Level:
		return `"debug", "info", "warn" or "error"`
	}
	return "a string"
}

// describe names a decoded TOML value with its type.
func describe(value any) string {
	switch v := value.(type) {
	case string:
		return fmt.Sprintf("the string %q", v)
	case int64:
		return fmt.Sprintf("the integer %d", v)
	case float64:
		return fmt.Sprintf("the float %v", v)
	case bool:
		return strconv.FormatBool(v)
	case time.Time:
		return "a date"
	case []any, []map[string]any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return fmt.Sprintf("%T", value)
}
