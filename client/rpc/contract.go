package rpc

import (
	"fmt"
	"reflect"
	"sync"
)

// Contract is the set of interfaces that a host and its callers agree on, seen from the caller: each with
// the function that makes its proxy. Generated code makes one of them for a package.
type Contract struct {
	proxies    map[reflect.Type]func(Proxy) any
	interfaces []reflect.Type
	once       sync.Once
	manifests  map[reflect.Type]*manifest
	err        error
}

// Declaration is one interface of a Contract; Declare makes it.
type Declaration struct {
	typ  reflect.Type
	make func(Proxy) any
}

// Declare declares the contract C and how to make a proxy for it.
func Declare[C Remote](make func(Proxy) C) Declaration {
	return Declaration{typ: reflect.TypeFor[C](), make: func(p Proxy) any { return make(p) }}
}

// NewContract makes a contract of its interfaces. They are checked on first use; Check does it at once.
func NewContract(declarations ...Declaration) *Contract {
	c := &Contract{proxies: map[reflect.Type]func(Proxy) any{}, manifests: map[reflect.Type]*manifest{}}
	for _, d := range declarations {
		c.proxies[d.typ] = d.make
		c.interfaces = append(c.interfaces, d.typ)
	}
	return c
}

// Check reports, as one *ContractError, everything that is wrong with the interfaces of c.
func (c *Contract) Check() error {
	c.once.Do(func() {
		var problems []Problem
		for _, t := range c.interfaces {
			m := manifestOf(t)
			c.manifests[t] = m
			problems = append(problems, m.problems...)
		}
		problems = append(problems, c.crossCheck()...)
		c.err = contractError(problems)
	})
	return c.err
}

// crossCheck looks at what interfaces say of each other.
func (c *Contract) crossCheck() []Problem {
	var problems []Problem
	names := map[string]reflect.Type{}
	for _, t := range c.interfaces {
		m := c.manifests[t]
		if names[m.name] != nil {
			problems = append(problems, Problem{Interface: m.name, Reason: "is there twice"})
		}
		names[m.name] = t
		for _, e := range m.byName {
			report := func(format string, args ...any) {
				problems = append(problems, Problem{m.name, e.name, rootResult, fmt.Sprintf(format, args...)})
			}
			for _, r := range remotesOf(e) {
				switch other := c.manifests[r]; {
				case c.proxies[r] == nil:
					report("%v is not in the contract", r)
				case e.form == formCall && (other != nil && other.selects() || other == nil && manifestOf(r).selects()):
					report("%v has selectors, so it must be reached by a selector, not by a reference", r)
				}
			}
		}
	}
	return problems
}

// remotesOf returns the contracts in the parameters and the result of a member.
func remotesOf(e *member) []reflect.Type {
	var found []reflect.Type
	seen := map[reflect.Type]bool{}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		if t == nil || seen[t] {
			return
		}
		seen[t] = true
		if isContract(t) {
			found = append(found, t)
			return
		}
		if selfMade(t) {
			return
		}
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			walk(t.Elem())
		case reflect.Struct:
			for _, f := range shapeOf(t).fields {
				walk(f.typ)
			}
		}
	}
	for _, p := range e.params {
		walk(p)
	}
	walk(e.result)
	return found
}
