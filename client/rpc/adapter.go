package rpc

import "reflect"

// Adapter says how the objects of a host are offered: which contract stands for which of the host's own
// types, and what is special about single members. Nothing of it shows in those types.
//
// Without a word about it, a member of a contract is the object's method of the same name, which must
// return an error last and take and return the same types; it may take a context or not. Every method that
// an object has and its contract lacks must be named by Exclude, so that none is forgotten.
type Adapter struct {
	Metadata any     // of the service, as for client.Register
	Root     Binding // of the object that Expose is given
	Objects  []Binding
}

// Binding makes a contract stand for a type of the host's. Bind makes it.
type Binding struct {
	contract, domain reflect.Type
	members          []Member
}

// Bind makes the contract C stand for D, an interface or a concrete type of the host's, in all of the host.
func Bind[C Remote, D any](members ...Member) Binding {
	return Binding{contract: reflect.TypeFor[C](), domain: reflect.TypeFor[D](), members: members}
}

// Member says how one member of a contract comes from the host's object.
type Member struct {
	kind        kind
	name        string
	fn          any
	keys        []string
	publication publication
}

type kind uint8

const (
	kindOverride kind = iota
	kindSynthetic
	kindProperty
	kindObject
	kindSelect
	kindPublish
	kindExclude
)

// Override calls f instead of the object's method of this name. f is a function of the context, the object
// and the method's parameters, func(ctx, object, args…) (result, error); it invokes the real method where
// it likes to, or not at all. The context may also come second, as in a method expression, or be left out.
func Override(name string, f any) Member { return Member{kind: kindOverride, name: name, fn: f} }

// Synthetic answers a member that the object has not, or not in a form that can be called from afar,
// because it takes a callback, say. f is as for Override.
func Synthetic(name string, f any) Member { return Member{kind: kindSynthetic, name: name, fn: f} }

// Property answers a member without parameters by what f reads from the object, func(object) result, with
// an error as second result or without. nil reads the object's method of this name.
func Property(name string, f any) Member { return Member{kind: kindProperty, name: name, fn: f} }

// Object lets the member return references: objects of the host's bound types in its result are not
// copied but granted to the caller. Nil ones are null. It goes together with the kinds above.
func Object(name string) Member { return Member{kind: kindObject, name: name} }

// Select finds the object that a selector stands for, for every call again, by f, which is as for Override
// and returns an object of a bound type, with an error or without; nil says that there is none. A nil f is
// the object's method of this name. keys name the parameters on the wire.
func Select(name string, f any, keys ...string) Member {
	return Member{kind: kindSelect, name: name, fn: f, keys: keys}
}

// Publish offers a subscription.
func Publish[O, F, S, E any](name string, p Publication[O, F, S, E]) Member {
	return Member{kind: kindPublish, name: name, publication: p}
}

// Exclude keeps methods of the object at the host.
func Exclude(names ...string) Member { return Member{kind: kindExclude, keys: names} }
