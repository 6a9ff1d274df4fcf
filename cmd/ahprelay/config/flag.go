package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Flags are the command line's values of keys. They are read by Load, so that they win over
// everything, and again by each reload.
type Flags struct {
	set []*option
}

// option is a pflag.Value that keeps the text for later and checks it at once.
type option struct {
	key     Key
	value   string
	given   bool
	initial string // for the help
}

// AddFlags adds a flag for every key to set. Flags may be spelled as in the file too: with
// underscores, and limits with their table in front.
func AddFlags(set *pflag.FlagSet) *Flags {
	flags := &Flags{}
	initial := Default()
	for _, k := range keys {
		f := &option{key: k, initial: strings.Trim(k.literal(&initial), `"[]`)}
		flags.set = append(flags.set, f)
		doc, _, _ := strings.Cut(k.Doc, "\n")
		pf := set.VarPF(f, k.Flag(), "", strings.TrimSuffix(doc, ", and tls://host:port"))
		pf.DefValue = f.initial
		if _, ok := k.field(&initial).(*bool); ok {
			pf.NoOptDefVal = "true"
		}
	}
	set.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(flagName(name))
	})
	return flags
}

// Set keeps text; lists grow with each use of the flag.
func (f *option) Set(text string) error {
	scratch := Default()
	field := f.key.field(&scratch)
	if err := setText(field, text); err != nil {
		return err
	}
	if _, ok := field.(*[]string); ok && f.given {
		text = f.value + "," + text
	}
	f.value, f.given = text, true
	return nil
}

func (f *option) String() string { return f.value }

// Type names the kind of value in the help.
func (f *option) Type() string {
	scratch := Default()
	switch f.key.field(&scratch).(type) {
	case *bool:
		return "bool"
	case *int, *int64:
		return "int"
	case *[]string:
		return "list"
	case *time.Duration:
		return "duration"
	}
	return "string"
}

// readFlags sets what flags set.
func (l *Loaded) readFlags(flags *Flags) []error {
	if flags == nil {
		return nil
	}
	var errs []error
	for _, f := range flags.set {
		if !f.given {
			continue
		}
		name := "--" + f.key.Flag()
		if err := setText(f.key.field(&l.Config), f.value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		l.origins[f.key.Name] = Origin{Kind: FromFlag, Name: name}
	}
	return errs
}
