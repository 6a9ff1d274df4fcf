package rpc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/ahprelay/ahprelay/client"
)

// Host offers a root object, and what can be reached from it, as a service of a client.
type Host struct {
	client  *client.Client
	service *client.Service
	offer   *offer
	root    reflect.Value
	opt     options
	catalog *client.Catalog
	tag     string        // begins every id, so that none is of another host
	lastID  atomic.Uint64 // ids are never used twice

	mu     sync.Mutex
	closed bool
	guests map[string]*guest // by clientId

	stop context.CancelFunc
	wg   sync.WaitGroup
}

// Expose registers a service that offers root as a says. Whatever is wrong with the adapter, its
// contracts or their fit comes as one *ContractError. The host lasts until Close, across reconnects of
// the client; each reconnect ends the sessions, and gives the service a new id.
//
// Each call occupies one of the client's handlers (client.WithConcurrency) as long as it runs, so waits
// that may last belong into subscriptions.
func Expose(ctx context.Context, c *client.Client, root any, a Adapter, opts ...Option) (*Host, error) {
	o, err := newOffer(a)
	if err != nil {
		return nil, err
	}
	h := &Host{client: c, offer: o, opt: newOptions(opts), tag: rand.Text()[:8], guests: map[string]*guest{}}
	t := reflect.TypeOf(root)
	if t == nil || !t.AssignableTo(o.root.domain) {
		return nil, fmt.Errorf("rpc: the root is a %T, but the adapter's root is a %v", root, o.root.domain)
	}
	h.root = reflect.New(o.root.domain).Elem()
	h.root.Set(reflect.ValueOf(root))
	var watching context.Context
	watching, h.stop = context.WithCancel(context.Background())
	detach := context.AfterFunc(ctx, h.stop)
	defer detach()
	if h.catalog, err = c.Watch(watching); err != nil {
		h.stop()
		return nil, fmt.Errorf("rpc: following the catalogue: %w", err)
	}
	h.service, err = c.Register(ctx, a.Metadata, h.serve, client.OnNotify(h.notified))
	if err != nil {
		h.stop()
		return nil, fmt.Errorf("rpc: %w", err)
	}
	if !detach() { // the catalogue is not followed any more
		h.Close(context.WithoutCancel(ctx))
		return nil, ctx.Err()
	}
	h.wg.Go(h.follow)
	return h, nil
}

// Service returns the service by which the host is found.
func (h *Host) Service() *client.Service { return h.service }

// Close removes the service and ends all sessions with their subscriptions. It waits until the watchers of
// all subscriptions are gone, or for ctx.
func (h *Host) Close(ctx context.Context) error {
	err := h.service.Unregister(ctx)
	h.mu.Lock()
	h.closed = true
	guests := h.guests
	h.guests = nil
	h.mu.Unlock()
	for _, g := range guests {
		g.end(client.ErrClosed)
	}
	h.stop()
	done := make(chan struct{})
	go func() {
		h.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return err
	case <-ctx.Done():
		return errors.Join(err, ctx.Err())
	}
}

// follow ends the sessions whose services leave the catalogue: that is how a host learns that a caller
// has gone.
func (h *Host) follow() {
	for ev := range h.catalog.Events() {
		switch ev.Kind {
		case client.ServiceRemoved:
			h.sweep(func(g *guest) bool { return g.service == ev.Service.ID })
		case client.CatalogSnapshot:
			h.sweep(func(g *guest) bool { return !g.there() })
		}
	}
	h.sweep(func(*guest) bool { return true })
}

// sweep ends the sessions that are gone.
func (h *Host) sweep(gone func(*guest) bool) {
	h.mu.Lock()
	var ended []*guest
	for _, g := range h.guests {
		if gone(g) {
			ended = append(ended, g)
		}
	}
	h.mu.Unlock()
	for _, g := range ended {
		g.end(errLeft)
	}
}

var errLeft = &Error{Reason: reasonSession, Message: "the caller has left"}

// guestOf returns the session of a caller, nil if there is none, or not any more.
func (h *Host) guestOf(clientID string) *guest {
	h.mu.Lock()
	g := h.guests[clientID]
	h.mu.Unlock()
	if g == nil {
		return nil
	}
	if !g.there() {
		g.end(errLeft)
		return nil
	}
	return g
}

// open makes the session of a caller, whose service of this id the catalogue must know as the caller's.
func (h *Host) open(ctx context.Context, sender, service string) error {
	connection := h.client.Connection()
	info, there := h.catalog.Lookup(service)
	if !there || info.ClientID != sender {
		return &Error{Reason: reasonSession, Message: "the session is no service of the caller's that the host can see"}
	}
	if g := h.guestOf(sender); g != nil {
		if g.service == service {
			return nil
		}
		return &Error{Reason: reasonSession, Message: "this client has a session with the host already; share its Conn"}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	g := newGuest(h, sender, service)
	if err := h.enter(g, connection); err != nil {
		g.cancel(err)
		return err
	}
	if !g.there() { // it left just before it was entered, which nobody else has seen
		g.end(errLeft)
		return errLeft
	}
	return nil
}

// enter makes g the session of its caller. It ends with the host's connection.
func (h *Host) enter(g *guest, connection context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return errLeft
	case h.guests[g.client] != nil:
		return &Error{Reason: reasonSession, Message: "this client is opening another session"}
	}
	h.guests[g.client] = g
	h.wg.Add(1) // until it has ended
	g.lost = context.AfterFunc(connection, func() { g.end(context.Cause(connection)) })
	return nil
}

// newID returns an id that no object or subscription ever had.
func (h *Host) newID(kind byte) string {
	return string(appendNumber(append([]byte(h.tag), kind), h.lastID.Add(1)))
}
