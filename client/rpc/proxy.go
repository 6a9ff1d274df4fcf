package rpc

import (
	"context"
	"reflect"

	"github.com/goccy/go-json"
)

// Remote is embedded by every contract: what each remote object has besides its own methods.
type Remote interface {
	// Identity tells which object this is. Two proxies are equal (==) if they stand for the same object
	// by the same way: two decodes of one reference are.
	Identity() Identity
	// Release gives one reference back. The host counts: an object that was returned twice is released
	// by two calls. It does nothing for objects that are reached without a reference.
	Release(ctx context.Context) error
}

// Identity names a remote object within its host.
type Identity struct {
	Interface string // the contract's name
	ID        string // of a reference, "" otherwise
	Selector  string // the selector as JSON, "" otherwise; without both it is the root
}

// Proxy is what generated proxies are made of: a connection and an identity, never a context. Proxies
// are comparable, and safe for concurrent use.
type Proxy struct {
	conn     *Conn
	session  *session // that a reference belongs to
	contract *Contract
	iface    *manifest
	id       string
	selector string
}

// Root returns the proxy of the exposed root object for the contract C, for the constructor of a
// generated proxy. The error lists what is wrong with the contract.
func Root[C Remote](conn *Conn, contract *Contract) (Proxy, error) {
	if err := contract.Check(); err != nil {
		return Proxy{}, err
	}
	iface := contract.manifests[reflect.TypeFor[C]()]
	if iface == nil {
		return Proxy{}, &Error{Reason: reasonMember, Message: reflect.TypeFor[C]().String() + " is not in the contract"}
	}
	return Proxy{conn: conn, contract: contract, iface: iface}, nil
}

// Identity returns which object p stands for.
func (p Proxy) Identity() Identity { return Identity{p.iface.name, p.id, p.selector} }

// Release gives the reference back to the host.
func (p Proxy) Release(ctx context.Context) error {
	if p.id == "" {
		return nil
	}
	if err := p.session.alive(); err != nil {
		return nil // it is gone with the session
	}
	params, err := json.Marshal(releaseParams{ID: p.id})
	if err != nil {
		return err
	}
	_, err = p.conn.request(ctx, methodRelease, params)
	return err
}

// Select returns the proxy that the selector method of this name stands for, for generated code. keys
// are names and values by turns; they are added to those by which p itself was selected.
func (p Proxy) Select(method string, keys ...any) Proxy {
	selected := map[string]any{}
	if p.selector != "" {
		json.Unmarshal([]byte(p.selector), &selected) // made below
	}
	for i := 0; i+1 < len(keys); i += 2 {
		selected[keys[i].(string)] = keys[i+1]
	}
	selector, _ := json.Marshal(selected) // of strings, integers and booleans, sorted by name
	return Proxy{
		conn: p.conn, contract: p.contract,
		iface:    p.contract.manifests[p.iface.byName[method].result],
		selector: string(selector),
	}
}

// self is how the encoder finds the Proxy in whatever generated type embeds one.
func (p Proxy) self() Proxy { return p }

type selfer interface{ self() Proxy }

// appendTarget appends the member "target" of a call on p, nothing for the root.
func (p Proxy) appendTarget(dst []byte) []byte {
	switch {
	case p.id != "":
		dst = append(dst, `"target":{"id":`...)
		dst = appendText(dst, p.id)
	case p.selector != "":
		dst = append(dst, `"target":{"selector":`...)
		dst = append(dst, p.selector...)
	default:
		return dst
	}
	dst = append(dst, `,"interface":`...)
	dst = appendText(dst, p.iface.name)
	return append(dst, "},"...)
}
