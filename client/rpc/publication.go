package rpc

import (
	"context"
	"fmt"
	"reflect"
)

// Overflow says what happens when events come faster than a subscriber takes them for so long that the
// buffer is full.
type Overflow uint8

const (
	DropOldest Overflow = iota // the oldest event that waits is lost; the next one says how many were
	EndSlow                    // the subscription ends with ErrOverflow
)

// Publication makes a subscription to objects of type O, with filter F, snapshot S and events E; None
// stands for a filter or a snapshot that there is not. It has either Open, or Watch and, if there is a
// snapshot, Snapshot.
//
// The functions emit events by calling emit, from any goroutine, also before they return and while holding
// locks: emit never blocks. It encodes the event at once, and takes the trace carrier from its context.
// Events of one goroutine keep their order. The functions' ctx ends with the subscription, and while they
// run also with the request. stop is called once, when the subscription has ended, not from within emit.
type Publication[O, F, S, E any] struct {
	// Open installs a watcher and takes the snapshot in one step: exactly what happens after the
	// snapshot is emitted.
	Open func(ctx context.Context, object O, filter F, emit func(context.Context, E)) (snapshot S, stop func(), err error)

	// Watch installs a watcher. Its events are kept until the snapshot has been taken.
	Watch func(ctx context.Context, object O, filter F, emit func(context.Context, E)) (stop func(), err error)
	// Snapshot takes the snapshot after that. contains tells which events are in it already and so must
	// not follow it, usually by a revision; it must not wait for the object. nil: none is.
	Snapshot func(ctx context.Context, object O, filter F) (snapshot S, contains func(E) bool, err error)

	Buffer   int      // events that wait for a slow subscriber, beyond its window; 1024 if 0; at most 16 MiB of them
	Overflow Overflow // what happens when there are more
}

// publication is a Publication whatever its types.
type publication interface {
	types() (object, filter, snapshot, event reflect.Type)
	incomplete() string
	limits() (buffer int, overflow Overflow)
	// start installs the watcher for p and returns the snapshot.
	start(ctx context.Context, object, filter reflect.Value, p *publisher) (snapshot reflect.Value, err error)
}

func (p Publication[O, F, S, E]) types() (object, filter, snapshot, event reflect.Type) {
	return reflect.TypeFor[O](), reflect.TypeFor[F](), reflect.TypeFor[S](), reflect.TypeFor[E]()
}

func (p Publication[O, F, S, E]) limits() (int, Overflow) {
	if p.Buffer <= 0 {
		return bufferDefault, p.Overflow
	}
	return p.Buffer, p.Overflow
}

func (p Publication[O, F, S, E]) incomplete() string {
	none := reflect.TypeFor[S]() == reflect.TypeFor[None]()
	switch {
	case (p.Open == nil) == (p.Watch == nil):
		return "wants either Open or Watch"
	case p.Open != nil && p.Snapshot != nil:
		return "has both Open and Snapshot"
	case p.Watch != nil && (p.Snapshot == nil) != none:
		return "wants Snapshot exactly if it has a snapshot"
	}
	return ""
}

func (p Publication[O, F, S, E]) start(ctx context.Context, object, filter reflect.Value, to *publisher) (reflect.Value, error) {
	o, f := object.Interface().(O), filter.Interface().(F)
	emit := func(ctx context.Context, e E) { to.emit(ctx, reflect.ValueOf(&e).Elem()) }
	var s S
	var stop func()
	var contains func(E) bool
	var err error
	if p.Open != nil {
		s, stop, err = p.Open(ctx, o, f, emit)
		to.installed(stop)
	} else {
		stop, err = p.Watch(ctx, o, f, emit)
		to.installed(stop)
		if err == nil && p.Snapshot != nil {
			s, contains, err = p.Snapshot(ctx, o, f)
		}
	}
	if err != nil {
		return reflect.Value{}, err
	}
	if contains == nil {
		to.settled(nil)
	} else {
		to.settled(func(e reflect.Value) bool { return contains(e.Interface().(E)) })
	}
	return reflect.ValueOf(&s).Elem(), nil
}

// publish checks that a publication fits the member that it is for.
func (o *offer) publish(b *binding, n *bound, p publication) {
	object, filter, snapshot, event := p.types()
	want := reflect.TypeFor[None]()
	if len(n.params) == 1 {
		want = n.params[0]
	}
	fit := pairs{o: o, seen: map[[2]reflect.Type]bool{}}
	differ := func(what string, c, d reflect.Type) {
		if !fit.fit(c, d) {
			o.problem(b, n.name, "the %s is %v in the contract, but %v at the host", what, c, d)
		}
	}
	differ("filter", want, filter)
	differ("snapshot", n.snapshot, snapshot)
	differ("event", n.event, event)
	if !b.domain.AssignableTo(object) {
		o.problem(b, n.name, "publishes a %v, not a %v", object, b.domain)
	}
	if wrong := p.incomplete(); wrong != "" {
		o.problem(b, n.name, "%s", fmt.Sprintf("the publication %s", wrong))
	}
	n.publication = p
}
