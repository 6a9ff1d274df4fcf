package rpc

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// field is one member of a struct's JSON form.
type field struct {
	name      string
	index     []int // as reflect's FieldByIndex wants it
	typ       reflect.Type
	omitEmpty bool
	omitZero  bool
	tagged    bool
}

// shape is the JSON form of a struct type: its fields as encoding/json names and promotes them.
type shape struct {
	fields   []field
	byName   map[string]int // index in fields
	problems []string       // what of it this package cannot carry
}

var shapes sync.Map // reflect.Type to *shape

// shapeOf returns the JSON form of the struct type t.
func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := &shape{byName: map[string]int{}}
	s.gather(t, nil, map[reflect.Type]bool{})
	s.settle()
	kept, _ := shapes.LoadOrStore(t, s)
	return kept.(*shape)
}

// gather appends the fields of t, which is embedded at index, and of what t embeds.
func (s *shape) gather(t reflect.Type, index []int, above map[reflect.Type]bool) {
	if above[t] {
		return
	}
	above[t] = true
	defer delete(above, t)
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if tag == "-" {
			continue
		}
		at := append(slices.Clone(index), i)
		name, options, _ := strings.Cut(tag, ",")
		if f.Anonymous && name == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
				if !f.IsExported() && inner.Kind() == reflect.Struct {
					s.problems = append(s.problems, "it embeds a pointer to the unexported "+inner.Name()+", which cannot be read back")
				}
			}
			if inner.Kind() == reflect.Struct && !selfMade(inner) {
				s.gather(inner, at, above)
				continue
			}
		}
		if !f.IsExported() {
			continue
		}
		s.add(field{name: name, index: at, typ: f.Type, tagged: name != ""}, f.Name, options)
	}
}

func (s *shape) add(f field, goName, options string) {
	if f.name == "" {
		f.name = goName
	}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty":
			f.omitEmpty = true
		case "omitzero":
			f.omitZero = true
		case "string":
			s.problems = append(s.problems, "the field "+goName+" has the option string, which is not supported")
		}
	}
	if f.name == reservedKey {
		s.problems = append(s.problems, "the field "+goName+" has the reserved name "+reservedKey)
	}
	s.fields = append(s.fields, f)
}

// settle drops the fields that others hide: of several with one name the least deep one stays, among
// equally deep ones the one with a tag, and none if that does not decide.
func (s *shape) settle() {
	best := map[string][]field{}
	for _, f := range s.fields {
		rivals := best[f.name]
		switch {
		case len(rivals) == 0 || len(f.index) < len(rivals[0].index):
			best[f.name] = []field{f}
		case len(f.index) > len(rivals[0].index):
		case f.tagged == rivals[0].tagged:
			best[f.name] = append(rivals, f)
		case f.tagged:
			best[f.name] = []field{f}
		}
	}
	s.fields = s.fields[:0]
	for _, rivals := range best {
		if len(rivals) == 1 {
			s.fields = append(s.fields, rivals[0])
		}
	}
	slices.SortFunc(s.fields, func(a, b field) int { return slices.Compare(a.index, b.index) })
	for i, f := range s.fields {
		s.byName[f.name] = i
	}
}

// of returns the field's value in v; false if it lies behind a nil embedded pointer.
func (f *field) of(v reflect.Value) (reflect.Value, bool) {
	for i, x := range f.index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}, false
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v, true
}

// in is of for a value that is being filled: embedded pointers that are nil get something to point to.
func (f *field) in(v reflect.Value) reflect.Value {
	for i, x := range f.index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}

// omitted reports whether the field is left out of the JSON form when it has the value v.
func (f *field) omitted(v reflect.Value) bool {
	if f.omitZero {
		if z, ok := v.Interface().(interface{ IsZero() bool }); ok && (v.Kind() != reflect.Pointer || !v.IsNil()) {
			return z.IsZero()
		}
		return v.IsZero()
	}
	if !f.omitEmpty {
		return false
	}
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}
