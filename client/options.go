package client

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// Option changes how Dial connects and how the client behaves.
type Option func(*options)

type options struct {
	clientID    string
	name        string
	version     string
	token       string
	resource    string
	versions    []string
	tls         *tls.Config
	log         *slog.Logger
	onEvent     func(Event)
	trace       func(dir string, line []byte)
	reconnect   ReconnectPolicy
	concurrency int
	outBytes    int // bound of the unsent output, in bytes
	frameBytes  int // bound of an incoming frame, whatever the relay announces
}

// ReconnectPolicy says when to connect again after a lost connection. The n-th pause is drawn evenly
// from the upper half of Min·2ⁿ, at most Max; the relay's own reconnectAfterMs comes first if it is longer.
type ReconnectPolicy struct {
	Min      time.Duration // first pause; 100 ms if 0
	Max      time.Duration // longest pause; 10 s if 0
	Attempts int           // consecutive failures until the client gives up; 0: never; negative: do not reconnect
	Timeout  time.Duration // of one attempt, dialing and handshake; 10 s if 0
}

func defaults() options {
	return options{
		clientID:    randomID(),
		name:        filepath.Base(os.Args[0]),
		versions:    []string{"1.0.0"},
		log:         slog.New(slog.DiscardHandler),
		concurrency: 64,
		outBytes:    1 << 20,
		frameBytes:  256 << 20,
	}
}

// randomID makes a clientId that a person can recognise: the program's name and 64 random bits.
func randomID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	name := filepath.Base(os.Args[0])
	if len(name) > 64 {
		name = name[:64]
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] >= 0x7f {
			name = "client"
			break
		}
	}
	return name + "-" + hex.EncodeToString(b[:])
}

// WithClientID sets the clientId, 1 to 128 bytes, unique among the live connections of the relay. The
// default is the program's name with a random suffix.
func WithClientID(id string) Option { return func(o *options) { o.clientID = id } }

// WithClientInfo tells the relay's operator what program this is. The default name is that of the
// executable.
func WithClientInfo(name, version string) Option {
	return func(o *options) { o.name, o.version = name, version }
}

// WithToken authenticates with a bearer token, before the handshake, on every connection.
func WithToken(token string) Option { return func(o *options) { o.token = token } }

// WithResource names the protected resource that WithToken's token is for. Without it the client asks
// the relay.
func WithResource(resource string) Option { return func(o *options) { o.resource = resource } }

// WithProtocolVersions sets the AHP versions to offer, the default being 1.0.0.
func WithProtocolVersions(versions ...string) Option {
	return func(o *options) { o.versions = versions }
}

// WithTLSConfig sets the roots, the client certificate and whatever else tls:// and wss:// need beyond
// the system's defaults.
func WithTLSConfig(config *tls.Config) Option { return func(o *options) { o.tls = config } }

// WithLogger makes the client log to l; by default it is silent. Payloads, metadata and tokens are
// never logged.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.log = l } }

// WithOnEvent makes the client call f for each connection event, in order, one at a time, on a
// goroutine of its own. Events that f is too slow for are dropped beyond 1024.
func WithOnEvent(f func(Event)) Option { return func(o *options) { o.onEvent = f } }

// WithReconnect sets how the client connects again; the zero policy is the default.
func WithReconnect(p ReconnectPolicy) Option { return func(o *options) { o.reconnect = p } }

// WithoutReconnect makes a lost connection the end of the client.
func WithoutReconnect() Option { return func(o *options) { o.reconnect.Attempts = -1 } }

// WithConcurrency sets how many request handlers may run at once, 64 by default. Further requests wait,
// up to 8192 of them or 64 MiB; beyond, they are refused. A handler that calls, directly or not, a
// service of its own client needs a free one.
func WithConcurrency(n int) Option { return func(o *options) { o.concurrency = max(n, 1) } }
