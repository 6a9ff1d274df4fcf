package rpc

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/ahprelay/ahprelay/client"
	"github.com/goccy/go-json"
)

// session is the caller's end of a session: a service of the caller's own, by which the host learns that
// the caller is there, and to which it sends events. Everything that the host granted dies with it.
type session struct {
	conn    *Conn
	service *client.Service
	ctx     context.Context // ends with the session; its cause says why
	cancel  context.CancelCauseFunc
	quiet   chan struct{} // closed when the session has ended and its goroutines too

	lastKey atomic.Uint64 // of the subscriptions asked for

	mu        sync.Mutex
	ended     bool
	receivers map[string]*receiver // by subscriptionId
	wg        sync.WaitGroup       // what cleans up in the background; nothing is added once ended
}

// The parameters of the protocol's methods.
type (
	openParams struct {
		Session string `json:"session"`
	}
	releaseParams struct {
		ID string `json:"id"`
	}
	subscriptionParams struct {
		SubscriptionID string `json:"subscriptionId"`
	}
	unsubscribeParams struct {
		SubscriptionID string `json:"subscriptionId,omitempty"`
		Key            string `json:"key,omitempty"`
	}
	sequenceParams struct {
		SubscriptionID string `json:"subscriptionId"`
		Sequence       uint64 `json:"sequence"`
	}
	endParams struct {
		SubscriptionID string `json:"subscriptionId"`
		Reason         string `json:"reason"`
		Message        string `json:"message"`
	}
)

// open returns the session, after opening one if there is none.
func (c *Conn) open(ctx context.Context) (*session, error) {
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer func() { <-c.opening }()
	if c.closed {
		return nil, client.ErrClosed
	}
	if c.current != nil && c.current.alive() == nil {
		return c.current, nil
	}
	s, err := newSession(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("rpc: opening a session: %w", err)
	}
	c.current = s
	return s, nil
}

// newSession registers the session's service and names it to the host. The session outlives ctx.
func newSession(ctx context.Context, c *Conn) (*session, error) {
	s := &session{conn: c, quiet: make(chan struct{}), receivers: map[string]*receiver{}}
	connection := c.client.Connection()
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	detach := context.AfterFunc(ctx, func() { s.end(ctx.Err()) })
	defer detach()
	catalog, err := c.client.Watch(s.ctx)
	if err != nil {
		s.cancel(err)
		return nil, err
	}
	s.service, err = c.client.Register(ctx, c.opt.metadata, s.handle, client.OnNotify(s.notified), client.Ordered())
	if err != nil {
		s.cancel(err)
		return nil, err
	}
	lost := context.AfterFunc(connection, func() { s.end(context.Cause(connection)) })
	go s.follow(catalog, lost)
	params, err := json.Marshal(openParams{Session: s.service.ID()})
	if err == nil {
		_, err = c.request(ctx, methodOpen, params)
	}
	if err == nil && !detach() {
		err = ctx.Err()
	}
	if err != nil {
		s.end(err)
		return nil, err
	}
	return s, s.alive()
}

// follow ends the session when the host's service goes, and cleans up when it has ended, however that came.
func (s *session) follow(catalog *client.Catalog, lost func() bool) {
	defer close(s.quiet)
	for ev := range catalog.Events() {
		gone := ev.Kind == client.ServiceRemoved && ev.Service.ID == s.conn.host.ID
		if ev.Kind == client.CatalogSnapshot {
			_, there := catalog.Lookup(s.conn.host.ID)
			gone = !there
		}
		if gone {
			s.end(fmt.Errorf("rpc: the host has gone: %w", client.ErrUnavailable))
		}
	}
	if s.ctx.Err() == nil { // the client has ended
		s.end(catalog.Err())
	}
	lost()
	catalog.Close()
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	s.service.Unregister(ctx) // a failure means that the connection, and so the service, is gone
	s.wg.Wait()
}

// alive returns nil while the session lasts, then why it ended.
func (s *session) alive() error {
	if s.ctx.Err() == nil {
		return nil
	}
	return &Error{Reason: reasonSession, Message: "the session has ended: " + context.Cause(s.ctx).Error(), cause: context.Cause(s.ctx)}
}

// end ends the session and the subscriptions in it. Only the first cause counts.
func (s *session) end(cause error) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	receivers := s.receivers
	s.receivers = nil
	s.mu.Unlock()
	s.cancel(cause)
	for _, r := range receivers {
		r.end(cause)
	}
}

// goes runs f on a goroutine that the end of the session waits for; false, and not at all, if that has
// ended already.
func (s *session) goes(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.wg.Go(f)
	}
	return !s.ended
}

// newKey returns what names a subscription until its id is known.
func (s *session) newKey() string { return "k" + strconv.FormatUint(s.lastKey.Add(1), 10) }

// receiver returns the subscription of this id if it is there and the sender is the host.
func (s *session) receiver(sender, id string) *receiver {
	if sender != s.conn.host.ClientID {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.receivers[id]
}

// notified takes a notification to the session's service: events, if they are from the host.
func (s *session) notified(_ context.Context, n *client.Notification) {
	if n.Method != methodEvent {
		return
	}
	m, err := membersOf(n.Params, &path{name: rootEvent})
	if err != nil {
		return
	}
	id, _ := text(m["subscriptionId"])
	r := s.receiver(n.Sender, id)
	if r == nil {
		return
	}
	sequence, ok := positive(m["sequence"])
	dropped, _ := positive(m["dropped"])
	if !ok {
		return
	}
	r.receive(arrival{sequence: sequence, dropped: dropped, value: m["value"], carrier: m["trace"]})
}

// handle answers the host's requests to the session's service.
func (s *session) handle(_ context.Context, q *client.Request) (any, error) {
	if q.Sender != s.conn.host.ClientID {
		return nil, client.ErrPermissionDenied
	}
	switch q.Method {
	case methodSync:
		var p sequenceParams
		if err := q.Decode(&p); err != nil {
			return nil, err
		}
		r := s.receiver(q.Sender, p.SubscriptionID)
		if r == nil {
			return nil, outward(ErrTarget)
		}
		acknowledged, err := r.sync(p.Sequence)
		return sequenceParams{p.SubscriptionID, acknowledged}, err
	case methodEnd:
		var p endParams
		if err := q.Decode(&p); err != nil {
			return nil, err
		}
		if r := s.receiver(q.Sender, p.SubscriptionID); r != nil {
			r.ended(&Error{Reason: p.Reason, Message: p.Message})
		}
		return nil, nil
	}
	return nil, client.ErrMethodNotFound
}
