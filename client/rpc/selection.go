package rpc

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-json"
)

// selection is a way from the root to an object by selectors.
type selection struct {
	steps  []*bound
	result *binding
}

// selectionKey is what distinguishes selections: the interface wanted and the names of the keys.
func selectionKey(iface string, keys []string) string {
	keys = slices.Sorted(slices.Values(keys))
	return iface + "\x00" + strings.Join(keys, "\x00")
}

// findSelections notes every selection that goes on from b, which was reached by steps and keys.
func (o *offer) findSelections(b *binding, steps []*bound, keys []string) {
	if b == nil {
		return
	}
	for _, e := range b.bound {
		if e.form != formSelector || len(e.keys) == 0 {
			continue
		}
		further := append(slices.Clone(keys), e.keys...)
		if slices.ContainsFunc(e.keys, func(k string) bool { return slices.Contains(keys, k) || k == "" }) {
			o.problem(b, e.name, "the keys %q are not all new on the way to it: %q", e.keys, keys)
			continue
		}
		s := &selection{steps: append(slices.Clone(steps), e), result: o.byContract[e.result]}
		key := selectionKey(s.result.manifest.name, further)
		if o.selections[key] != nil {
			o.problem(b, e.name, "another selector has the same keys %q for the same interface", further)
			continue
		}
		o.selections[key] = s
		o.findSelections(s.result, s.steps, further)
	}
}

// find follows the selection from the root to the object that the keys name.
func (o *offer) find(ctx context.Context, root reflect.Value, iface string, keys map[string]json.RawMessage, d *decoder) (*binding, reflect.Value, error) {
	names := make([]string, 0, len(keys))
	for name := range keys {
		names = append(names, name)
	}
	s := o.selections[selectionKey(iface, names)]
	if s == nil {
		return nil, reflect.Value{}, &Error{Reason: reasonTarget, Message: "no selector of this kind leads to " + iface}
	}
	base := &path{name: rootTarget}
	at := base.member("selector")
	object := root
	for _, e := range s.steps {
		args := make([]reflect.Value, len(e.keys))
		for i, key := range e.keys {
			inner := at.member(key)
			args[i] = reflect.New(e.fn.in[i]).Elem()
			if err := d.decode(keys[key], args[i], &inner); err != nil {
				return nil, reflect.Value{}, err
			}
		}
		next, err := e.fn.invoke(ctx, object, args)
		if err != nil {
			return nil, reflect.Value{}, err
		}
		if isNil(next) {
			return nil, reflect.Value{}, &Error{Reason: reasonTarget, Message: "nothing is selected by " + e.wire}
		}
		object = next
	}
	return s.result, object, nil
}

// isNil reports whether there is no object in v, be it an interface with a nil pointer in it.
func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Interface:
		return v.IsNil() || isNil(v.Elem())
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
		return v.IsNil()
	}
	return false
}
