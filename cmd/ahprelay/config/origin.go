package config

import "fmt"

// OriginKind is one of the four sources of a value.
type OriginKind uint8

const (
	FromDefault OriginKind = iota
	FromFile
	FromEnv
	FromFlag
)

// Origin says where a value came from.
type Origin struct {
	Kind OriginKind
	Name string // of the file, the variable, or the flag with its dashes
	Line int    // in the file, from 1; 0 when unknown
}

// String is what "config show" prints behind a value.
func (o Origin) String() string {
	switch o.Kind {
	case FromFile:
		return "file " + o.place()
	case FromEnv:
		return "env " + o.Name
	case FromFlag:
		return "flag " + o.Name
	}
	return "default"
}

// prefix starts an error about the value.
func (o Origin) prefix() string {
	if o.Kind == FromDefault {
		return ""
	}
	return o.place() + ": "
}

func (o Origin) place() string {
	if o.Line > 0 {
		return fmt.Sprintf("%s:%d", o.Name, o.Line)
	}
	return o.Name
}
