package rpc

import (
	"context"
	"fmt"
	"reflect"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
	"go.opentelemetry.io/otel/trace"
)

// Invoke calls the method of this Go name on the object that p stands for, for generated code: args
// follow the context, those of a variadic parameter as one slice. R is the method's result.
//
// An error of the object is a *client.Error; what this package refuses, at either end, is an *Error. When
// ctx ends, the call is cancelled at the host and the error is ctx.Err(). A call whose context has ended
// before sends nothing.
func Invoke[R any](ctx context.Context, p Proxy, method string, args ...any) (R, error) {
	var result R
	err := p.invoke(ctx, method, args, reflect.ValueOf(&result).Elem())
	return result, err
}

// Do is Invoke for a method without a result.
func Do(ctx context.Context, p Proxy, method string, args ...any) error {
	return p.invoke(ctx, method, args, reflect.Value{})
}

func (p Proxy) invoke(ctx context.Context, method string, args []any, result reflect.Value) (err error) {
	m, err := p.ready(ctx, method, formCall)
	if err != nil {
		return err
	}
	var s *session
	if m.references {
		if s, err = p.conn.open(ctx); err != nil {
			return err
		}
	}
	raw, err := p.encodeArgs(m, args)
	if err != nil {
		return err
	}
	ctx, finish := p.conn.opt.tracing.start(ctx, "rpc.client", trace.SpanKindClient, p.iface.name, m.wire)
	defer func() { finish(err) }()
	params := append(p.appendTarget([]byte{'{'}), `"args":`...)
	params = append(params, raw...)
	params = append(appendCarrier(params, p.conn.opt.tracing.inject(ctx)), '}')
	answer, err := p.conn.request(ctx, m.wire, params)
	if err != nil {
		return err
	}
	at := &path{name: rootResult}
	if m.result == nil {
		if codec.KindOf(answer) != codec.Null {
			return at.problem("want null, not %s", kindName(answer))
		}
		return nil
	}
	d := p.decoder(s)
	return d.decode(answer, result, at)
}

// ready makes sure that a member may be used now: it is in the contract, ctx has not ended, and the
// session of p's reference neither.
func (p Proxy) ready(ctx context.Context, method string, f form) (*member, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m := p.iface.byName[method]
	if m == nil || m.form != f {
		return nil, &Error{Reason: reasonMember, Message: fmt.Sprintf("%s has no %s to call so", p.iface.name, method)}
	}
	if p.session != nil {
		return m, p.session.alive()
	}
	return m, nil
}

// encodeArgs returns the arguments as a JSON array, without the optional ones that are nil at the end.
func (p Proxy) encodeArgs(m *member, args []any) (json.RawMessage, error) {
	at := &path{name: rootArgs}
	if len(args) != len(m.params) {
		return nil, at.problem("want %d arguments, not %d", len(m.params), len(args))
	}
	values := make([]reflect.Value, 0, len(args))
	for i, arg := range args {
		v := reflect.New(m.params[i]).Elem()
		if arg != nil {
			given := reflect.ValueOf(arg)
			if !given.Type().AssignableTo(v.Type()) {
				inner := at.element(i)
				return nil, inner.problem("want %v, not %v", v.Type(), given.Type())
			}
			v.Set(given)
		}
		values = append(values, v)
	}
	var rest reflect.Value
	if m.variadic {
		rest = values[len(values)-1]
		values = values[:len(values)-1]
	}
	if !m.variadic || rest.Len() == 0 {
		for n := len(values); n > m.required && values[n-1].IsNil(); n-- { // pointers all
			values = values[:n-1]
		}
	}
	for i := 0; m.variadic && i < rest.Len(); i++ {
		values = append(values, rest.Index(i))
	}
	e := encoder{refer: p.refer, depthMax: p.conn.depth()}
	out := []byte{'['}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		inner := at.element(i)
		var err error
		if out, err = e.encode(out, v, &inner); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

// refer makes references of the proxies in arguments. They must be of the same session.
func (p Proxy) refer(t reflect.Type, v reflect.Value, at *path) (*reference, bool, error) {
	if !isContract(t) {
		return nil, false, nil
	}
	if v.IsNil() {
		return nil, true, nil
	}
	other, ok := v.Interface().(selfer)
	switch {
	case !ok:
		return nil, true, at.problem("%v is no proxy", v.Elem().Type())
	case other.self().id == "":
		return nil, true, at.problem("an object that was not returned by reference cannot be passed")
	case other.self().conn != p.conn:
		return nil, true, at.problem("a reference of another connection")
	}
	q := other.self()
	if err := q.session.alive(); err != nil {
		return nil, true, err
	}
	return &reference{id: q.id, iface: q.iface.name}, true, nil
}

// decoder returns a decoder that makes proxies of the references in a result.
func (p Proxy) decoder(s *session) *decoder {
	return &decoder{
		remote: isContract,
		resolve: func(t reflect.Type, r reference, at *path) (reflect.Value, error) {
			m := p.contract.manifests[t]
			if m == nil || m.name != r.iface || s == nil {
				return reflect.Value{}, at.problem("a reference to %q, which the contract does not have here", r.iface)
			}
			proxy := p.contract.proxies[t](Proxy{conn: p.conn, session: s, contract: p.contract, iface: m, id: r.id})
			return reflect.ValueOf(proxy), nil
		},
	}
}
