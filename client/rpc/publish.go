package rpc

import (
	"context"
	"fmt"
	"reflect"

	"github.com/ahprelay/ahprelay/client"
	"github.com/goccy/go-json"
	"go.opentelemetry.io/otel/trace"
)

// subscribe makes a subscription: the watcher is installed, buffering, then the snapshot is taken. What
// happened in between waits until the subscriber says that it is ready.
func (in *incoming) subscribe(ctx context.Context) (_ json.RawMessage, err error) {
	b, object, err := in.target(ctx)
	if err != nil {
		return nil, err
	}
	name, err := in.text("member")
	if err != nil {
		return nil, err
	}
	e := b.bound[name]
	if e == nil || e.form != formSubscription {
		return nil, &Error{Reason: reasonMember, Message: fmt.Sprintf("%s has no subscription %q", b.manifest.name, name)}
	}
	window, ok := positive(in.members["window"])
	if !ok {
		return nil, malformed("window is no positive integer")
	}
	filter, err := in.filter(e)
	if err != nil {
		return nil, err
	}
	g, err := in.guest()
	if err != nil {
		return nil, err
	}
	key, _ := text(in.members["key"])
	p, err := g.newPublisher(min(window, windowMax), key, e.publication)
	if err != nil {
		return nil, err
	}
	defer in.h.wg.Done()
	outcome := errPanicked
	defer func() {
		if outcome != nil {
			p.end(outcome)
			p.retire()
			g.forget(p)
		}
	}()
	ctx, finish := in.h.opt.tracing.start(ctx, "rpc.server", trace.SpanKindServer, b.manifest.name, name)
	defer func() { finish(outcome) }()
	raw, err := p.install(ctx, e, object, filter)
	outcome = err
	return raw, err
}

// install makes the publication start and returns the answer to the subscriber.
func (p *publisher) install(ctx context.Context, e *bound, object, filter reflect.Value) (json.RawMessage, error) {
	detach := context.AfterFunc(ctx, p.cancel) // while the subscriber may cancel the request
	defer detach()
	snapshot, err := e.publication.start(graft(p.ctx, ctx), object, filter, p)
	if err != nil {
		return nil, err
	}
	answer := append(appendText([]byte(`{"subscriptionId":`), p.id), '}')
	if e.snapshot != reflect.TypeFor[None]() {
		raw, err := p.guest.host.encode(snapshot, rootSnapshot, nil)
		if err != nil {
			return nil, err
		}
		answer = append(append(append(answer[:len(answer)-1], `,"snapshot":`...), raw...), '}')
	}
	if !detach() {
		return nil, ctx.Err()
	}
	return answer, nil
}

// filter decodes the filter, the zero value if the caller sent none.
func (in *incoming) filter(e *bound) (reflect.Value, error) {
	_, t, _, _ := e.publication.types()
	v := reflect.New(t).Elem()
	raw := in.members["filter"]
	at := &path{name: rootFilter}
	switch {
	case raw != nil && len(e.params) == 0:
		return v, at.problem("there is none for %s", e.wire)
	case raw == nil && e.required > 0:
		return v, at.problem("is missing")
	case raw == nil:
		return v, nil
	}
	d := decoder{}
	return v, d.decode(raw, v, at)
}

// newPublisher enters a subscription that has not begun. The host waits for whoever installs it, who calls
// host.wg.Done.
func (g *guest) newPublisher(window uint64, key string, from publication) (*publisher, error) {
	p := &publisher{guest: g, id: g.host.newID('s'), key: key, window: window, pending: true, stopped: make(chan struct{})}
	p.buffer, p.overflow = from.limits()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return nil, errLeft
	}
	if len(g.publishers) >= subscriptionMax {
		return nil, &Error{Reason: reasonLimit, Message: "the session has too many subscriptions"}
	}
	p.ctx, p.cancel = context.WithCancel(g.ctx)
	p.mu.Lock()
	p.wait(startTimeout, p.expire)
	p.mu.Unlock()
	g.publishers[p.id] = p
	g.host.wg.Add(1)
	return p, nil
}

// publisher returns the caller's subscription that the request names.
func (in *incoming) publisher() (*publisher, error) {
	id, err := in.text("subscriptionId")
	if err != nil {
		return nil, err
	}
	if g := in.h.guestOf(in.sender); g != nil {
		if p := g.publisher(id); p != nil {
			return p, nil
		}
	}
	return nil, &Error{Reason: reasonTarget, Message: fmt.Sprintf("the session has no subscription %q", id)}
}

// keyed returns the caller's subscription of this key.
func (in *incoming) keyed(key string) (*publisher, error) {
	if g := in.h.guestOf(in.sender); g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, p := range g.publishers {
			if p.key == key {
				return p, nil
			}
		}
	}
	return nil, &Error{Reason: reasonTarget, Message: fmt.Sprintf("the session has no subscription with the key %q", key)}
}

// start lets the events of a subscription flow.
func (in *incoming) start() error {
	p, err := in.publisher()
	if err != nil {
		return err
	}
	if err := p.begin(); err != nil {
		p.retire()
		p.guest.forget(p)
		return err
	}
	return nil
}

// unsubscribe ends a subscription and returns when its watcher is gone. A subscriber that has no id,
// because it cancelled the request before the answer came, names the key that it gave: the subscription
// is entered by then, or is never made, since the cancellation came first.
func (in *incoming) unsubscribe(ctx context.Context) error {
	var p *publisher
	var err error
	if key, _ := text(in.members["key"]); key != "" {
		p, err = in.keyed(key)
	} else {
		p, err = in.publisher()
	}
	if err != nil {
		return err
	}
	p.end(errUnsubscribed)
	p.retire()
	p.guest.forget(p)
	select {
	case <-p.stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errUnsubscribed = fmt.Errorf("rpc: unsubscribed: %w", client.ErrClosed)

// notified takes a notification to the host: the acknowledgement of events.
func (h *Host) notified(_ context.Context, n *client.Notification) {
	if n.Method != methodAck {
		return
	}
	m, err := membersOf(n.Params, &path{name: "params"})
	if err != nil {
		return
	}
	id, _ := text(m["subscriptionId"])
	sequence, ok := positive(m["sequence"])
	g := h.guestOf(n.Sender)
	if !ok || g == nil {
		return
	}
	if p := g.publisher(id); p != nil {
		p.acknowledge(sequence)
	}
}
