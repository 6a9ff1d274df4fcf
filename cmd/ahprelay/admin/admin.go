// Package admin is the relay's side door for its operator: an HTTP server on a loopback address or a Unix
// socket with health, metrics, profiles, the state as JSON, a live view of what is routed, and the status
// page; and the client of it that "top" and "tap" use.
//
// The core belongs to the event loop. Everything here hops onto the loop to read it, page by page, and
// keeps what it read for a moment, so that however often somebody asks, the loop is asked four times a
// second at the most; when nobody asks it is not asked at all. What was read is copied, or never changes
// (the encoded object of a service), and belongs to this package from then on. What a tap copies is
// written by the loop into a bounded buffer and read by the request that streams it.
package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/ahprelay/ahprelay/cmd/ahprelay/config"
	"github.com/ahprelay/ahprelay/loop"
	"github.com/ahprelay/ahprelay/relay"
)

// Loop is the event loop as this package needs it; *loop.Server is one.
type Loop interface {
	// Inspect runs f on the loop and waits for it.
	Inspect(ctx context.Context, f func(core *relay.Core, now time.Duration)) error
	// Turns may be called inside of Inspect only.
	Turns() loop.Turns
}

// Config is what a server is told.
type Config struct {
	Addr        string // host:port or unix:///path, as config.ParseAdmin reads it
	TokenSHA256 string // 64 hex digits; "": a token is made and written to a file
	Getenv      func(string) string
	Version     string
	Commit      string
	Logger      *slog.Logger
}

// Server is the admin server of one relay.
type Server struct {
	config   Config
	log      *slog.Logger
	listener net.Listener
	unix     bool // the socket's mode keeps others out
	token    *token
	source   *source
	taps     *taps
	http     *http.Server
	done     chan struct{} // closed when Serve has returned

	ready, draining atomic.Bool
	reloadsFailed   atomic.Uint64
}

// Listen binds the admin address and prepares the token; nothing is served yet. An error names the
// address that could not be had.
func Listen(c Config, l Loop) (*Server, error) {
	s := &Server{config: c, log: c.Logger, done: make(chan struct{})}
	a, err := config.ParseAdmin(c.Addr)
	if err != nil {
		return nil, fmt.Errorf("admin: %q %w", c.Addr, err)
	}
	s.unix = a.Scheme == "unix"
	if s.unix {
		s.listener, err = loop.ListenUnix(a.Path, 0o600)
	} else {
		s.listener, err = net.Listen("tcp", c.Addr)
	}
	if err != nil {
		return nil, fmt.Errorf("listen %s: %w", c.Addr, err)
	}
	s.listener = &capped{Listener: s.listener}
	if !s.unix {
		s.token = newToken(c.TokenSHA256, s.listener.Addr().String(), c.Getenv)
	}
	s.source = newSource(l)
	s.taps = newTaps(l)
	s.http = &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// URL is where a browser finds the server; for a Unix socket it is unix:///path.
func (s *Server) URL() string {
	if s.unix {
		return "unix://" + s.listener.Addr().String()
	}
	return "http://" + s.listener.Addr().String() + "/"
}

// Serve answers until Close.
func (s *Server) Serve() {
	defer close(s.done)
	attrs := []any{"url", s.URL()}
	if s.token != nil && s.token.file != "" {
		attrs = append(attrs, "token_file", s.token.file)
	}
	if s.token != nil && s.token.err != nil {
		s.log.Warn("the admin token could not be written; only /livez, /readyz and /metrics are open: set admin_token_sha256 or use a Unix socket", "error", s.token.err.Error())
	}
	s.log.Info("admin listening", attrs...)
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		s.log.Error("the admin server has ended", "error", err)
	}
}

// Close ends the server and everything that it streams, and removes the token file. Serve need not have
// been called.
func (s *Server) Close() {
	s.taps.close()
	_ = s.http.Close()
	s.source.close()
	_ = s.listener.Close() // closing twice is harmless
	if s.token != nil {
		s.token.remove()
	}
}

// Wait returns when Serve has.
func (s *Server) Wait() { <-s.done }

// Ready says that the relay accepts connections.
func (s *Server) Ready() { s.ready.Store(true) }

// Draining says that the relay takes no further connections.
func (s *Server) Draining() { s.draining.Store(true) }

// ReloadFailed counts a reload that changed nothing.
func (s *Server) ReloadFailed() { s.reloadsFailed.Add(1) }

// connectionsMax bounds the connections to the admin server: they come out of the same descriptors as
// the relay's.
const connectionsMax = 64

// capped is a listener that closes what comes beyond connectionsMax.
type capped struct {
	net.Listener
	open atomic.Int32
}

func (l *capped) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= connectionsMax {
			return &counted{Conn: c, open: &l.open}, nil
		}
		l.open.Add(-1)
		_ = c.Close()
	}
}

type counted struct {
	net.Conn
	open   *atomic.Int32
	closed atomic.Bool
}

func (c *counted) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}
