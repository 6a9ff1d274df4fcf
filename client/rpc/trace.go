package rpc

import (
	"context"
	"maps"
	"slices"

	"github.com/ahprelay/ahprelay/codec"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// carrierMax bounds the trace carrier that is taken from a message, in members and in bytes of text.
const (
	carrierMax      = 16
	carrierBytesMax = 8 << 10
)

// tracing makes spans and carries their contexts. Whatever the application's tracer or propagator does,
// panicking included, a call goes on: at worst without a span or a carrier.
type tracing struct {
	provider   trace.TracerProvider // nil: the global one
	propagator propagation.TextMapPropagator
	failed     func(what string, problem any) // hears of panics
}

func defaultTracing() tracing { return tracing{propagator: propagation.TraceContext{}} }

// guard contains a panic of the application's tracing.
func (t *tracing) guard(what string) {
	if p := recover(); p != nil && t.failed != nil {
		t.failed(what, p)
	}
}

// start begins a span. finish ends it with the outcome of the call.
func (t *tracing) start(ctx context.Context, name string, kind trace.SpanKind, iface, member string) (_ context.Context, finish func(error)) {
	var span trace.Span
	func() {
		defer t.guard("starting a span")
		provider := t.provider
		if provider == nil {
			provider = otel.GetTracerProvider()
		}
		_, span = provider.Tracer("github.com/ahprelay/ahprelay/client/rpc").Start(ctx, name,
			trace.WithSpanKind(kind),
			trace.WithAttributes(
				attribute.String("rpc.system", "ahprelay"),
				attribute.String("rpc.service", iface),
				attribute.String("rpc.method", member)))
	}()
	if span == nil {
		return ctx, func(error) {}
	}
	// The span is all that is taken from the tracer's context: deadline and cancellation stay the caller's.
	return trace.ContextWithSpan(ctx, span), func(err error) {
		defer t.guard("ending a span")
		defer span.End()
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
	}
}

// inject returns the carrier of ctx as JSON, nil if there is nothing to carry.
func (t *tracing) inject(ctx context.Context) (raw []byte) {
	defer t.guard("injecting a trace carrier")
	carrier := propagation.MapCarrier{}
	t.propagator.Inject(ctx, carrier)
	if len(carrier) == 0 {
		return nil
	}
	out := []byte{'{'}
	for i, key := range slices.Sorted(maps.Keys(carrier)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(codec.AppendQuoted(out, key), ':')
		out = codec.AppendQuoted(out, carrier[key])
	}
	return append(out, '}')
}

// appendCarrier appends the member "trace" behind others, nothing for an empty carrier.
func appendCarrier(dst, carrier []byte) []byte {
	if carrier == nil {
		return dst
	}
	return append(append(dst, `,"trace":`...), carrier...)
}

// extract returns ctx with what the carrier brings. A carrier that is missing or malformed brings nothing.
func (t *tracing) extract(ctx context.Context, raw []byte) (out context.Context) {
	out = ctx
	carrier, ok := parseCarrier(raw)
	if !ok {
		return ctx
	}
	defer t.guard("extracting a trace carrier")
	if carried := t.propagator.Extract(ctx, carrier); carried != nil {
		out = carried
		if carried.Done() != ctx.Done() { // a propagator must not change when the call ends
			out = graft(ctx, carried)
		}
	}
	return out
}

// graft returns ctx with the span and the baggage of from.
func graft(ctx, from context.Context) context.Context {
	ctx = trace.ContextWithSpan(ctx, trace.SpanFromContext(from))
	return baggage.ContextWithBaggage(ctx, baggage.FromContext(from))
}

func parseCarrier(raw []byte) (propagation.MapCarrier, bool) {
	if codec.KindOf(raw) != codec.Object || len(raw) > carrierBytesMax {
		return nil, false
	}
	carrier := propagation.MapCarrier{}
	it := codec.ObjectMembers(raw)
	for name, value, ok := it.Next(); ok; name, value, ok = it.Next() {
		key, _ := text(name)
		s, isText := text(value)
		if !isText || len(carrier) == carrierMax {
			return nil, false
		}
		carrier[key] = s
	}
	return carrier, true
}
