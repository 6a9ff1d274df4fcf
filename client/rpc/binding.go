package rpc

import (
	"fmt"
	"reflect"
	"slices"
)

// offer is an adapter after it has been checked: what a host offers.
type offer struct {
	root       *binding
	bindings   []*binding
	byContract map[reflect.Type]*binding
	byDomain   map[reflect.Type]*binding
	selections map[string]*selection // by selectionKey
	problems   []Problem
}

// binding is a contract and the type that it stands for.
type binding struct {
	manifest *manifest
	domain   reflect.Type
	bound    map[string]*bound // by wire name
}

// bound is a member with what answers it.
type bound struct {
	*member
	fn          function
	objects     bool // references may be in the result
	keys        []string
	publication publication
}

// newOffer checks a against what it binds. The error is a *ContractError with every problem.
func newOffer(a Adapter) (*offer, error) {
	o := &offer{byContract: map[reflect.Type]*binding{}, byDomain: map[reflect.Type]*binding{}, selections: map[string]*selection{}}
	all := append([]Binding{a.Root}, a.Objects...)
	members := map[*binding][]Member{}
	for _, b := range all {
		if b.contract == nil {
			return nil, &ContractError{Problems: []Problem{{Reason: "the adapter has no root"}}}
		}
		if n := o.declare(b); n != nil {
			members[n] = b.members
		}
	}
	o.root = o.byContract[a.Root.contract]
	for _, b := range o.bindings {
		o.bind(b, members[b])
	}
	o.findSelections(o.root, nil, nil)
	return o, contractError(o.problems)
}

// declare enters a binding; nil if it repeats another.
func (o *offer) declare(b Binding) *binding {
	m := manifestOf(b.contract)
	n := &binding{manifest: m, domain: b.domain, bound: map[string]*bound{}}
	o.problems = append(o.problems, m.problems...)
	if o.byContract[b.contract] != nil {
		o.problem(n, "", "is bound twice")
		return nil
	}
	if o.byDomain[b.domain] != nil {
		o.problem(n, "", "%v is bound twice", b.domain)
		return nil
	}
	for _, other := range o.bindings {
		if other.manifest.name == m.name && other.manifest.typ != m.typ {
			o.problem(n, "", "another contract has the same name")
		}
	}
	o.bindings = append(o.bindings, n)
	o.byContract[b.contract], o.byDomain[b.domain] = n, n
	return n
}

func (o *offer) problem(b *binding, member, format string, args ...any) {
	o.problems = append(o.problems, Problem{Interface: b.manifest.name, Member: member, Reason: fmt.Sprintf(format, args...)})
}

// bind finds what answers each member of b's contract, and what has no answer.
func (o *offer) bind(b *binding, members []Member) {
	special := map[string]Member{}
	objects := map[string]bool{}
	var excluded []string
	for _, m := range members {
		_, twice := special[m.name]
		switch {
		case m.kind == kindExclude:
			excluded = append(excluded, m.keys...)
		case b.manifest.byName[m.name] == nil:
			o.problem(b, m.name, "the adapter has it, the contract has not")
		case m.kind == kindObject:
			objects[m.name] = true
		case twice:
			o.problem(b, m.name, "the adapter has it twice")
		default:
			special[m.name] = m
		}
	}
	for name, e := range b.manifest.byName {
		n := &bound{member: e, objects: objects[name]}
		m, ok := special[name]
		if !ok {
			m = Member{name: name, kind: kindMethod}
		}
		o.answer(b, n, m)
		b.bound[e.wire] = n
	}
	o.checkExcluded(b, excluded)
}

// kindMethod is the kind of a member that the adapter does not mention.
const kindMethod kind = 255

// checkExcluded makes sure that every method of the object is either offered or excluded.
func (o *offer) checkExcluded(b *binding, excluded []string) {
	for _, name := range excluded {
		if _, there := b.domain.MethodByName(name); !there {
			o.problem(b, name, "is excluded, but %v has no such method", b.domain)
		}
		if b.manifest.byName[name] != nil {
			o.problem(b, name, "is excluded, but the contract has it")
		}
	}
	for i := range b.domain.NumMethod() {
		m := b.domain.Method(i)
		if m.IsExported() && b.manifest.byName[m.Name] == nil && !slices.Contains(excluded, m.Name) {
			o.problem(b, m.Name, "%v has it; it is neither in the contract nor excluded", b.domain)
		}
	}
}

