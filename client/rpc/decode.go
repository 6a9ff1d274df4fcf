package rpc

import (
	"encoding"
	"reflect"
	"slices"
	"strconv"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
)

// decoder turns JSON that is known to be valid into Go values. Like the encoder it walks by itself, to name
// the path of what does not fit and to resolve references where the types have them.
type decoder struct {
	// remote reports whether values of t are references, resolve returns what one stands for.
	remote  func(t reflect.Type) bool
	resolve func(t reflect.Type, r reference, at *path) (reflect.Value, error)
}

// decode sets v, which can be set and is zero, to raw.
func (d *decoder) decode(raw []byte, v reflect.Value, at *path) error {
	t := v.Type()
	null := codec.KindOf(raw) == codec.Null
	if d.remote != nil && d.remote(t) {
		if null {
			return nil
		}
		r, err := parseReference(raw, at)
		if err != nil {
			return err
		}
		object, err := d.resolve(t, r, at)
		if err == nil {
			v.Set(object)
		}
		return err
	}
	if null && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Map || t.Kind() == reflect.Slice && t != rawType || t.Kind() == reflect.Interface) {
		return nil
	}
	if t.Kind() != reflect.Interface && t.Kind() != reflect.Pointer && has(t, unmarshalerType) || t == numberType {
		return d.opaque(raw, v, at)
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok && t.Kind() != reflect.Pointer {
		s, ok := text(raw)
		if !ok {
			return at.problem("want a string, not %s", kindName(raw))
		}
		if err := u.UnmarshalText([]byte(s)); err != nil {
			return at.problem("%v", err)
		}
		return nil
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return d.scalar(raw, v, at)
	case reflect.Pointer:
		p := reflect.New(t.Elem())
		v.Set(p)
		return d.decode(raw, p.Elem(), at)
	case reflect.Interface:
		value, err := d.dynamic(raw, at)
		if err == nil {
			v.Set(reflect.ValueOf(value))
		}
		return err
	case reflect.Slice, reflect.Array:
		if isBytes(t) {
			return d.opaque(raw, v, at)
		}
		return d.list(raw, v, at)
	case reflect.Map:
		return d.object(raw, v, at)
	case reflect.Struct:
		return d.structure(raw, v, at)
	}
	return at.problem("%v is no JSON value", t)
}

// opaque leaves a value without references to the JSON library.
func (d *decoder) opaque(raw []byte, v reflect.Value, at *path) error {
	if err := reserved(raw, at); err != nil {
		return err
	}
	if v.Type() == rawType {
		v.SetBytes(slices.Clone(raw))
		return nil
	}
	if v.Type() == numberType && codec.KindOf(raw) != codec.Number {
		return at.problem("want a number, not %s", kindName(raw))
	}
	if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
		return at.problem("%v", err)
	}
	return nil
}

func (d *decoder) scalar(raw []byte, v reflect.Value, at *path) error {
	want := codec.Number
	switch v.Kind() {
	case reflect.Bool:
		want = codec.Bool
	case reflect.String:
		want = codec.String
	}
	if codec.KindOf(raw) != want {
		return at.problem("want %s, not %s", v.Kind(), kindName(raw))
	}
	switch {
	case want == codec.Bool:
		v.SetBool(raw[0] == 't')
	case want == codec.String:
		s, _ := text(raw)
		v.SetString(s)
	case v.CanFloat():
		f, err := strconv.ParseFloat(string(raw), v.Type().Bits())
		if err != nil {
			return at.problem("%s does not fit %v", raw, v.Type())
		}
		v.SetFloat(f)
	case v.CanInt():
		n, ok := codec.Integer(raw)
		if !ok || v.OverflowInt(n) {
			return at.problem("%s does not fit %v", raw, v.Type())
		}
		v.SetInt(n)
	default:
		n, err := strconv.ParseUint(string(raw), 10, 64)
		if i, ok := codec.Integer(raw); err != nil && ok && i >= 0 {
			n, err = uint64(i), nil // spelled in another way
		}
		if err != nil || v.OverflowUint(n) {
			return at.problem("%s does not fit %v", raw, v.Type())
		}
		v.SetUint(n)
	}
	return nil
}

// dynamic returns the value for an any: what encoding/json would make of it, never nil.
func (d *decoder) dynamic(raw []byte, at *path) (any, error) {
	v := reflect.New(dynamicType(raw))
	if err := d.decode(raw, v.Elem(), at); err != nil {
		return nil, err
	}
	return v.Elem().Interface(), nil
}

func dynamicType(raw []byte) reflect.Type {
	switch codec.KindOf(raw) {
	case codec.Object:
		return reflect.TypeFor[map[string]any]()
	case codec.Array:
		return reflect.TypeFor[[]any]()
	case codec.String:
		return reflect.TypeFor[string]()
	case codec.Bool:
		return reflect.TypeFor[bool]()
	}
	return reflect.TypeFor[float64]()
}

func (d *decoder) list(raw []byte, v reflect.Value, at *path) error {
	if codec.KindOf(raw) != codec.Array {
		return at.problem("want an array, not %s", kindName(raw))
	}
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	it := codec.ArrayElements(raw)
	n := 0
	for value, ok := it.Next(); ok; value, ok = it.Next() {
		inner := at.element(n)
		if v.Kind() == reflect.Array && n >= v.Len() {
			return at.problem("want %d elements, not more", v.Len())
		}
		if v.Kind() == reflect.Slice {
			if n == v.Cap() {
				v.Grow(1)
			}
			v.SetLen(n + 1)
		}
		if err := d.decode(value, v.Index(n), &inner); err != nil {
			return err
		}
		n++
	}
	if v.Kind() == reflect.Array && n < v.Len() {
		return at.problem("want %d elements, not %d", v.Len(), n)
	}
	return nil
}

func (d *decoder) object(raw []byte, v reflect.Value, at *path) error {
	if codec.KindOf(raw) != codec.Object {
		return at.problem("want an object, not %s", kindName(raw))
	}
	t := v.Type()
	v.Set(reflect.MakeMap(t))
	it := codec.ObjectMembers(raw)
	for quoted, value, ok := it.Next(); ok; quoted, value, ok = it.Next() {
		name, _ := text(quoted)
		if name == reservedKey {
			return at.problem("the key %s is reserved", reservedKey)
		}
		inner := at.member(name)
		element := reflect.New(t.Elem()).Elem()
		if err := d.decode(value, element, &inner); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(name).Convert(t.Key()), element)
	}
	return nil
}

// structure fills a struct. Members that it does not have are ignored, as long as they are not reserved.
func (d *decoder) structure(raw []byte, v reflect.Value, at *path) error {
	if codec.KindOf(raw) != codec.Object {
		return at.problem("want an object, not %s", kindName(raw))
	}
	s := shapeOf(v.Type())
	it := codec.ObjectMembers(raw)
	for quoted, value, ok := it.Next(); ok; quoted, value, ok = it.Next() {
		name, _ := text(quoted)
		if name == reservedKey {
			return at.problem("the key %s is reserved", reservedKey)
		}
		inner := at.member(name)
		i, known := s.byName[name]
		if !known {
			if err := reserved(value, &inner); err != nil {
				return err
			}
			continue
		}
		target := s.fields[i].in(v)
		target.SetZero() // a member that is there twice
		if err := d.decode(value, target, &inner); err != nil {
			return err
		}
	}
	return nil
}
