// Package loop is the thin shell around the core: listeners, the gnet reactor, the clock.
//
// The reactor's event loop is the only goroutine that touches the core. Everything else hops in with
// Execute: new connections, timers, the wake-ups of connections that take output again, signals.
//
// What is no plain stream of lines, TLS and WebSockets, is an edge: a connection with goroutines of its own
// that meet the loop in two small buffers (see edge).
//
// Ordinary Go listeners feed the loop instead of gnet's own acceptor: that survives running out of
// descriptors, allows Unix sockets beside TCP, and a bind error is an error. Output does not go through
// gnet's unbounded buffer either: the core keeps what waits, and the loop writes to the descriptor.
package loop

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/panjf2000/gnet/v2"

	"github.com/ahprelay/ahprelay/relay"
	"github.com/ahprelay/ahprelay/table"
)

// readBufferBytes is how much one read takes from a socket; there is one such buffer.
const readBufferBytes = 256 << 10

// Config is what a server is told.
type Config struct {
	Listen       []string      // URLs: tcp://host:port, unix:///path, ws://host:port, tls://host:port, wss://host:port
	UnixMode     os.FileMode   // of Unix sockets; 0: 0600
	Certificates *Certificates // of tls:// and wss:// listeners, which need them
	Origins      []string      // of web pages that may open WebSockets, scheme://host[:port], besides pages of the relay's own address
	Coalesce     time.Duration // pause before reading again from a sender that writes message by message; 0: off
	Relay        relay.Config  // ConnectionsMax 0: from RLIMIT_NOFILE
	Logger       *slog.Logger  // nil: slog.Default()
}

// Server is a relay with its listeners.
type Server struct {
	config    Config
	log       *slog.Logger
	reactor   *reactor
	client    *gnet.Client
	listeners []*listener
	accepting sync.WaitGroup
	edges     edges

	certificates atomic.Pointer[Certificates]

	connectionsAsked int // connections_max as configured; config has what the limit of open files allows

	once sync.Once
	done chan struct{} // closed when Serve may return
	err  error
}

// Listen raises the limit of open files and binds every listener; nothing is accepted yet. An error
// names the address that could not be had.
func Listen(config Config) (*Server, error) {
	s := &Server{config: config, log: config.Logger, done: make(chan struct{})}
	if s.log == nil {
		s.log = slog.Default()
	}
	raiseFileLimit()
	for _, url := range config.Listen {
		l, err := listen(url, config.UnixMode)
		if err != nil {
			s.closeListeners()
			return nil, err
		}
		s.listeners = append(s.listeners, l)
	}
	if len(s.listeners) == 0 {
		return nil, errors.New("no listener is configured")
	}
	err := s.UseCertificates(config.Certificates)
	if err == nil {
		err = s.start()
	}
	if err != nil {
		s.closeListeners()
		return nil, err
	}
	return s, nil
}

// start makes the core and runs the reactor.
func (s *Server) start() error {
	var random [table.TagBytes + 8]byte
	var seed [32]byte
	_, _ = rand.Read(random[:]) // never fails
	_, _ = rand.Read(seed[:])
	config := withFileLimit(s.config.Relay)
	core, err := relay.New(config, table.NewBoot(random, uint64(time.Now().UnixMicro())), seed)
	if err != nil {
		return fmt.Errorf("starting the relay: %w", err)
	}
	s.connectionsAsked = s.config.Relay.Limits.ConnectionsMax
	s.config.Relay.Limits.ConnectionsMax = config.Limits.ConnectionsMax
	if s.reactor, err = newReactor(core, s.config.Coalesce, s.log, s.stop); err != nil {
		return fmt.Errorf("starting the relay: %w", err)
	}
	s.reactor.stall = config.Limits.StallTimeout
	s.client, err = gnet.NewClient(s.reactor, gnet.WithReadBufferCap(readBufferBytes), gnet.WithNumEventLoop(1), gnet.WithLogger(quiet{s.log}))
	if err != nil {
		return fmt.Errorf("starting the event loop: %w", err)
	}
	if err := s.client.Start(); err != nil {
		return fmt.Errorf("starting the event loop: %w", err)
	}
	anchor, far, err := newAnchor()
	if err != nil {
		return fmt.Errorf("starting the event loop: %w", err)
	}
	s.reactor.far = far
	if _, err := s.client.EnrollContext(anchor, s.reactor); err != nil {
		return fmt.Errorf("starting the event loop: %w", err)
	}
	return nil
}

// Addrs returns the addresses of the listeners, in the order of the configuration.
func (s *Server) Addrs() []net.Addr {
	addrs := make([]net.Addr, len(s.listeners))
	for i, l := range s.listeners {
		addrs[i] = l.Addr()
	}
	return addrs
}

// Serve accepts connections until the server is drained or stopped, which return nil. Each listener is
// logged once it accepts.
func (s *Server) Serve() error {
	select {
	case <-s.done: // stopped before it began
		for _, l := range s.listeners {
			_ = l.spare.Close()
		}
	default:
		for _, l := range s.listeners {
			s.accepting.Go(func() { s.accept(l) })
			s.log.Info("listening", "url", l.URL())
		}
	}
	<-s.done
	s.closeListeners()
	s.accepting.Wait()
	s.reactor.halt()
	if err := s.client.Stop(); err != nil && s.err == nil {
		s.err = fmt.Errorf("stopping the event loop: %w", err)
	}
	s.edges.end()
	s.reactor.release()
	return s.err
}

// stop lets Serve return; the first error counts.
func (s *Server) stop(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.done)
	})
}

// Stop ends the server at once; Serve returns nil.
func (s *Server) Stop() { s.stop(nil) }

// Drain begins the shutdown of the wire contract: no further connections, requests in flight may finish.
// Serve returns when it is over.
func (s *Server) Drain() {
	s.closeListeners()
	s.reactor.execute(func() { s.reactor.drain() })
}

// Reload puts another configuration in force, whole or not at all. Limits that size tables keep their
// value when next names none.
func (s *Server) Reload(next relay.Config) error {
	if next.Limits.ConnectionsMax == 0 || next.Limits.ConnectionsMax == s.connectionsAsked {
		next.Limits.ConnectionsMax = s.config.Relay.Limits.ConnectionsMax
	}
	next.SurplusMax = withFileLimit(s.config.Relay).SurplusMax
	result := make(chan error, 1)
	if err := s.reactor.execute(func() { result <- s.reactor.reload(next) }); err != nil {
		return err
	}
	select {
	case err := <-result:
		return err
	case <-s.done:
		return net.ErrClosed
	}
}

// Inspect runs f on the event loop, where it may read the core, and waits for it. f must be quick.
func (s *Server) Inspect(ctx context.Context, f func(core *relay.Core, now time.Duration)) error {
	finished := make(chan struct{})
	if err := s.reactor.execute(func() {
		f(s.reactor.core, s.reactor.enter())
		close(finished)
	}); err != nil {
		return err
	}
	select {
	case <-finished:
		return nil
	case <-s.done:
		return net.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) closeListeners() {
	for _, l := range s.listeners {
		_ = l.Close() // closing twice is harmless
	}
}
