package rpc

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
	"go.opentelemetry.io/otel/trace"
)

// incoming is a request after its envelope has been read.
type incoming struct {
	h       *Host
	sender  string
	members map[string]json.RawMessage
}

// serve answers a request to the host's service.
func (h *Host) serve(ctx context.Context, r *client.Request) (any, error) {
	result, err := h.dispatch(ctx, r)
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() == context.DeadlineExceeded && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)):
		err = &Error{Reason: reasonDeadline, Message: err.Error()}
	}
	return nil, outward(err)
}

func (h *Host) dispatch(ctx context.Context, r *client.Request) (json.RawMessage, error) {
	members, err := membersOf(r.Params, &path{name: "params"})
	if err != nil {
		return nil, malformed("%v", err)
	}
	in := &incoming{h: h, sender: r.Sender, members: members}
	ctx = h.opt.tracing.extract(ctx, members["trace"])
	switch r.Method {
	case methodOpen:
		session, err := in.text("session")
		if err != nil {
			return nil, err
		}
		return nil, h.open(ctx, r.Sender, session)
	case methodRelease:
		return nil, in.release()
	case methodSubscribe:
		return in.subscribe(ctx)
	case methodStart:
		return nil, in.start()
	case methodUnsubscribe:
		return nil, in.unsubscribe(ctx)
	}
	return in.call(ctx, r.Method)
}

func malformed(format string, args ...any) error {
	return &Error{Reason: reasonEnvelope, Message: "malformed: " + fmt.Sprintf(format, args...)}
}

// text returns a member of the envelope that must be a string.
func (in *incoming) text(name string) (string, error) {
	s, ok := text(in.members[name])
	if !ok {
		return "", malformed("%s is no string", name)
	}
	return s, nil
}

// guest returns the caller's session.
func (in *incoming) guest() (*guest, error) {
	if g := in.h.guestOf(in.sender); g != nil {
		return g, nil
	}
	return nil, &Error{Reason: reasonSession, Message: "the caller has not opened a session"}
}

