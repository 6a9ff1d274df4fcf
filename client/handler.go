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

// handle runs the handler for j and sends its answer.
func (j *job) handle() {
	ctx, ok := j.begin()
	if !ok {
		j.finish(nil, &Error{Code: codec.CodeCancelled, Message: codec.CodeCancelled.Text()})
		return
	}
	result, err := j.invoke(ctx)
	var raw []byte
	if err == nil {
		if raw, err = encodeJSON(result); err != nil {
			j.l.c.opt.log.Error("a handler's result cannot be sent", "method", j.req.Method, "error", err)
			err = &Error{Code: codec.CodeInternal, Message: "the service's result is no JSON value"}
		}
	}
	j.finish(raw, err)
}

func (j *job) invoke(ctx context.Context) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			j.l.c.opt.log.Error("a handler panicked", "method", j.req.Method, "panic", p, "stack", string(debug.Stack()))
			err = &Error{Code: codec.CodeInternal, Message: "the service's handler panicked"}
		}
	}()
	return j.s.handler(ctx, &j.req)
}

// finish sends the answer. A cancelled request is answered too: until then the relay counts it as work
// in progress.
func (j *job) finish(result []byte, err error) {
	j.l.running.remove(j)
	id := strconv.AppendUint(nil, j.id, 10)
	if err == nil {
		if bound := j.l.hello.limits.FrameBytes; bound > 0 && len(result)+envelopeSlop > bound {
			err = &Error{Code: codec.CodeInternal, Message: fmt.Sprintf("the service's result of %d bytes exceeds the relay's frameBytes %d", len(result), bound)}
		}
	}
	if err != nil {
		msg := appendAnswerError(nil, id, err, j.l.hello.limits.FrameBytes)
		if j.l.out.lock(context.Background(), len(msg)) == nil {
			j.l.out.buf = append(j.l.out.buf, msg...)
			j.l.out.unlock()
		}
		return
	}
	if j.l.out.lock(context.Background(), len(result)+envelopeSlop) == nil {
		j.l.out.buf = codec.AppendResult(j.l.out.buf, id, result)
		j.l.out.unlock()
	}
}

// appendAnswerError appends the error answer that err amounts to, cut down to what fits a frame.
func appendAnswerError(dst, id []byte, err error, frameBytes int) []byte {
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
	if frameBytes > 0 && 6*len(message)+len(data)+envelopeSlop > frameBytes {
		message, data = message[:min(len(message), (frameBytes-envelopeSlop)/12)], nil
	}
	return codec.AppendError(dst, id, code, message, data)
}
