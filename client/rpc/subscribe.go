package rpc

import (
	"context"
	"reflect"

	"github.com/ahprelay/ahprelay/client"
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
	key := s.newKey()
	made, err := s.subscribe(ctx, p.subscribeParams(spanned, m, raw, key), key)
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

func (p Proxy) subscribeParams(ctx context.Context, m *member, filter json.RawMessage, key string) json.RawMessage {
	params := append(p.appendTarget([]byte{'{'}), `"member":`...)
	params = appendText(params, m.wire)
	if filter != nil {
		params = append(append(params, `,"filter":`...), filter...)
	}
	params = appendNumber(append(params, `,"window":`...), uint64(p.conn.opt.window))
	params = appendText(append(params, `,"key":`...), key)
	return append(appendCarrier(params, p.conn.opt.tracing.inject(ctx)), '}')
}

// subscribed is what the host answers.
type subscribed struct {
	id       string
	snapshot json.RawMessage
}

// subscribe asks the host for a subscription. If no answer comes, because ctx ends or the time is over, the
// host may have made one all the same: it is undone by its key.
func (s *session) subscribe(ctx context.Context, params json.RawMessage, key string) (subscribed, error) {
	raw, err := s.conn.request(ctx, methodSubscribe, params)
	if err != nil {
		if ctx.Err() != nil || client.Delivered(err) == "maybe" {
			s.goes(func() { s.unsubscribe(unsubscribeParams{Key: key}) })
		}
		return subscribed{}, err
	}
	at := &path{name: rootResult}
	m, err := membersOf(raw, at)
	if err != nil {
		return subscribed{}, err
	}
	made := subscribed{snapshot: m["snapshot"]}
	if made.id, _ = text(m["subscriptionId"]); made.id == "" {
		return subscribed{}, at.problem("want a subscriptionId")
	}
	if made.snapshot == nil {
		made.snapshot = json.RawMessage("null")
	}
	return made, nil
}

// unsubscribe undoes a subscription at the host, unless the end of the session does it.
func (s *session) unsubscribe(which unsubscribeParams) {
	ctx, cancel := context.WithTimeout(s.ctx, cleanupTimeout)
	defer cancel()
	if params, err := json.Marshal(which); err == nil {
		s.conn.request(ctx, methodUnsubscribe, params)
	}
}
