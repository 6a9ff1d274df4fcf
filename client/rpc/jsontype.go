package rpc

import (
	"encoding"
	"fmt"
	"reflect"

	"github.com/goccy/go-json"
)

type (
	marshaler   interface{ MarshalJSON() ([]byte, error) }
	unmarshaler interface{ UnmarshalJSON([]byte) error }
)

var (
	marshalerType       = reflect.TypeFor[marshaler]()
	unmarshalerType     = reflect.TypeFor[unmarshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	numberType          = reflect.TypeFor[json.Number]()
	rawType             = reflect.TypeFor[json.RawMessage]()
)

// has reports whether t or *t implements iface.
func has(t, iface reflect.Type) bool {
	return t.Implements(iface) || t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(iface)
}

// selfMade reports whether values of t make their JSON form themselves.
func selfMade(t reflect.Type) bool { return has(t, marshalerType) || has(t, textMarshalerType) }

// isBytes reports whether t is a byte slice, whose JSON form is a base64 string.
func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !selfMade(t.Elem())
}

// inspector finds what of a type is no JSON, or no JSON that both ends can carry.
type inspector struct {
	report func(where, reason string)
	refs   bool // contracts are allowed: they become references
	found  bool // there was a contract
	seen   map[reflect.Type]bool
}

// inspect reports the problems of t. where is a path like that of a value: args[0].items[].
func (c *inspector) inspect(t reflect.Type, where string) {
	if c.seen[t] {
		return
	}
	c.seen[t] = true
	if isContract(t) {
		if c.found = true; !c.refs {
			c.report(where, fmt.Sprintf("%v is a remote object, which cannot stand here", t))
		}
		return
	}
	if t.Kind() != reflect.Interface && selfMade(t) {
		if !has(t, unmarshalerType) && (has(t, marshalerType) || !has(t, textUnmarshalerType)) {
			c.report(where, fmt.Sprintf("%v makes its own JSON, which it cannot read back", t))
		}
		return
	}
	switch t.Kind() {
	case reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer, reflect.Uintptr:
		c.report(where, fmt.Sprintf("%v is no JSON value", t))
	case reflect.Interface:
		if t.NumMethod() > 0 {
			c.report(where, fmt.Sprintf("%v is an interface with methods", t))
		}
	case reflect.Map:
		if k := t.Key(); k.Kind() != reflect.String || selfMade(k) {
			c.report(where, fmt.Sprintf("%v has keys that are no strings", t))
		}
		c.inspect(t.Elem(), where+"{}")
	case reflect.Pointer:
		c.inspect(t.Elem(), where)
	case reflect.Slice, reflect.Array:
		c.inspect(t.Elem(), where+"[]")
	case reflect.Struct:
		s := shapeOf(t)
		for _, p := range s.problems {
			c.report(where, p)
		}
		for _, f := range s.fields {
			c.inspect(f.typ, where+"."+f.name)
		}
	}
}
