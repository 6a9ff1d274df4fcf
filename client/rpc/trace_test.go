package rpc_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ahprelay/ahprelay/client/rpc"
	"github.com/ahprelay/ahprelay/client/rpc/relaytest"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// recorded makes a tracer provider that keeps its spans.
func recorded(t *testing.T) (*sdktrace.TracerProvider, *tracetest.SpanRecorder) {
	spans := tracetest.NewSpanRecorder()
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	t.Cleanup(func() { p.Shutdown(context.Background()) })
	return p, spans
}

// span waits for the span of this name to end.
func span(t *testing.T, spans *tracetest.SpanRecorder, name string) sdktrace.ReadOnlySpan {
	t.Helper()
	var found sdktrace.ReadOnlySpan
	relaytest.Eventually(t, "the span "+name+" ends", func() bool {
		for _, s := range spans.Ended() {
			if s.Name() == name {
				found = s
			}
		}
		return found != nil
	})
	return found
}

// traced makes a method of the lab have a span of its own.
func traced(p trace.TracerProvider) rpc.Member {
	return rpc.Override("Title", func(ctx context.Context, l *lab, text string) (string, error) {
		ctx, s := p.Tracer("lab").Start(ctx, "lab.title")
		defer s.End()
		if text == "fail" {
			return "", errors.New("as asked")
		}
		return l.Title(ctx, text)
	})
}

func TestSpansAreParents(t *testing.T) {
	here, callers := recorded(t)
	there, hosts := recorded(t)
	b := newBench(t, benchOptions{
		user:    []rpc.Option{rpc.WithTracerProvider(here)},
		host:    []rpc.Option{rpc.WithTracerProvider(there)},
		members: []rpc.Member{traced(there)},
	})
	ctx, app := here.Tracer("app").Start(b.ctx, "app")
	if _, err := b.x.Title(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	app.End()
	call, serve, method := span(t, callers, "rpc.client"), span(t, hosts, "rpc.server"), span(t, hosts, "lab.title")
	for _, c := range []struct {
		child  sdktrace.ReadOnlySpan
		parent trace.SpanContext
		kind   trace.SpanKind
	}{
		{call, app.SpanContext(), trace.SpanKindClient},
		{serve, call.SpanContext(), trace.SpanKindServer},
		{method, serve.SpanContext(), trace.SpanKindInternal},
	} {
		if c.child.Parent().SpanID() != c.parent.SpanID() || c.child.SpanContext().TraceID() != app.SpanContext().TraceID() || c.child.SpanKind() != c.kind {
			t.Errorf("%s has the parent %v, want %v; %v", c.child.Name(), c.child.Parent().SpanID(), c.parent.SpanID(), c.child.SpanKind())
		}
	}
	attributes := map[string]string{}
	for _, a := range serve.Attributes() {
		attributes[string(a.Key)] = a.Value.AsString()
	}
	if attributes["rpc.service"] != "Lab" || attributes["rpc.method"] != "title" {
		t.Error(attributes)
	}
}

func TestSpansTellOfErrors(t *testing.T) {
	here, callers := recorded(t)
	there, hosts := recorded(t)
	b := newBench(t, benchOptions{
		user:    []rpc.Option{rpc.WithTracerProvider(here)},
		host:    []rpc.Option{rpc.WithTracerProvider(there)},
		members: []rpc.Member{traced(there)},
	})
	if _, err := b.x.Title(b.ctx, "fail"); err == nil {
		t.Fatal("no error")
	}
	for _, s := range []sdktrace.ReadOnlySpan{span(t, callers, "rpc.client"), span(t, hosts, "rpc.server")} {
		if s.Status().Code.String() != "Error" || !strings.Contains(s.Status().Description, "as asked") {
			t.Errorf("%s: %v", s.Name(), s.Status())
		}
	}
	if err := b.x.Fail(b.ctx, "panic"); err == nil {
		t.Fatal("no error")
	}
	relaytest.Eventually(t, "the span of a panic ends", func() bool {
		for _, s := range hosts.Ended() {
			if s.Status().Description == "rpc: the method panicked" {
				return true
			}
		}
		return false
	})
}

func TestMalformedAndMissingCarriers(t *testing.T) {
	there, hosts := recorded(t)
	b := newBench(t, benchOptions{host: []rpc.Option{rpc.WithTracerProvider(there)}})
	many := `{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`
	for _, name := range strings.Split("abcdefghijklmnopq", "") {
		many += `,"` + name + `":""`
	}
	for i, carrier := range []string{
		``, `,"trace":null`, `,"trace":7`, `,"trace":[]`, `,"trace":{}`, `,"trace":{"traceparent":7}`,
		`,"trace":{"traceparent":"00-zz-zz-00"}`, `,"trace":{"traceparent":"` + strings.Repeat("0", 9000) + `"}`,
		`,"trace":{"tracestate":"a=b"}`, `,"trace":` + many + `}`,
	} {
		if got, err := b.raw(b.user, "add", `{"args":[1,2]`+carrier+`}`); got != "3" || err != nil {
			t.Errorf("%s: %s %v", carrier, got, err)
		}
		relaytest.Eventually(t, "the span ends", func() bool { return len(hosts.Ended()) > i })
		if s := hosts.Ended()[i]; s.Parent().IsValid() || !s.SpanContext().IsValid() {
			t.Errorf("%s: parent %v", carrier, s.Parent())
		}
	}
	n := len(hosts.Ended())
	good := `{"args":[1,2],"trace":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=b"}}`
	if got, err := b.raw(b.user, "add", good); got != "3" || err != nil {
		t.Error(got, err)
	}
	relaytest.Eventually(t, "the span ends", func() bool { return len(hosts.Ended()) > n })
	if p := hosts.Ended()[n].Parent(); p.SpanID().String() != "b7ad6b7169203331" || !p.IsRemote() || p.TraceState().String() != "a=b" {
		t.Error(p)
	}
}

func TestNoCarrierWithoutASpan(t *testing.T) {
	var sent wire
	b := newBench(t, benchOptions{user: []rpc.Option{rpc.WithTracerProvider(noop.NewTracerProvider())}})
	b.user = relaytest.Joined(t, "traced", sent.option())
	conn, x := b.connect(b.user, rpc.WithTracerProvider(noop.NewTracerProvider()))
	defer conn.Close(b.ctx)
	if _, err := x.Add(b.ctx, 1, 2); err != nil {
		t.Fatal(err)
	}
	if calls := sent.with(`"trace"`); len(calls) != 0 {
		t.Error(calls)
	}
}

// broken is tracing that fails in every way that it can.
type broken struct {
	noop.TracerProvider
	propagation.TraceContext
	how string
}

func (b broken) Tracer(string, ...trace.TracerOption) trace.Tracer {
	if b.how == "provider" {
		panic("tracer provider")
	}
	return brokenTracer{how: b.how}
}

type brokenTracer struct {
	noop.Tracer
	how string
}

func (b brokenTracer) Start(ctx context.Context, name string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	switch b.how {
	case "tracer":
		panic("tracer")
	case "nil":
		return nil, nil
	case "ended":
		dead, cancel := context.WithCancel(ctx)
		cancel()
		return dead, brokenSpan{}
	}
	return ctx, brokenSpan{}
}

type brokenSpan struct{ noop.Span }

func (brokenSpan) End(...trace.SpanEndOption) { panic("end") }

func (b broken) Inject(context.Context, propagation.TextMapCarrier) { panic("inject") }

func (b broken) Extract(ctx context.Context, _ propagation.TextMapCarrier) context.Context {
	switch b.how {
	case "nil":
		return nil
	case "ended":
		dead, cancel := context.WithCancel(ctx)
		cancel()
		return dead
	}
	panic("extract")
}

func TestFailingTracingNeverChangesTheOutcome(t *testing.T) {
	for _, how := range []string{"provider", "tracer", "nil", "ended", "span"} {
		bad := broken{how: how}
		options := []rpc.Option{rpc.WithTracerProvider(bad), rpc.WithPropagator(bad), rpc.WithTracingFailed(func(string, any) {})}
		b := newBench(t, benchOptions{user: options, host: options})
		if n, err := b.x.Add(b.ctx, 1, 2); n != 3 || err != nil {
			t.Errorf("%s: %d %v", how, n, err)
		}
		if got, err := b.raw(b.user, "add", `{"args":[1,2],"trace":{"x":"y"}}`); got != "3" || err != nil {
			t.Errorf("%s: %s %v", how, got, err)
		}
		if err := b.x.Fail(b.ctx, "plain"); err == nil || !strings.Contains(err.Error(), "plain") {
			t.Errorf("%s: %v", how, err)
		}
		sub, err := b.x.Ticks(b.ctx, nil)
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		b.lab.emitter.tick(b.ctx)
		ev, err := sub.Next(b.ctx)
		if err != nil || ev.Value.N != 1 || ev.Context(b.ctx).Err() != nil {
			t.Errorf("%s: %v %v", how, ev, err)
		}
		sub.Close()
	}
}

// stuck is an exporter that fails.
type stuck struct{}

func (stuck) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	return errors.New("no collector")
}
func (stuck) Shutdown(context.Context) error { return nil }

