package rpc

import (
	"context"
	"iter"
	"reflect"

	"github.com/ahprelay/ahprelay/client"
	"github.com/goccy/go-json"
)

// None is the type of what a subscription does not have: a snapshot, or a filter.
type None = struct{}

// Subscription is a stream of events E that goes on from a snapshot S, without a gap and without
// repeating what the snapshot has already. It ends, and is undone at the host, with the context that it was
// subscribed with, with Close, with either connection, and with what Err then tells.
type Subscription[S, E any] struct {
	snapshot S
	r        *receiver
}

// Event is one event of a subscription.
type Event[E any] struct {
	Value    E
	Sequence uint64 // 1, 2, 3, …
	Dropped  uint64 // events that the host's full buffer lost just before this one
	carrier  json.RawMessage
	tracing  *tracing
}

// Context returns ctx with the span context of the emitter, as a remote parent for spans about the event.
func (e Event[E]) Context(ctx context.Context) context.Context {
	return e.tracing.extract(ctx, e.carrier)
}

// stream is how a manifest recognises a subscription by its type.
type stream interface {
	types() (snapshot, event reflect.Type)
}

func (*Subscription[S, E]) types() (snapshot, event reflect.Type) {
	return reflect.TypeFor[S](), reflect.TypeFor[E]()
}

// Subscribe subscribes to the member of this Go name on the object that p stands for, for generated code.
// filter is the method's parameter, if it has one. The subscription ends with ctx.
func Subscribe[S, E any](ctx context.Context, p Proxy, method string, filter ...any) (*Subscription[S, E], error) {
	sub := &Subscription[S, E]{}
	err := p.subscribe(ctx, method, filter, func(raw json.RawMessage, r *receiver) error {
		sub.r = r
		if reflect.TypeFor[S]() == reflect.TypeFor[None]() {
			return nil
		}
		d := decoder{}
		return d.decode(raw, reflect.ValueOf(&sub.snapshot).Elem(), &path{name: rootSnapshot})
	})
	if err != nil {
		return nil, err
	}
	return sub, nil
}

// Snapshot returns the state that the events go on from.
func (s *Subscription[S, E]) Snapshot() S { return s.snapshot }

// Next waits for the next event. ctx bounds the waiting only. An event counts as received, for the
// window, once Next has returned it.
func (s *Subscription[S, E]) Next(ctx context.Context) (Event[E], error) {
	a, err := s.r.next(ctx)
	if err != nil {
		return Event[E]{}, err
	}
	ev := Event[E]{Sequence: a.sequence, Dropped: a.dropped, carrier: a.carrier, tracing: &s.r.s.conn.opt.tracing}
	d := decoder{}
	if err := d.decode(a.value, reflect.ValueOf(&ev.Value).Elem(), &path{name: rootEvent}); err != nil {
		s.r.leave(err)
		return Event[E]{}, err
	}
	return ev, nil
}

// Events yields the events until the subscription ends; Err then tells why.
func (s *Subscription[S, E]) Events() iter.Seq[Event[E]] {
	return func(yield func(Event[E]) bool) {
		for {
			ev, err := s.Next(context.Background())
			if err != nil || !yield(ev) {
				return
			}
		}
	}
}

// Err returns why the subscription ended: the error of its context, client.ErrClosed after Close, ErrGap,
// ErrOverflow, or the loss of the host or of the connection. It is nil while events may come, or wait.
func (s *Subscription[S, E]) Err() error { return s.r.over() }

// Close ends the subscription. It does not wait for the host.
func (s *Subscription[S, E]) Close() { s.r.leave(client.ErrClosed) }
