package rpc

import (
	"bytes"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
)

// reservedKey marks the protocol's own objects inside values; applications cannot use it.
const reservedKey = "$rpc"

// Where paths begin.
const (
	rootArgs     = "args"
	rootResult   = "result"
	rootFilter   = "filter"
	rootSnapshot = "snapshot"
	rootEvent    = "event"
	rootTarget   = "target"
)

// The methods of the protocol; every other method is a member's name.
const (
	methodOpen        = "$rpc/open"        // request: {session}
	methodRelease     = "$rpc/release"     // request: {id}
	methodSubscribe   = "$rpc/subscribe"   // request: {target?, member, filter?, window, key?, trace?}
	methodStart       = "$rpc/start"       // request: {subscriptionId}
	methodUnsubscribe = "$rpc/unsubscribe" // request: {subscriptionId} or {key}
	methodAck         = "$rpc/ack"         // notification: {subscriptionId, sequence}
	methodEvent       = "$rpc/event"       // notification to the session: {subscriptionId, sequence, dropped?, value, trace?}
	methodSync        = "$rpc/sync"        // request to the session: {subscriptionId, sequence}
	methodEnd         = "$rpc/end"         // request to the session: {subscriptionId, reason, message}
)

// reference is what {"$rpc":{"ref":…}} holds.
type reference struct {
	id, iface string
}

func appendReference(dst []byte, r reference) []byte {
	dst = append(dst, `{"`+reservedKey+`":{"ref":{"id":`...)
	dst = codec.AppendQuoted(dst, r.id)
	dst = append(dst, `,"interface":`...)
	dst = codec.AppendQuoted(dst, r.iface)
	return append(dst, "}}}"...)
}

// parseReference reads a reference; anything else is an error.
func parseReference(raw []byte, at *path) (reference, error) {
	outer, err := membersOf(raw, at)
	if err != nil {
		return reference{}, err
	}
	envelope := outer[reservedKey]
	if envelope == nil || len(outer) != 1 {
		return reference{}, at.problem("want a reference")
	}
	inner, err := membersOf(envelope, at)
	if err != nil {
		return reference{}, err
	}
	ref := inner["ref"]
	if ref == nil || len(inner) != 1 {
		return reference{}, at.problem("an unknown %s object", reservedKey)
	}
	parts, err := membersOf(ref, at)
	if err != nil {
		return reference{}, err
	}
	id, ok1 := text(parts["id"])
	iface, ok2 := text(parts["interface"])
	if !ok1 || !ok2 || len(parts) != 2 {
		return reference{}, at.problem("want a reference with id and interface")
	}
	return reference{id, iface}, nil
}

// membersOf returns the members of a raw object by name. Names are compared exactly and must be unique.
func membersOf(raw []byte, at *path) (map[string]json.RawMessage, error) {
	if codec.KindOf(raw) != codec.Object {
		return nil, at.problem("want an object, not %s", kindName(raw))
	}
	members := map[string]json.RawMessage{}
	it := codec.ObjectMembers(raw)
	for quoted, value, ok := it.Next(); ok; quoted, value, ok = it.Next() {
		name, _ := text(quoted)
		if _, twice := members[name]; twice {
			return nil, at.problem("the member %q is there twice", name)
		}
		members[name] = value
	}
	return members, nil
}

// text decodes a raw JSON string; false if it is none.
func text(raw []byte) (string, bool) {
	if codec.KindOf(raw) != codec.String {
		return "", false
	}
	out, _ := codec.Unquote(nil, raw)
	return string(out), true
}

// positive decodes a raw JSON integer that is at least 1.
func positive(raw []byte) (uint64, bool) {
	n, ok := codec.Integer(raw)
	return uint64(n), ok && n >= 1
}

func kindName(raw []byte) string {
	switch codec.KindOf(raw) {
	case codec.Object:
		return "an object"
	case codec.Array:
		return "an array"
	case codec.String:
		return "a string"
	case codec.Number:
		return "a number"
	case codec.Bool:
		return "a boolean"
	case codec.Null:
		return "null"
	}
	return "nothing"
}

// reserved reports the first use of the reserved key anywhere in raw.
func reserved(raw []byte, at *path) error {
	if !bytes.Contains(raw, []byte(reservedKey)) && bytes.IndexByte(raw, '\\') < 0 {
		return nil // however it is spelled, it is not in there
	}
	switch codec.KindOf(raw) {
	case codec.Array:
		it := codec.ArrayElements(raw)
		for i := 0; ; i++ {
			value, ok := it.Next()
			if !ok {
				return nil
			}
			inner := at.element(i)
			if err := reserved(value, &inner); err != nil {
				return err
			}
		}
	case codec.Object:
		it := codec.ObjectMembers(raw)
		for quoted, value, ok := it.Next(); ok; quoted, value, ok = it.Next() {
			name, _ := text(quoted)
			if name == reservedKey {
				return at.problem("the key %s is reserved", reservedKey)
			}
			inner := at.member(name)
			if err := reserved(value, &inner); err != nil {
				return err
			}
		}
	}
	return nil
}
