package rpc

import (
	"context"
	"fmt"
	"reflect"
)

// function is a method of an object of the host's, or an adapter's function that takes the object.
type function struct {
	call     func(ctx reflect.Value, object reflect.Value, args []reflect.Value) []reflect.Value
	context  bool
	in       []reflect.Type // without context and object; the last of a variadic one is the slice
	variadic bool
	out      reflect.Type // nil: none
	fails    bool         // an error comes last
}

// methodOf returns the method of t of this name; ok is false if there is none.
func methodOf(t reflect.Type, name string) (f function, ok bool) {
	m, ok := t.MethodByName(name)
	if !ok {
		return function{}, false
	}
	mt, first := m.Type, 0
	if t.Kind() != reflect.Interface {
		first = 1 // the receiver
	}
	if mt.NumIn() > first && mt.In(first) == contextType {
		f.context = true
		first++
	}
	f.describe(mt, first)
	f.call = func(ctx, object reflect.Value, args []reflect.Value) []reflect.Value {
		if f.context {
			args = append([]reflect.Value{ctx}, args...)
		}
		return object.Method(m.Index).Call(args)
	}
	return f, true
}

// functionOf returns the adapter's function fn, which takes an object of type t.
func functionOf(t reflect.Type, fn any) (f function, err error) {
	v := reflect.ValueOf(fn)
	if v.Kind() != reflect.Func || v.IsNil() {
		return function{}, fmt.Errorf("%T is no function", fn)
	}
	ft := v.Type()
	takes := func(i int) bool { return i < ft.NumIn() && ft.In(i) != contextType && t.AssignableTo(ft.In(i)) }
	contextAt := -1
	switch {
	case takes(0) && ft.NumIn() > 1 && ft.In(1) == contextType:
		contextAt = 1
	case takes(0):
	case takes(1) && ft.In(0) == contextType:
		contextAt = 0
	default:
		return function{}, fmt.Errorf("%v does not take a %v first", ft, t)
	}
	first := 1
	if f.context = contextAt >= 0; f.context {
		first = 2
	}
	f.describe(ft, first)
	f.call = func(ctx, object reflect.Value, args []reflect.Value) []reflect.Value {
		in := make([]reflect.Value, 0, len(args)+2)
		switch contextAt {
		case 0:
			in = append(in, ctx, object)
		case 1:
			in = append(in, object, ctx)
		default:
			in = append(in, object)
		}
		return v.Call(append(in, args...))
	}
	return f, nil
}

// describe takes parameters, from the first one that is not special, and results from t.
func (f *function) describe(t reflect.Type, first int) {
	for i := first; i < t.NumIn(); i++ {
		f.in = append(f.in, t.In(i))
	}
	f.variadic = t.IsVariadic()
	out := t.NumOut()
	if f.fails = out > 0 && t.Out(out-1) == errorType; f.fails {
		out--
	}
	switch out {
	case 0:
	case 1:
		f.out = t.Out(0)
	default:
		f.out = reflect.TypeFor[tooMany]()
	}
}

// tooMany stands for more than one result, which fits no member.
type tooMany struct{ _ func() }

// invoke calls f.
func (f *function) invoke(ctx context.Context, object reflect.Value, args []reflect.Value) (reflect.Value, error) {
	out := f.call(reflect.ValueOf(ctx), object, args)
	if f.fails {
		if err, failed := out[len(out)-1].Interface().(error); failed {
			return reflect.Value{}, err
		}
	}
	if f.out == nil {
		return reflect.Value{}, nil
	}
	return out[0], nil
}
