package rpc

import (
	"context"
	"time"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
)

// Conn calls the objects of one host through a client. Use one Conn for each host and client: a host keeps
// one session for each clientId. Events come in through the client's handlers, so a client that offers
// services too must not let its handlers wait for events with all of them (client.WithConcurrency).
//
// A Conn belongs to the service that it was made for. When the host registers again it has a new id,
// and a new Conn is needed. When the caller's own connection is lost, references and subscriptions end
// with it; the root and what is selected can be used again after the client has reconnected.
type Conn struct {
	client *client.Client
	host   client.ServiceInfo
	opt    options

	opening chan struct{} // cap 1, held while the session changes
	current *session      // guarded by opening
	closed  bool          // guarded by opening
}

// NewConn makes a Conn to the host that was found as service host. It sends nothing.
func NewConn(c *client.Client, host client.ServiceInfo, opts ...Option) *Conn {
	return &Conn{client: c, host: host, opt: newOptions(opts), opening: make(chan struct{}, 1)}
}

// Close ends the session: subscriptions end, and the host forgets what it granted. Calls in flight are not
// affected. Close waits for the goroutines of the Conn, or for ctx.
func (c *Conn) Close(ctx context.Context) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	c.closed = true
	s := c.current
	<-c.opening
	if s == nil {
		return nil
	}
	s.end(client.ErrClosed)
	select {
	case <-s.quiet:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Conn) acquire(ctx context.Context) error {
	select {
	case c.opening <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// request sends a request to the host and returns its raw result. Without a nearer deadline it gets the
// longest time that the relay grants.
func (c *Conn) request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if longest := c.client.Limits().RequestTimeoutMaxMs; longest > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(longest)*time.Millisecond)
		defer cancel()
	}
	result, err := client.Call[json.RawMessage](ctx, c.client, c.host.ID, method, params)
	if err != nil {
		return nil, inward(err)
	}
	if len(result) == 0 {
		return json.RawMessage("null"), nil
	}
	return result, nil
}

// depth is how deep values may nest, so that the relay takes the frame around them.
func (c *Conn) depth() int { return depthFor(c.client) }

func depthFor(c *client.Client) int {
	if d := c.Limits().Depth; d > depthEnvelope {
		return d - depthEnvelope
	}
	return depthDefault - depthEnvelope
}

func appendText(dst []byte, s string) []byte { return codec.AppendQuoted(dst, s) }
