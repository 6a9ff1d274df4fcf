package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ahprelay/ahprelay/codec"
)

// Service is a registered service of this client.
type Service struct {
	c         *Client
	handler   Handler
	onNotify  func(context.Context, *Notification)
	onDropped func(uint64)
	ordered   bool

	change chan struct{} // cap 1, held while the registration changes

	metadata []byte // of the registration; guarded by change

	mu           sync.Mutex
	id           string
	home         *link // where id is registered
	gone         bool
	lanes        map[string]*lane // ordered: by the sender's clientId; otherwise one, under ""
	waiting      int              // notifications in the lanes
	waitingBytes int              // and their size
}

// ServiceOption changes how a service receives.
type ServiceOption func(*Service)

// OnNotify makes the service receive notifications. f is called for one at a time, in the order of
// arrival, which for each sender is the order of sending. Notifications that f is too slow for are
// dropped beyond 65,536 or 16 MiB. ctx ends with the connection. Without OnNotify notifications are
// ignored.
func OnNotify(f func(ctx context.Context, n *Notification)) ServiceOption {
	return func(s *Service) { s.onNotify = f }
}

// Ordered makes what one sender sent, requests and notifications, be handled one after the other in the
// order of sending. Different senders are still handled at the same time, so that the function of
// OnNotify must then be safe for concurrent use.
func Ordered() ServiceOption { return func(s *Service) { s.ordered = true } }

// OnDropped makes f be called, in order with OnNotify's function, when notifications to the service
// were dropped: count many since the last report.
func OnDropped(f func(count uint64)) ServiceOption { return func(s *Service) { s.onDropped = f } }

// Register makes a service known to the relay. metadata is what other clients discover it by, a JSON
// object (anything that marshals to one; nil is {}); by convention its member "protocol" names what the
// service speaks. h answers requests; nil refuses them all with ErrMethodNotFound.
func (c *Client) Register(ctx context.Context, metadata any, h Handler, opts ...ServiceOption) (*Service, error) {
	raw, err := encodeMetadata(metadata)
	if err != nil {
		return nil, err
	}
	s := &Service{c: c, handler: h, metadata: raw, change: make(chan struct{}, 1), lanes: map[string]*lane{}}
	for _, o := range opts {
		o(s)
	}
	if c.isClosing() {
		return nil, ErrClosed
	}
	s.change <- struct{}{}
	defer func() { <-s.change }()
	if err := s.register(ctx, c.link.Load(), true); err != nil {
		return nil, fmt.Errorf("client: register: %w", c.because(err))
	}
	return s, nil
}

func encodeMetadata(metadata any) ([]byte, error) {
	raw, err := encodeJSON(metadata)
	if err != nil {
		return nil, fmt.Errorf("client: metadata: %w", err)
	}
	if raw == nil {
		raw = []byte("{}")
	}
	return slices.Clone(raw), nil // the application keeps its raw value
}

// appendMetadata appends the params of a registration (without id), an update, or an unregistration
// (without metadata). The metadata stays byte for byte what the application gave.
func appendMetadata(dst []byte, id string, metadata []byte) []byte {
	dst = append(dst, `{"channel":"`+servicesChannel+`"`...)
	if id != "" {
		dst = append(dst, `,"serviceId":`...)
		dst = codec.AppendQuoted(dst, id)
	}
	if metadata != nil {
		dst = append(dst, `,"metadata":`...)
		dst = append(dst, metadata...)
	}
	return append(dst, '}')
}

// register registers s on l. The new id takes effect on the reader, before the first message for it.
// If ctx ends first, a registration that the relay may have made is undone.
func (s *Service) register(ctx context.Context, l *link, first bool) error {
	_, err := l.requestRaw(ctx, "client/registerService", appendMetadata(nil, "", s.metadata), &pendingCall{
		sink: func(raw []byte) error {
			id, err := registeredID(raw)
			if err != nil {
				return err
			}
			if l.services[id] != nil {
				return protocolError("a serviceId that is used twice")
			}
			l.services[id] = s
			s.mu.Lock()
			s.id, s.home = id, l
			s.mu.Unlock()
			if first {
				s.c.mu.Lock()
				s.c.services = append(s.c.services, s)
				s.c.mu.Unlock()
			}
			return nil
		},
		late: func(raw []byte) {
			if id, err := registeredID(raw); err == nil {
				l.out.force(appendRequest(nil, l.newID(), "client/unregisterService", appendMetadata(nil, id, nil)))
			}
		},
	})
	return err
}

// registeredID returns the id in the result of client/registerService.
func registeredID(raw []byte) (string, error) {
	var r struct {
		ServiceID string `json:"serviceId"`
	}
	if err := decodeObject(raw, &r, "the result of client/registerService"); err != nil {
		return "", err
	}
	if r.ServiceID == "" {
		return "", protocolError("an empty serviceId")
	}
	return r.ServiceID, nil
}

// ID returns the service's current id; after a reconnect it is a new one.
func (s *Service) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// where returns the link that the service is registered on and its id there. Both change together, so
// that nothing is said about an old id on a new connection.
func (s *Service) where() (*link, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.home, s.id
}

// Update replaces the service's metadata.
func (s *Service) Update(ctx context.Context, metadata any) error {
	raw, err := encodeMetadata(metadata)
	if err != nil {
		return err
	}
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer func() { <-s.change }()
	l, id := s.where()
	if _, err := l.requestRaw(ctx, "client/updateService", appendMetadata(nil, id, raw), &pendingCall{}); err != nil {
		return fmt.Errorf("client: update: %w", s.c.because(err))
	}
	s.metadata = raw
	return nil
}

// Unregister removes the service. The relay fails the requests that are still being handled with
// ErrUnavailable; the handlers' contexts end. Unregistering again is a no-op.
func (s *Service) Unregister(ctx context.Context) error {
	if err := s.acquire(ctx); err != nil {
		if err == errGone {
			return nil
		}
		return err
	}
	defer func() { <-s.change }()
	s.remove()
	l, id := s.where()
	_, err := l.requestRaw(ctx, "client/unregisterService", appendMetadata(nil, id, nil), &pendingCall{
		sink: func([]byte) error { delete(l.services, id); return nil },
		late: func([]byte) { delete(l.services, id) },
	})
	if err != nil && !errors.Is(err, ErrDisconnected) { // a lost connection takes the service along
		return fmt.Errorf("client: unregister: %w", err)
	}
	return nil
}

// errGone: the service has been unregistered.
var errGone = fmt.Errorf("client: the service has been unregistered: %w", ErrNotFound)

// acquire waits for its turn to change the registration.
func (s *Service) acquire(ctx context.Context) error {
	select {
	case s.change <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	gone := s.gone
	s.mu.Unlock()
	if gone {
		<-s.change
		return errGone
	}
	return nil
}

// remove takes s out of what is registered again after a reconnect.
func (s *Service) remove() {
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
	s.c.mu.Lock()
	s.c.services = slices.DeleteFunc(s.c.services, func(o *Service) bool { return o == s })
	s.c.mu.Unlock()
}
