package rpc

import (
	"context"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/goccy/go-json"
	"go.opentelemetry.io/otel/trace"
)

// subscribe makes a subscription and starts it. take gets the snapshot and the receiver in between.
func (p Proxy) subscribe(ctx context.Context, method string, filter []any, take func(json.RawMessage, *receiver) error) (err error) {
	m, err := p.ready(ctx, method, formSubscription)
	if err != nil {
		return err
	}
	s, err := p.conn.open(ctx)
	if err != nil {
		return err
	}
	raw, err := p.encodeFilter(m, filter)
	if err != nil {
		return err
	}
	spanned, finish := p.conn.opt.tracing.start(ctx, "rpc.client", trace.SpanKindClient, p.iface.name, m.wire)
	defer func() { finish(err) }()
	made, err := s.subscribe(ctx, p.subscribeParams(spanned, m, raw))
	if err != nil {
		return err
	}
	r, err := newReceiver(ctx, s, made.id)
	if err != nil {
		return err
	}
	if err := take(made.snapshot, r); err != nil {
		r.leave(err)
		return err
	}
	params, err := json.Marshal(subscriptionParams{made.id})
	if err == nil {
		_, err = p.conn.request(ctx, methodStart, params)
	}
	if err != nil {
		r.leave(err)
	}
	return err
}

// encodeFilter returns the filter as JSON, nil if there is none.
func (p Proxy) encodeFilter(m *member, filter []any) (json.RawMessage, error) {
	at := &path{name: rootFilter}
	if len(filter) != len(m.params) {
		return nil, at.problem("want %d arguments, not %d", len(m.params), len(filter))
	}
	if len(filter) == 0 {
		return nil, nil
	}
	v := reflect.New(m.params[0]).Elem()
	if filter[0] != nil {
		v.Set(reflect.ValueOf(filter[0]))
	}
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, nil
	}
	e := encoder{depthMax: p.conn.depth()}
	return e.encode(nil, v, at)
}

func (p Proxy) subscribeParams(ctx context.Context, m *member, filter json.RawMessage) json.RawMessage {
	params := append(p.appendTarget([]byte{'{'}), `"member":`...)
	params = appendText(params, m.wire)
	if filter != nil {
		params = append(append(params, `,"filter":`...), filter...)
	}
	params = appendNumber(append(params, `,"window":`...), uint64(p.conn.opt.window))
	return append(appendCarrier(params, p.conn.opt.tracing.inject(ctx)), '}')
}

// subscribed is what the host answers.
type subscribed struct {
	id       string
	snapshot json.RawMessage
	err      error
}

// patience is how long a subscription that nobody wants any more may take until it is cancelled. An
// answer that crosses a cancellation is lost, and with it the id to unsubscribe by, so that the host would
// keep the watcher until it misses $rpc/start; nearly all answers come sooner than this.
const patience = 250 * time.Millisecond

// subscribe asks the host for a subscription. When ctx ends first it returns at once, and whatever the
// host has made by then is undone in the background.
func (s *session) subscribe(ctx context.Context, params json.RawMessage) (subscribed, error) {
	var claimed atomic.Bool // by whoever decides: this function, or the answer
	answer := make(chan subscribed, 1)
	begun := s.goes(func() {
		asking, cancel := context.WithCancel(s.ctx)
		defer cancel()
		if deadline, ok := ctx.Deadline(); ok {
			asking, cancel = context.WithDeadline(asking, deadline.Add(patience))
			defer cancel()
		}
		hurry := context.AfterFunc(ctx, func() { time.AfterFunc(patience, cancel) })
		defer hurry()
		made := s.ask(asking, params)
		if claimed.CompareAndSwap(false, true) {
			answer <- made
		} else if made.err == nil {
			s.unsubscribe(made.id)
		}
	})
	if !begun {
		return subscribed{}, s.alive()
	}
	select {
	case made := <-answer:
		return made, made.err
	case <-ctx.Done():
	}
	if claimed.CompareAndSwap(false, true) {
		return subscribed{}, ctx.Err()
	}
	made := <-answer
	return made, made.err
}

func (s *session) ask(ctx context.Context, params json.RawMessage) subscribed {
	raw, err := s.conn.request(ctx, methodSubscribe, params)
	if err != nil {
		if ctx.Err() != nil && s.alive() != nil {
			err = s.alive()
		}
		return subscribed{err: err}
	}
	at := &path{name: rootResult}
	m, err := membersOf(raw, at)
	if err != nil {
		return subscribed{err: err}
	}
	id, ok := text(m["subscriptionId"])
	if !ok {
		return subscribed{err: at.problem("want a subscriptionId")}
	}
	made := subscribed{id: id, snapshot: m["snapshot"]}
	if made.snapshot == nil {
		made.snapshot = json.RawMessage("null")
	}
	return made
}

// unsubscribe undoes a subscription at the host, unless the end of the session does it.
func (s *session) unsubscribe(id string) {
	ctx, cancel := context.WithTimeout(s.ctx, cleanupTimeout)
	defer cancel()
	if params, err := json.Marshal(subscriptionParams{id}); err == nil {
		s.conn.request(ctx, methodUnsubscribe, params)
	}
}
