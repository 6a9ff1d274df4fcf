package rpc

import (
	"encoding"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
)

// encoder turns Go values into JSON. It walks a value itself, because a refusal has to name the path, a
// cycle has to be found before the stack ends, and references have to be made where the types say so;
// single values are left to the JSON library.
type encoder struct {
	// refer returns the reference for a value of type t; handled is false for types that are not remote.
	// nil: there are no references here.
	refer    func(t reflect.Type, v reflect.Value, at *path) (r *reference, handled bool, err error)
	depthMax int // of arrays and objects inside each other
	depth    int
	active   map[visit]struct{} // what is being encoded further up
}

// visit identifies a pointer, map or slice.
type visit struct {
	p   unsafe.Pointer
	len int
	typ reflect.Type
}

// encode appends v, which stands at the path at.
func (e *encoder) encode(dst []byte, v reflect.Value, at *path) ([]byte, error) {
	t := v.Type()
	if e.refer != nil {
		r, handled, err := e.refer(t, v, at)
		switch {
		case err != nil:
			return nil, err
		case handled && r == nil:
			return append(dst, "null"...), nil
		case handled:
			return appendReference(dst, *r), nil
		}
	}
	if t.Kind() != reflect.Interface && t.Implements(remoteType) {
		return nil, at.problem("a remote object cannot stand here")
	}
	if t.Kind() != reflect.Interface && (selfMade(t) || t == numberType) {
		return e.selfMade(dst, v, at)
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64, reflect.String:
		return e.scalar(dst, v, at)
	case reflect.Interface, reflect.Pointer, reflect.Map, reflect.Slice:
		if v.IsNil() {
			return append(dst, "null"...), nil
		}
	case reflect.Array, reflect.Struct:
	default:
		return nil, at.problem("%v is no JSON value", t)
	}
	if isBytes(t) {
		return appendJSON(dst, v.Bytes(), at)
	}
	return e.composite(dst, v, at)
}

func (e *encoder) scalar(dst []byte, v reflect.Value, at *path) ([]byte, error) {
	switch {
	case v.Kind() == reflect.Bool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case v.CanInt():
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case v.CanUint():
		return strconv.AppendUint(dst, v.Uint(), 10), nil
	case v.CanFloat():
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, at.problem("%v is no JSON number", f)
		}
		if v.Kind() == reflect.Float32 {
			return appendJSON(dst, float32(v.Float()), at)
		}
		return appendJSON(dst, v.Float(), at)
	}
	if !utf8.ValidString(v.String()) {
		return nil, at.problem("a string that is no UTF-8")
	}
	return codec.AppendQuoted(dst, v.String()), nil
}

// composite appends a value that has others in it, after making sure that it is not one of them.
func (e *encoder) composite(dst []byte, v reflect.Value, at *path) (_ []byte, err error) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		id := visit{v.UnsafePointer(), 0, v.Type()}
		if v.Kind() == reflect.Slice {
			id.len = v.Len()
		}
		if _, cycle := e.active[id]; cycle {
			return nil, at.problem("a cycle: the value contains itself")
		}
		if e.active == nil {
			e.active = map[visit]struct{}{}
		}
		e.active[id] = struct{}{}
		defer delete(e.active, id)
	}
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		return e.encode(dst, v.Elem(), at)
	}
	if e.depth++; e.depth > e.depthMax {
		return nil, at.problem("nests deeper than %d", e.depthMax)
	}
	defer func() { e.depth-- }()
	switch v.Kind() {
	case reflect.Map:
		return e.object(dst, v, at)
	case reflect.Struct:
		return e.structure(dst, v, at)
	}
	dst = append(dst, '[')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		inner := at.element(i)
		if dst, err = e.encode(dst, v.Index(i), &inner); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// object appends a map, its keys in order.
func (e *encoder) object(dst []byte, v reflect.Value, at *path) ([]byte, error) {
	if k := v.Type().Key(); k.Kind() != reflect.String || selfMade(k) {
		return nil, at.problem("%v has keys that are no strings", v.Type())
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		switch {
		case a.String() < b.String():
			return -1
		case a.String() > b.String():
			return 1
		}
		return 0
	})
	dst = append(dst, '{')
	for i, key := range keys {
		name := key.String()
		switch {
		case name == reservedKey:
			return nil, at.problem("the key %s is reserved", reservedKey)
		case !utf8.ValidString(name):
			return nil, at.problem("a key that is no UTF-8")
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(codec.AppendQuoted(dst, name), ':')
		inner := at.member(name)
		var err error
		if dst, err = e.encode(dst, v.MapIndex(key), &inner); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func (e *encoder) structure(dst []byte, v reflect.Value, at *path) ([]byte, error) {
	s := shapeOf(v.Type())
	if len(s.problems) > 0 {
		return nil, at.problem("%s", s.problems[0])
	}
	dst = append(dst, '{')
	first := true
	for i := range s.fields {
		f := &s.fields[i]
		value, ok := f.of(v)
		if !ok || f.omitted(value) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(codec.AppendQuoted(dst, f.name), ':')
		inner := at.member(f.name)
		var err error
		if dst, err = e.encode(dst, value, &inner); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// selfMade appends a value that makes its own JSON form, after looking into that.
func (e *encoder) selfMade(dst []byte, v reflect.Value, at *path) ([]byte, error) {
	if v.Kind() == reflect.Pointer && v.IsNil() || v.Type() == rawType && v.Len() == 0 {
		return append(dst, "null"...), nil
	}
	if !v.Type().Implements(marshalerType) && !v.Type().Implements(textMarshalerType) && v.Type() != numberType {
		p := reflect.New(v.Type()) // only its pointer has the method
		p.Elem().Set(v)
		v = p
	}
	if v.Type() == numberType {
		raw := []byte(v.String())
		if !codec.Parse(raw, 1, new(codec.Message)) || codec.KindOf(raw) != codec.Number {
			return nil, at.problem("%q is no JSON number", raw)
		}
		return append(dst, raw...), nil
	}
	var raw []byte
	var err error
	switch m := v.Interface().(type) {
	case marshaler:
		raw, err = m.MarshalJSON()
	case encoding.TextMarshaler:
		if raw, err = m.MarshalText(); err == nil {
			if !utf8.Valid(raw) {
				return nil, at.problem("a text that is no UTF-8")
			}
			raw = codec.AppendQuoted(nil, string(raw))
		}
	}
	if err != nil {
		return nil, at.problem("%v: %v", v.Type(), err)
	}
	if !codec.Parse(raw, e.depthMax-e.depth, new(codec.Message)) {
		return nil, at.problem("%v makes no valid JSON, or nests deeper than %d", v.Type(), e.depthMax)
	}
	if err := reserved(raw, at); err != nil {
		return nil, err
	}
	return append(dst, raw...), nil
}

// appendJSON appends what the JSON library makes of a single value.
func appendJSON(dst []byte, v any, at *path) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, at.problem("%v", err)
	}
	return append(dst, raw...), nil
}