// call calls a member of the target.
func (in *incoming) call(ctx context.Context, name string) (result json.RawMessage, err error) {
	b, object, err := in.target(ctx)
	if err != nil {
		return nil, err
	}
	e := b.bound[name]
	if e == nil || e.form != formCall {
		return nil, &Error{Reason: reasonMember, Message: fmt.Sprintf("%s has no method %q", b.manifest.name, name)}
	}
	args, err := in.args(e)
	if err != nil {
		return nil, err
	}
	var grants *granting
	if e.objects {
		g, err := in.guest()
		if err != nil {
			return nil, err
		}
		grants = &granting{guest: g}
		defer func() {
			if result == nil { // it failed, or panicked
				grants.undo()
			}
		}()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, finish := in.h.opt.tracing.start(ctx, "rpc.server", trace.SpanKindServer, b.manifest.name, name)
	outcome := errPanicked
	defer func() { finish(outcome) }()
	value, err := e.fn.invoke(ctx, object, args)
	if err == nil {
		result, err = in.h.encode(value, rootResult, grants)
	}
	if cancelled := ctx.Err(); err == nil && cancelled != nil {
		result, err = nil, cancelled // the answer is for nobody: what it grants must not stay
	}
	outcome = err
	return result, err
}

var errPanicked = fmt.Errorf("rpc: the method panicked")

// encode returns a result as JSON, null for none. It must fit a frame, for otherwise what it grants would be
// lost together with it.
func (h *Host) encode(value reflect.Value, what string, grants *granting) (json.RawMessage, error) {
	if !value.IsValid() {
		return json.RawMessage("null"), nil
	}
	e := encoder{depthMax: depthFor(h.client)}
	if grants != nil {
		e.refer = grants.refer
	}
	addressable := reflect.New(value.Type()).Elem()
	addressable.Set(value)
	at := &path{name: what}
	raw, err := e.encode(nil, addressable, at)
	if err != nil {
		return nil, err
	}
	if limit := h.client.Limits().FrameBytes; limit > 0 && len(raw)+frameSlop > limit {
		return nil, at.problem("%d bytes exceed the relay's frameBytes", len(raw))
	}
	return raw, nil
}

// frameSlop is more than the envelopes around a result.
const frameSlop = 1024

// target finds the object that the request is for, among those that the caller may reach.
func (in *incoming) target(ctx context.Context) (*binding, reflect.Value, error) {
	raw := in.members["target"]
	if raw == nil {
		return in.h.offer.root, in.h.root, nil
	}
	m, err := membersOf(raw, &path{name: rootTarget})
	if err != nil {
		return nil, reflect.Value{}, malformed("%v", err)
	}
	iface, ok := text(m["interface"])
	if !ok || len(m) != 2 {
		return nil, reflect.Value{}, malformed("the target needs an interface, and an id or a selector")
	}
	if selector := m["selector"]; selector != nil {
		keys, err := membersOf(selector, &path{name: rootTarget})
		if err != nil {
			return nil, reflect.Value{}, malformed("%v", err)
		}
		return in.h.offer.find(ctx, in.h.root, iface, keys, &decoder{})
	}
	id, ok := text(m["id"])
	if !ok {
		return nil, reflect.Value{}, malformed("the target needs an id or a selector")
	}
	if g := in.h.guestOf(in.sender); g != nil {
		if b, object, ok := g.granted(id, iface); ok {
			return b, object, nil
		}
	}
	return nil, reflect.Value{}, &Error{Reason: reasonTarget, Message: fmt.Sprintf("the session has no %s %q", iface, id)}
}

// args decodes the arguments for e: those that may be omitted and are get their zero values.
func (in *incoming) args(e *bound) ([]reflect.Value, error) {
	raw := in.members["args"]
	at := &path{name: rootArgs}
	if raw != nil && codec.KindOf(raw) != codec.Array {
		return nil, malformed("args is no array")
	}
	d := in.decoder()
	var args []reflect.Value
	it := codec.ArrayElements(raw)
	for value, ok := it.Next(); ok; value, ok = it.Next() {
		n := len(args)
		if n >= len(e.fn.in) && !e.variadic {
			return nil, at.problem("want at most %d arguments", len(e.fn.in))
		}
		t := e.fn.in[min(n, len(e.fn.in)-1)]
		if e.variadic && n >= len(e.fn.in)-1 {
			t = t.Elem()
		}
		v := reflect.New(t).Elem()
		inner := at.element(n)
		if err := d.decode(value, v, &inner); err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	if len(args) < e.required {
		return nil, at.problem("want at least %d arguments, not %d", e.required, len(args))
	}
	fixed := len(e.fn.in)
	if e.variadic {
		fixed--
	}
	for len(args) < fixed {
		args = append(args, reflect.Zero(e.fn.in[len(args)]))
	}
	return args, nil
}

// decoder returns a decoder for arguments: references in them are objects that the caller holds.
func (in *incoming) decoder() *decoder {
	return &decoder{
		remote: func(t reflect.Type) bool { return in.h.offer.byDomain[t] != nil },
		resolve: func(t reflect.Type, r reference, at *path) (reflect.Value, error) {
			if g := in.h.guestOf(in.sender); g != nil {
				if b, object, ok := g.granted(r.id, r.iface); ok && b.domain == t {
					return object, nil
				}
			}
			return reflect.Value{}, &Error{Reason: reasonTarget, Path: at.String(), Message: fmt.Sprintf("the session has no %s %q", r.iface, r.id)}
		},
	}
}

// release takes one reference back.
func (in *incoming) release() error {
	id, err := in.text("id")
	if err != nil {
		return err
	}
	g, err := in.guest()
	if err != nil {
		return err
	}
	if !g.release(id) {
		return &Error{Reason: reasonTarget, Message: fmt.Sprintf("the session has no object %q", id)}
	}
	return nil
}
