package rpc

import (
	"context"
	"reflect"
	"sync"
)

// guest is the host's end of a session: what one caller was granted and has subscribed to.
type guest struct {
	host    *Host
	client  string          // clientId
	service string          // of the caller's, by which it is there, and to which events go
	ctx     context.Context // ends with the session
	cancel  context.CancelCauseFunc
	lost    func() bool // undoes the watch over the host's connection; guarded by host.mu

	mu         sync.Mutex
	ended      bool
	grants     map[string]*grant
	byObject   map[objectKey]*grant
	publishers map[string]*publisher
}

// grant is an object that the caller holds references to.
type grant struct {
	id      string
	binding *binding
	object  reflect.Value
	count   int // of references
}

// objectKey finds the grant of an object that is granted again.
type objectKey struct {
	binding *binding
	object  any
}

func newGuest(h *Host, clientID, service string) *guest {
	g := &guest{
		host: h, client: clientID, service: service,
		grants: map[string]*grant{}, byObject: map[objectKey]*grant{}, publishers: map[string]*publisher{},
	}
	g.ctx, g.cancel = context.WithCancelCause(context.Background())
	return g
}

// there reports whether the session's service is still in the catalogue.
func (g *guest) there() bool {
	_, there := g.host.catalog.Lookup(g.service)
	return there
}

// end frees everything that an entered guest holds. Only the first cause counts.
func (g *guest) end(cause error) {
	g.host.mu.Lock()
	if g.host.guests[g.client] == g {
		delete(g.host.guests, g.client)
	}
	lost := g.lost
	g.host.mu.Unlock()
	g.mu.Lock()
	if g.ended {
		g.mu.Unlock()
		return
	}
	g.ended = true
	defer g.host.wg.Done()
	publishers := g.publishers
	g.grants, g.byObject, g.publishers = nil, nil, nil
	g.mu.Unlock()
	g.cancel(cause)
	if lost != nil {
		lost()
	}
	for _, p := range publishers {
		p.end(&Error{Reason: reasonSession, cause: cause})
		p.retire()
	}
}

// granted returns the object behind a reference of this caller's.
func (g *guest) granted(id, iface string) (*binding, reflect.Value, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.grants[id]
	if n == nil || n.binding.manifest.name != iface {
		return nil, reflect.Value{}, false
	}
	return n.binding, n.object, true
}

// release takes one reference back; false if there is none.
func (g *guest) release(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.grants[id]
	if n == nil {
		return false
	}
	if n.count--; n.count == 0 {
		delete(g.grants, id)
		if key, ok := keyOf(n.binding, n.object); ok {
			delete(g.byObject, key)
		}
	}
	return true
}

// keyOf returns the key of an object; ok is false for objects that cannot be compared, which get a new
// id each time.
func keyOf(b *binding, object reflect.Value) (objectKey, bool) {
	if !object.Comparable() {
		return objectKey{}, false
	}
	return objectKey{b, object.Interface()}, true
}

// granting collects the references that one answer grants, so that they can be taken back if the answer
// is not sent.
type granting struct {
	guest *guest
	ids   []string
}

// refer grants a reference for every object of a bound type.
func (n *granting) refer(t reflect.Type, v reflect.Value, at *path) (*reference, bool, error) {
	g := n.guest
	b := g.host.offer.byDomain[t]
	if b == nil {
		return nil, false, nil
	}
	if isNil(v) {
		return nil, true, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return nil, true, errLeft
	}
	key, comparable := keyOf(b, v)
	found := g.byObject[key]
	if !comparable || found == nil {
		if len(g.grants) >= grantsMax {
			return nil, true, &Error{Reason: reasonLimit, Message: at.String() + ": the session holds too many objects"}
		}
		object := reflect.New(t).Elem()
		object.Set(v)
		found = &grant{id: g.host.newID('o'), binding: b, object: object}
		g.grants[found.id] = found
		if comparable {
			g.byObject[key] = found
		}
	}
	found.count++
	n.ids = append(n.ids, found.id)
	return &reference{id: found.id, iface: b.manifest.name}, true, nil
}

// undo takes back what was granted.
func (n *granting) undo() {
	for _, id := range n.ids {
		n.guest.release(id)
	}
}

// publisher returns a subscription of this caller's.
func (g *guest) publisher(id string) *publisher {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.publishers[id]
}

// forget lets go of a subscription.
func (g *guest) forget(p *publisher) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.publishers, p.id)
}
