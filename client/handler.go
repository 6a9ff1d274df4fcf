package client

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
)

// Handler answers a request to a service. Its result is encoded as JSON (nil as null, json.RawMessage
// unchanged). Of an error that is or wraps an *Error the code, message and data are sent, except that
// the codes which only the relay may use become CodeServiceError; any other error is sent as
// CodeServiceError with its text. A panic is contained, logged, and answered with ErrInternal.
//
// ctx ends when the caller cancels or leaves, when the request's time is over, when the service is
// unregistered, and when the connection is lost; context.Cause tells which.
type Handler func(ctx context.Context, r *Request) (any, error)

// Request is a request to a service.
type Request struct {
	Service         *Service
	Method          string
	Params          json.RawMessage // null if the caller sent none
	Sender          string          // clientId of the caller, vouched for by the relay
	SenderPrincipal string          // its principal, "" for an unauthenticated caller
}

// Notification is a notification to a service.
type Notification struct {
	Service         *Service
	Method          string
	Params          json.RawMessage // null if the sender sent none
	Sender          string          // clientId of the sender, vouched for by the relay
	SenderPrincipal string          // its principal, "" for an unauthenticated sender
}

// Decode decodes the params into v, a pointer. The error is an ErrInvalidParams, for handlers to return.
func (r *Request) Decode(v any) error { return decodeParams(r.Params, v) }

// Decode decodes the params into v, a pointer.
func (n *Notification) Decode(v any) error { return decodeParams(n.Params, v) }

func decodeParams(params json.RawMessage, v any) error {
	if err := json.Unmarshal(params, v); err != nil {
		return &Error{Code: codec.CodeInvalidParams, Message: "invalid params: " + err.Error()}
	}
	return nil
}

// handle runs the handler for j and sends its answer. A cancelled request is answered too: until then
// the relay counts it as work in progress.
func (j *job) handle() {
	var result []byte
	var failure []byte // a whole error answer
	if ctx, ok := j.begin(); ok {
		result, failure = j.produce(ctx)
	} else {
		failure = j.failure(&Error{Code: codec.CodeCancelled})
	}
	j.l.running.remove(j)
	j.send(result, failure)
}

// produce calls the application: the handler, and what its result and error bring along.
func (j *job) produce(ctx context.Context) (result, failure []byte) {
	log := j.l.c.opt.log
	defer func() {
		if p := recover(); p != nil {
			log.Error("a handler panicked", "method", j.req.Method, "panic", p, "stack", string(debug.Stack()))
			failure = j.failure(&Error{Code: codec.CodeInternal, Message: "the service's handler panicked"})
		}
	}()
	value, err := j.s.handler(ctx, &j.req)
	if err != nil {
		return nil, j.failure(err)
	}
	if result, err = encodeJSON(value); err != nil {
		log.Error("a handler's result cannot be sent", "method", j.req.Method, "error", err)
		return nil, j.failure(&Error{Code: codec.CodeInternal, Message: "the service's result is no JSON value"})
	}
	return result, nil
}

// failure returns the error answer that err amounts to, cut down to what fits a frame.
func (j *job) failure(err error) []byte {
	code, message, data := CodeServiceError, err.Error(), json.RawMessage(nil)
	var e *Error
	if errors.As(err, &e) {
		if !e.Code.RelayOnly() {
			code = e.Code
		}
		if message = e.Message; message == "" {
			message = e.Code.Text()
		}
		if raw, err := rawJSON(e.Data); err == nil {
			data = raw
		}
	}
	bound := j.l.hello.limits.FrameBytes
	if bound > 0 && 6*len(message)+len(data)+envelopeSlop > bound {
		message, data = message[:min(len(message), max(0, bound-envelopeSlop)/12)], nil
	}
	return codec.AppendError(nil, strconv.AppendUint(nil, j.id, 10), code, message, data)
}

// send sends the answer: failure if there is one, else result.
func (j *job) send(result, failure []byte) {
	out := &j.l.out
	if out.lock(context.Background(), len(result)+len(failure)+envelopeSlop) != nil {
		return // nobody to answer any more
	}
	defer out.unlock()
	if failure == nil {
		at := len(out.buf)
		out.buf = codec.AppendResult(out.buf, strconv.AppendUint(nil, j.id, 10), result)
		if j.l.trim(at) == nil {
			return
		}
		failure = j.failure(&Error{
			Code:    codec.CodeInternal,
			Message: fmt.Sprintf("the service's result of %d bytes exceeds the relay's frameBytes", len(result)),
		})
	}
	out.buf = append(out.buf, failure...)
}