func TestFailingExporterNeverChangesTheOutcome(t *testing.T) {
	var heard atomic.Int32
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) { heard.Add(1) }))
	p := sdktrace.NewTracerProvider(sdktrace.WithSyncer(stuck{}))
	defer p.Shutdown(context.Background())
	b := newBench(t, benchOptions{user: []rpc.Option{rpc.WithTracerProvider(p)}, host: []rpc.Option{rpc.WithTracerProvider(p)}})
	if n, err := b.x.Add(b.ctx, 1, 2); n != 3 || err != nil {
		t.Error(n, err)
	}
	relaytest.Eventually(t, "the exporter fails for both ends", func() bool { return heard.Load() == 2 })
}

func TestEventsCarryTheContextOfTheEmitter(t *testing.T) {
	there, hosts := recorded(t)
	b := newBench(t, benchOptions{host: []rpc.Option{rpc.WithTracerProvider(there)}})
	sub, err := b.x.Ticks(b.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	for i := range 3 {
		ctx, s := there.Tracer("lab").Start(b.ctx, "emit")
		if i == 1 {
			ctx = b.ctx // without a span
		}
		b.lab.emitter.tick(ctx)
		s.End()
		ev, err := sub.Next(b.ctx)
		if err != nil {
			t.Fatal(err)
		}
		got := trace.SpanContextFromContext(ev.Context(b.ctx))
		if want := s.SpanContext(); i != 1 && (got.SpanID() != want.SpanID() || got.TraceID() != want.TraceID() || !got.IsRemote()) || i == 1 && got.IsValid() {
			t.Errorf("event %d: %v, want %v", i, got, want)
		}
	}
	span(t, hosts, "rpc.server") // of the subscription
}
