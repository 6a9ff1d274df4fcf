package config

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"strings"
)

// fileBytesMax keeps a wrong path (a device, a log) from being read into memory.
const fileBytesMax = 4 << 20

// Source says where a configuration comes from, weakest first; the zero Source is the defaults.
type Source struct {
	File  string   // path of a TOML file, "" for none: no file is ever read that was not named
	Env   []string // as os.Environ
	Flags *Flags   // nil for none
}

// Loaded is a valid configuration and where its values came from.
type Loaded struct {
	Config
	Warnings []string // what is legal and probably not meant
	origins  map[string]Origin
}

// Origin returns where the value of the key called name came from.
func (l *Loaded) Origin(name string) Origin { return l.origins[name] }

// Load reads src and validates the result. The error joins one error for each thing that is wrong,
// each of one line that begins with where it is wrong.
func Load(src Source) (*Loaded, error) {
	text := ""
	if src.File != "" {
		b, err := read(src.File)
		if err != nil {
			return nil, err
		}
		text = b
	}
	return load(src, text)
}

func read(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading the configuration: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, fileBytesMax+1))
	if err != nil {
		return "", fmt.Errorf("reading the configuration: %w", err)
	}
	if len(b) > fileBytesMax {
		return "", fmt.Errorf("reading the configuration: %s is longer than %d bytes", path, fileBytesMax)
	}
	return string(b), nil
}

// Parse reads text, the content of a file called name, on top of the defaults.
func Parse(name, text string) (*Loaded, error) {
	return load(Source{File: name}, text)
}

func load(src Source, text string) (*Loaded, error) {
	l := &Loaded{Config: Default(), origins: map[string]Origin{}}
	errs := l.readFile(src.File, text)
	errs = append(errs, l.readEnv(src.Env)...)
	errs = append(errs, l.readFlags(src.Flags)...)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if err := l.validate(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Loaded) validate() error {
	var errs []error
	problems, warnings := l.Config.check()
	for _, p := range problems {
		errs = append(errs, errors.New(l.locate(p)))
	}
	l.Warnings = nil
	for _, p := range warnings {
		l.Warnings = append(l.Warnings, l.locate(p))
	}
	return errors.Join(errs...)
}

// locate returns p with where the first of its keys was set in front.
func (l *Loaded) locate(p problem) string {
	for _, key := range p.keys {
		if o := l.origins[key]; o.Kind != FromDefault {
			return o.prefix() + p.text
		}
	}
	return p.text
}

// Reload returns what a relay that runs with l is to run with after its sources were read again as
// next: next, but for the keys that only a restart can change. Those that differ are named in kept.
func (l *Loaded) Reload(next *Loaded) (merged *Loaded, kept []string, err error) {
	m := *next
	m.origins = maps.Clone(next.origins)
	for _, name := range fixed {
		k, ok := byName(name)
		if !ok {
			panic("config: fixed names no key: " + name)
		}
		now, then := reflect.ValueOf(k.field(&m.Config)).Elem(), reflect.ValueOf(k.field(&l.Config)).Elem()
		if reflect.DeepEqual(now.Interface(), then.Interface()) {
			continue
		}
		kept = append(kept, name)
		now.Set(then)
		m.origins[name] = l.origins[name]
	}
	if err := m.validate(); err != nil {
		return nil, kept, fmt.Errorf("together with what needs a restart (%s): %w", strings.Join(kept, ", "), err)
	}
	return &m, kept, nil
}