// answer gives n what m says.
func (o *offer) answer(b *binding, n *bound, m Member) {
	switch {
	case (m.kind == kindPublish) != (n.form == formSubscription):
		o.problem(b, n.name, "a subscription is offered by Publish, and nothing else is")
		return
	case (m.kind == kindSelect) != (n.form == formSelector):
		o.problem(b, n.name, "a selector is offered by Select, and nothing else is")
		return
	case m.kind == kindPublish:
		o.publish(b, n, m.publication)
		return
	}
	method, there := methodOf(b.domain, m.name)
	fits := there && o.mismatch(n, method) == ""
	switch {
	case m.kind == kindOverride && !fits:
		o.problem(b, n.name, "is overridden, but %v has no such method; Synthetic would add it", b.domain)
	case m.kind == kindSynthetic && fits && method.fails:
		o.problem(b, n.name, "is synthetic, but %v has such a method; Override would replace it", b.domain)
	}
	f := method
	if m.fn != nil {
		var err error
		if f, err = functionOf(b.domain, m.fn); err != nil {
			o.problem(b, n.name, "%v", err)
			return
		}
	} else if !there {
		o.problem(b, n.name, "%v has no such method, and the adapter does not add it", b.domain)
		return
	}
	if wrong := o.mismatch(n, f); wrong != "" {
		o.problem(b, n.name, "%s", wrong)
		return
	}
	switch {
	case m.kind == kindProperty && len(f.in) > 0:
		o.problem(b, n.name, "is a property with parameters")
	case m.kind == kindMethod && !f.fails:
		o.problem(b, n.name, "the method of %v returns no error; Property would read it", b.domain)
	case m.kind == kindSelect && (len(m.keys) != len(n.params) || len(m.keys) == 0):
		o.problem(b, n.name, "wants a key for each of %d parameters, at least one", len(n.params))
	}
	for _, r := range remotesOf(n.member) {
		if other := o.byContract[r]; n.form == formCall && other != nil && other.manifest.selects() {
			o.problem(b, n.name, "%v has selectors, so it must be reached by a selector, not by a reference", r)
		}
	}
	if n.references && !n.objects {
		o.problem(b, n.name, "returns references, but the adapter has no Object for it")
	}
	n.fn, n.keys = f, m.keys
}

// mismatch says in which way f does not fit the member, "" if it fits.
func (o *offer) mismatch(n *bound, f function) string {
	if len(f.in) != len(n.params) || f.variadic != n.variadic {
		return fmt.Sprintf("takes %v in the contract, but %v at the host", n.params, f.in)
	}
	p := pairs{o: o, seen: map[[2]reflect.Type]bool{}}
	for i, t := range f.in {
		if !p.fit(n.params[i], t) {
			return fmt.Sprintf("args[%d] is %v in the contract, but %v at the host", i, n.params[i], t)
		}
	}
	if (f.out == nil) != (n.result == nil) || f.out != nil && !p.fit(n.result, f.out) {
		return fmt.Sprintf("returns %v in the contract, but %v at the host", n.result, f.out)
	}
	return ""
}

// pairs compares types of a contract with the host's.
type pairs struct {
	o    *offer
	seen map[[2]reflect.Type]bool // also breaks the recursion of types
}

// fit reports whether values of the host's type d are what the contract calls c: the same type, the type that
// the contract c stands for, or something that is made of such in the same way.
func (p *pairs) fit(c, d reflect.Type) bool {
	if isContract(c) {
		b := p.o.byContract[c]
		return b != nil && b.domain == d
	}
	if known, seen := p.seen[[2]reflect.Type{c, d}]; seen {
		return known
	}
	p.seen[[2]reflect.Type{c, d}] = true
	ok := p.same(c, d)
	p.seen[[2]reflect.Type{c, d}] = ok
	return ok
}

func (p *pairs) same(c, d reflect.Type) bool {
	if p.o.byDomain[d] != nil || c.Kind() != d.Kind() {
		return false
	}
	if selfMade(c) || selfMade(d) {
		return c == d
	}
	switch c.Kind() {
	case reflect.Pointer, reflect.Slice:
		return p.fit(c.Elem(), d.Elem())
	case reflect.Array:
		return c.Len() == d.Len() && p.fit(c.Elem(), d.Elem())
	case reflect.Map:
		return c.Key() == d.Key() && p.fit(c.Elem(), d.Elem())
	case reflect.Struct:
		a, b := shapeOf(c), shapeOf(d)
		if len(a.fields) != len(b.fields) {
			return false
		}
		for i := range a.fields {
			j, there := b.byName[a.fields[i].name]
			if !there || !p.fit(a.fields[i].typ, b.fields[j].typ) {
				return false
			}
		}
		return true
	}
	return c == d
}
