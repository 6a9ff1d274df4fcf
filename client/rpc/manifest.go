package rpc

import (
	"context"
	"fmt"
	"reflect"
	"slices"
)

var (
	contextType = reflect.TypeFor[context.Context]()
	errorType   = reflect.TypeFor[error]()
	remoteType  = reflect.TypeFor[Remote]()
	streamType  = reflect.TypeFor[stream]()
)

// isContract reports whether t is a contract: an interface that embeds Remote.
func isContract(t reflect.Type) bool {
	return t.Kind() == reflect.Interface && t.Implements(remoteType)
}

// form says how a member is used.
type form uint8

const (
	formCall form = iota
	formSubscription
	formSelector
)

// manifest says what may be done with the objects of one interface. It is made from the Go type alone,
// at both ends: nothing that arrives adds to it.
type manifest struct {
	name     string
	typ      reflect.Type
	byWire   map[string]*member
	byName   map[string]*member // by Go name
	problems []Problem
}

// member is one method of a contract.
type member struct {
	name, wire      string
	form            form
	context         bool           // the method begins with a context
	params          []reflect.Type // without the context; the last of a variadic one is the slice
	variadic        bool
	required        int // how many params cannot be omitted
	result          reflect.Type
	snapshot, event reflect.Type // of a subscription
	references      bool         // the result may bring references, for which there must be a session
}

// manifestOf derives the manifest of the interface type t; the methods named in escapes are left out.
func manifestOf(t reflect.Type, escapes ...string) *manifest {
	m := &manifest{name: t.Name(), typ: t, byWire: map[string]*member{}, byName: map[string]*member{}}
	if t.Kind() != reflect.Interface {
		m.name = t.String()
		m.problem("", "", "%v is no interface", t)
		return m
	}
	for i := range t.NumMethod() {
		method := t.Method(i)
		_, own := remoteType.MethodByName(method.Name)
		if own && isContract(t) || slices.Contains(escapes, method.Name) {
			continue
		}
		m.add(method)
	}
	for _, name := range escapes {
		if _, ok := t.MethodByName(name); !ok {
			m.problem(name, "", "an escape for a method that is not there")
		}
	}
	return m
}

func (m *manifest) problem(member, where, format string, args ...any) {
	m.problems = append(m.problems, Problem{Interface: m.name, Member: member, Where: where, Reason: fmt.Sprintf(format, args...)})
}

// add takes a method into the manifest, or notes why it cannot be.
func (m *manifest) add(method reflect.Method) {
	if !method.IsExported() {
		m.problem(method.Name, "", "is not exported")
		return
	}
	e := &member{name: method.Name, wire: wireName(method.Name)}
	t := method.Type
	for i := range t.NumIn() {
		if i == 0 && t.In(0) == contextType {
			e.context = true
			continue
		}
		e.params = append(e.params, t.In(i))
	}
	e.variadic = t.IsVariadic()
	for i, p := range e.params {
		if p.Kind() != reflect.Pointer && (!e.variadic || i < len(e.params)-1) {
			e.required = i + 1
		}
	}
	m.classify(e, t)
	if other := m.byWire[e.wire]; other != nil {
		m.problem(e.name, "", "has the same name on the wire as %s: %s", other.name, e.wire)
		return
	}
	m.byWire[e.wire], m.byName[e.name] = e, e
}

// classify finds the form of a method by its results and checks what that form allows.
func (m *manifest) classify(e *member, t reflect.Type) {
	out := t.NumOut()
	fails := out > 0 && t.Out(out-1) == errorType
	switch {
	case out == 1 && isContract(t.Out(0)):
		e.form, e.result = formSelector, t.Out(0)
		m.checkSelector(e)
		return
	case !fails:
		m.problem(e.name, "", "does not return an error last")
	case out > 2:
		m.problem(e.name, "", "returns more than one result and an error")
	}
	if out == 2 && t.Out(0).Implements(streamType) {
		e.form = formSubscription
		e.snapshot, e.event = reflect.Zero(t.Out(0)).Interface().(stream).types()
		m.checkSubscription(e)
		return
	}
	for i, p := range e.params {
		m.inspect(e, p, (&path{name: rootArgs}).at(i), true)
	}
	for i := range out {
		if t.Out(i) == errorType && i == out-1 {
			continue
		}
		e.result = t.Out(i)
		e.references = m.inspect(e, t.Out(i), rootResult, true) || e.references
	}
}

// inspect notes the problems of one type and tells whether there are references in it.
func (m *manifest) inspect(e *member, t reflect.Type, where string, refs bool) bool {
	c := inspector{refs: refs, seen: map[reflect.Type]bool{}, report: func(where, reason string) {
		m.problem(e.name, where, "%s", reason)
	}}
	c.inspect(t, where)
	return c.found
}

func (m *manifest) checkSubscription(e *member) {
	if !e.context {
		m.problem(e.name, "", "is a subscription without a context")
	}
	if len(e.params) > 1 || e.variadic {
		m.problem(e.name, "", "is a subscription with more than one filter")
	}
	for _, p := range e.params {
		m.inspect(e, p, rootFilter, false)
	}
	m.inspect(e, e.snapshot, rootSnapshot, false)
	m.inspect(e, e.event, rootEvent, false)
}

func (m *manifest) checkSelector(e *member) {
	if e.context {
		m.problem(e.name, "", "is a selector with a context, but sends nothing")
	}
	for i, p := range e.params {
		switch p.Kind() {
		case reflect.String, reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			if !selfMade(p) {
				continue
			}
		}
		m.problem(e.name, (&path{name: rootArgs}).at(i), "%v cannot select: only strings, integers and booleans can", p)
	}
}

// selects reports whether the interface has selectors. Its objects must then be reached by selectors.
func (m *manifest) selects() bool {
	for _, e := range m.byName {
		if e.form == formSelector {
			return true
		}
	}
	return false
}

func (p *path) at(i int) string {
	e := p.element(i)
	return e.String()
}
