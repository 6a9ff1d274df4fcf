// Package client is the Go SDK of ahprelay: programs connect to a relay, register services, discover
// the services of others, notify them and send them requests.
//
// A Client is one logical connection. It owns two goroutines for each transport (reader and writer),
// one that supervises them, one that reports events while there are any, and at most
// WithConcurrency handlers plus one notification handler for each service; Close ends all of them.
// After a lost connection it connects again by itself, registers its services again (under new ids,
// which it reports) and resumes the catalogue; it never repeats a request or a notification.
//
// Every slice handed to the application (Request.Params, Notification.Params, results, metadata,
// Error.Data) is the application's own: nothing aliases a network buffer.
//
// All methods are safe for concurrent use.
package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
)

// Client is a connection to a relay. Dial makes one.
type Client struct {
	opt options
	url *url.URL

	link atomic.Pointer[link] // the newest connection, dead or alive; never nil once Dial returned
	pool pool                 // runs the handlers
	cat  mirror               // the catalogue, while somebody watches
	ev   events

	mu       sync.Mutex
	services []*Service    // registered, in order of registration
	changed  chan struct{} // closed and replaced whenever link is replaced
	closing  bool          // Close has begun: nothing new is accepted
	token    string        // the newest, "" for none
	resource string        // of the last successful authenticate

	stop   context.Context // ends when the client gives up or is closed
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup // links and handlers
	closed chan struct{}  // closed when nothing will connect any more
	quiet  chan struct{}  // closed when every goroutine has ended too

	failures int // consecutive attempts to connect again; the supervisor's
}

// Dial connects to the relay at rawURL (tcp://host:port, unix:///path, tls://host:port, ws://host:port
// or wss://host:port), authenticates if told to, and
// performs the handshake. ctx bounds the dialing only. A server that does not know client services
// yields ErrNotSupported.
func Dial(ctx context.Context, rawURL string, opts ...Option) (*Client, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("client: relay address: %w", err)
	}
	c := &Client{url: u, opt: defaults(), changed: make(chan struct{}), closed: make(chan struct{}), quiet: make(chan struct{})}
	for _, o := range opts {
		o(&c.opt)
	}
	c.token = c.opt.token
	c.stop, c.cancel = context.WithCancelCause(context.Background())
	c.pool.init(c.opt.concurrency, &c.wg)
	c.cat.init(c)
	c.ev.init(c)
	l, err := c.connect(ctx, nil)
	if err != nil {
		c.cancel(err)
		c.wg.Wait()
		return nil, err
	}
	go c.supervise(l)
	return c, nil
}

// ClientID returns the id under which the relay knows this client.
func (c *Client) ClientID() string { return c.opt.clientID }

// Limits returns what the relay said of its bounds in the newest handshake.
func (c *Client) Limits() Limits { return c.link.Load().hello.limits }

// ServerInfo returns what the relay said of itself in the newest handshake.
func (c *Client) ServerInfo() ServerInfo { return c.link.Load().hello.server }

// Closed returns a channel that is closed when the client has ended for good: after Close, or after a
// lost connection that it will not restore. Err then says why.
func (c *Client) Closed() <-chan struct{} { return c.closed }

// Err returns nil until the channel of Closed is closed, then ErrClosed after Close, or the error that
// ended the client.
func (c *Client) Err() error {
	select {
	case <-c.closed:
		return context.Cause(c.stop)
	default:
		return nil
	}
}

// Close ends the client gracefully: new incoming requests are refused, running handlers finish and
// their answers are sent, services are unregistered, everything notified reaches the relay, then the
// connection is closed. When ctx ends first the rest is cut short, the handlers' contexts are cancelled,
// and Close returns ctx.Err() without waiting for handlers that ignore them. Closing
// again waits for the first Close, and cuts it short when its own ctx ends.
// A handler must not call Close, which would wait for it; a WithOnEvent function may.
//
// Handlers finish before their services are unregistered, because the relay drops the answers of a
// service that is gone.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	first := !c.closing
	c.closing = true
	c.mu.Unlock()
	var err error
	if first {
		err = c.drain(ctx)
	} else {
		select {
		case <-c.quiet:
			return nil
		case <-ctx.Done(): // this one has no more patience
		}
	}
	c.cancel(ErrClosed)
	c.link.Load().fail(ErrClosed)
	select {
	case <-c.quiet:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drain lets handlers finish, unregisters the services and flushes. A connection that is lost
// meanwhile has nothing left to drain.
func (c *Client) drain(ctx context.Context) error {
	idle := c.pool.close()
	select {
	case <-idle:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.stop.Done():
		return nil
	}
	for _, s := range c.registered() {
		if err := s.Unregister(ctx); err != nil {
			return ignoreDisconnect(err)
		}
	}
	return ignoreDisconnect(c.Flush(ctx))
}

func ignoreDisconnect(err error) error {
	if errors.Is(err, ErrDisconnected) || errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

// Flush waits until the relay has processed everything that was sent before: a ping there and back.
func (c *Client) Flush(ctx context.Context) error {
	_, err := c.link.Load().request(ctx, "ping", rootParams{Channel: rootChannel}, nil)
	if err != nil {
		return fmt.Errorf("client: flush: %w", err)
	}
	return nil
}

// setLink makes l the connection that calls use from now on. It runs on l's reader.
func (c *Client) setLink(l *link) {
	c.mu.Lock()
	c.link.Store(l)
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
}

// registered returns a copy of the list of services.
func (c *Client) registered() []*Service {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*Service(nil), c.services...)
}

// isClosing reports whether Close has begun.
func (c *Client) isClosing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing
}
