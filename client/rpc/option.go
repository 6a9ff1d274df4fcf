package rpc

import (
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Option changes how a Conn calls or a Host serves.
type Option func(*options)

type options struct {
	tracing  tracing
	window   int
	metadata any
	probe    time.Duration
}

const (
	windowMax       = 4096             // largest window that a host grants, in events
	windowDefault   = 64               // of a Conn
	bufferDefault   = 1024             // of a Publication, in events
	bufferBytesMax  = 16 << 20         // and their size
	flightBytesMax  = 1 << 20          // unacknowledged events of a subscription, so that the relay drops none
	startTimeout    = 30 * time.Second // for $rpc/start to come
	probeFirst      = time.Second      // of silence, before the host asks where the subscriber is
	probeMax        = 30 * time.Second
	cleanupTimeout  = 10 * time.Second // of what goes on in the background after the caller has left
	grantsMax       = 1 << 16          // objects that one session may hold
	subscriptionMax = 1024             // subscriptions of one session
	depthDefault    = 128              // of a frame, if the relay does not say
	depthEnvelope   = 8                // of them that the envelopes around a value take
)

func newOptions(opts []Option) options {
	o := options{
		tracing:  defaultTracing(),
		window:   windowDefault,
		metadata: map[string]string{"protocol": "rpc-session"},
		probe:    probeFirst,
	}
	for _, f := range opts {
		f(&o)
	}
	return o
}

// WithTracerProvider makes spans with p instead of OpenTelemetry's global provider.
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(o *options) { o.tracing.provider = p }
}

// WithPropagator carries span contexts by p. The default is the W3C trace context, without baggage.
func WithPropagator(p propagation.TextMapPropagator) Option {
	return func(o *options) { o.tracing.propagator = p }
}

// WithTracingFailed makes f be called when the application's tracer or propagator panics, which never
// changes the outcome of a call.
func WithTracingFailed(f func(what string, problem any)) Option {
	return func(o *options) { o.tracing.failed = f }
}

// WithWindow sets how many events of a subscription may be on their way to this Conn, unacknowledged, at
// once: 64 by default, 4096 at most. It is also how many wait here for a slow reader.
func WithWindow(events int) Option {
	return func(o *options) { o.window = min(max(events, 1), windowMax) }
}

// WithSessionMetadata sets the metadata of the service that a Conn registers for its session. The default
// is {"protocol":"rpc-session"}. The host must be allowed to discover it, and to notify and request it.
func WithSessionMetadata(metadata any) Option {
	return func(o *options) { o.metadata = metadata }
}
