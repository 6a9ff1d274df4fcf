package client

import (
	"context"
	"fmt"
	"time"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
)

// Call sends a request to a service and decodes its answer into result, a pointer, or nil to ignore
// it. params and *result may be json.RawMessage, which passes through unchanged.
//
// ctx's deadline becomes the request's timeout at the relay (which caps it, and has a default of its own
// when there is none: see Limits). When ctx ends, the request is cancelled at the service and Call
// returns ctx.Err(). An error answer is an *Error; a lost connection is ErrDisconnected and nothing is
// sent again: Delivered tells whether the service can have seen the request.
func (c *Client) Call(ctx context.Context, serviceID, method string, params any, result any) error {
	raw, err := encodeJSON(params)
	if err != nil {
		return err
	}
	answer, err := c.link.Load().call(ctx, serviceID, method, raw)
	if err != nil || result == nil {
		return err
	}
	if r, ok := result.(*json.RawMessage); ok {
		*r = answer
		return nil
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return fmt.Errorf("client: decoding the result of %s: %w", method, err)
	}
	return nil
}

// Call is Client.Call with the result as a value.
func Call[T any](ctx context.Context, c *Client, serviceID, method string, params any) (T, error) {
	var result T
	err := c.Call(ctx, serviceID, method, params, &result)
	return result, err
}

func (l *link) call(ctx context.Context, serviceID, method string, params []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	size := len(serviceID) + len(method) + len(params) + envelopeSlop
	p := &pendingCall{done: make(chan struct{})}
	id, err := l.enter(p)
	if err != nil {
		return nil, l.c.because(err)
	}
	if err := l.out.lock(ctx, size); err != nil {
		l.leave(id)
		return nil, l.c.because(err)
	}
	at := len(l.out.buf)
	l.out.buf = appendCall(l.out.buf, id, serviceID, method, params, timeoutMs(ctx))
	err = l.trim(at)
	l.out.unlock()
	if err != nil {
		l.leave(id)
		return nil, err
	}
	select {
	case <-p.done:
		return p.result, l.c.because(p.err)
	case <-ctx.Done():
	}
	if l.leave(id) == nil {
		<-p.done // the answer is being delivered right now
		return p.result, l.c.because(p.err)
	}
	l.out.force(appendCancel(nil, id))
	return nil, ctx.Err()
}

// timeoutMs returns the time left until ctx's deadline in milliseconds, rounded up; 0 if there is none.
func timeoutMs(ctx context.Context) int64 {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(1, int64((time.Until(deadline)+time.Millisecond-1)/time.Millisecond))
}

// trim takes the last message, which begins at out.buf[at:], back out if the relay would close the
// connection for its length. The caller holds l.out.
func (l *link) trim(at int) error {
	bound := l.hello.limits.FrameBytes
	n := len(l.out.buf) - at - 1 // the LF does not count
	if bound <= 0 || n <= bound {
		return nil
	}
	l.out.buf = l.out.buf[:at]
	return &Error{
		Code:    codec.CodeLimit,
		Message: fmt.Sprintf("a message of %d bytes exceeds the relay's frameBytes %d", n, bound),
		Data:    json.RawMessage(`{"delivered":"never","limit":"frameBytes"}`),
	}
}

// because turns the loss of the connection into ErrClosed when it was Close that ended it.
func (c *Client) because(err error) error {
	if d, ok := err.(*DisconnectedError); ok && d.Cause == ErrClosed {
		return ErrClosed
	}
	return err
}
