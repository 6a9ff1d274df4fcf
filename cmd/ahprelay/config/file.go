package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/ahprelay/ahprelay/relay"
)

// readFile sets what text, the content of the file called name, sets.
func (l *Loaded) readFile(name, text string) []error {
	if name == "" {
		return nil
	}
	var document map[string]any
	if _, err := toml.Decode(text, &document); err != nil {
		return []error{syntax(name, err)}
	}
	f := file{name: name, lines: locate(text), loaded: l}
	f.table("", document)
	return f.errs
}

// syntax rewrites an error of the TOML decoder to begin with the place.
func syntax(name string, err error) error {
	var at toml.ParseError
	if errors.As(err, &at) {
		return fmt.Errorf("%s:%d: %s", name, at.Position.Line, oneLine(at.Message))
	}
	return fmt.Errorf("%s: %s", name, oneLine(err.Error()))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// file is a decoded document on its way into a Loaded.
type file struct {
	name   string
	lines  lines
	loaded *Loaded
	errs   []error
}

func (f *file) origin(key string) Origin {
	return Origin{Kind: FromFile, Name: f.name, Line: f.lines.of(key)}
}

func (f *file) refuse(key, format string, args ...any) {
	f.errs = append(f.errs, errors.New(f.origin(key).prefix()+fmt.Sprintf(format, args...)))
}

// inOrder returns the members of table by line, so that errors come in the order of the file.
func (f *file) inOrder(prefix string, table map[string]any) []string {
	return slices.SortedFunc(maps.Keys(table), func(a, b string) int {
		if d := f.lines.of(prefix+a) - f.lines.of(prefix+b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

// table sets the keys of one table, the root for prefix "", else "limits.", "auth." or "tls.".
func (f *file) table(prefix string, table map[string]any) {
	for _, name := range f.inOrder(prefix, table) {
		key, value := prefix+name, table[name]
		if prefix == "" && (name == "limits" || name == "auth" || name == "tls") {
			inner, ok := value.(map[string]any)
			if !ok {
				f.refuse(key, "%s: want a table, got %s", key, describe(value))
				continue
			}
			f.table(key+".", inner)
			continue
		}
		if key == "principal" {
			f.principals(value)
			continue
		}
		k, ok := byName(key)
		if !ok {
			f.unknown(key)
			continue
		}
		if err := setTOML(k.field(&f.loaded.Config), value); err != nil {
			f.refuse(key, "%s: %v", key, err)
			continue
		}
		f.loaded.origins[key] = f.origin(key)
	}
}

func (f *file) unknown(key string) {
	known := append(names(func(k Key) string { return k.Name }), "limits", "auth", "tls", "principal")
	f.refuse(key, "unknown key %s, the nearest known one is %s", key, Nearest(key, known))
}

// principals sets the elements of [[principal]].
func (f *file) principals(value any) {
	var tables []map[string]any
	switch v := value.(type) {
	case []map[string]any:
		tables = v
	case []any:
		for _, element := range v {
			t, ok := element.(map[string]any)
			if !ok {
				f.refuse("principal", "principal: want tables, got %s", describe(element))
				return
			}
			tables = append(tables, t)
		}
	default:
		f.refuse("principal", "principal: want an array of tables, [[principal]], got %s", describe(value))
		return
	}
	for i, t := range tables {
		f.loaded.Principals = append(f.loaded.Principals, f.principal(i, t))
	}
}

func (f *file) principal(i int, table map[string]any) relay.Principal {
	var p relay.Principal
	prefix := "principal." + strconv.Itoa(i) + "."
	f.loaded.origins[prefix[:len(prefix)-1]] = f.origin(prefix[:len(prefix)-1])
	for _, name := range f.inOrder(prefix, table) {
		key := prefix + name
		field := principalField(&p, name)
		if field == nil {
			f.refuse(key, "unknown key principal.%s, the nearest known one is principal.%s", name, Nearest(name, principalKeys()))
			continue
		}
		if err := setTOML(field, table[name]); err != nil {
			f.refuse(key, "principal.%s: %v", name, err)
			continue
		}
		f.loaded.origins[key] = f.origin(key)
	}
	return p
}
