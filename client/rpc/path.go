package rpc

import (
	"fmt"
	"strconv"
	"strings"
)

// path says where in a call a value is, such as args[1].items[3]. It is only spelled out for an error.
type path struct {
	up    *path
	name  string // of a member, or of the beginning
	index int    // of an element, if name is ""
}

func (p *path) member(name string) path { return path{up: p, name: name} }

func (p *path) element(i int) path { return path{up: p, index: i} }

// String spells the path. Names that would be ambiguous are quoted: args[0]["a.b"].
func (p *path) String() string {
	switch {
	case p.up == nil:
		return p.name
	case p.name == "":
		return p.up.String() + "[" + strconv.Itoa(p.index) + "]"
	case plainName(p.name):
		return p.up.String() + "." + p.name
	}
	return p.up.String() + "[" + strconv.Quote(p.name) + "]"
}

func plainName(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// problem makes an ErrValue for the value at p.
func (p *path) problem(format string, args ...any) error {
	return &Error{Reason: reasonValue, Path: p.String(), Message: fmt.Sprintf(format, args...)}
}
