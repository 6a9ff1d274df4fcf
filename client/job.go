package client

import (
	"context"
	"sync"
	"time"

	"github.com/ahprelay/ahprelay/codec"
)

// job is an incoming request: waiting, or being handled.
type job struct {
	l        *link
	s        *Service
	id       uint64 // the relay's
	req      Request
	deadline time.Time // zero: none
	size     int       // bytes charged while it waits

	cancelled error // guarded by jobs.mu: the cause, once cancelled
	cancel    context.CancelCauseFunc
	release   context.CancelFunc
}

// jobs holds the incoming requests of one link by the relay's id.
type jobs struct {
	mu   sync.Mutex
	byID map[uint64]*job
}

func (js *jobs) init() { js.byID = map[uint64]*job{} }

// add enters j; false if the relay used its id twice.
func (js *jobs) add(j *job) bool {
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.byID[j.id] != nil {
		return false
	}
	js.byID[j.id] = j
	return true
}

// cancel ends the context of the request with this id, or keeps it from being started.
func (js *jobs) cancel(id uint64, cause error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	if j := js.byID[id]; j != nil && j.cancelled == nil {
		j.cancelled = cause
		if j.cancel != nil {
			j.cancel(cause)
		}
	}
}

// remove forgets j and frees its context.
func (js *jobs) remove(j *job) {
	js.mu.Lock()
	delete(js.byID, j.id)
	js.mu.Unlock()
	if j.release != nil {
		j.release()
	}
	if j.cancel != nil {
		j.cancel(nil)
	}
}

// begin makes the handler's context; false if there is nothing to do any more.
func (j *job) begin() (context.Context, bool) {
	js := &j.l.running
	js.mu.Lock()
	defer js.mu.Unlock()
	if j.cancelled != nil || j.l.base.Err() != nil {
		return nil, false
	}
	var ctx context.Context
	ctx, j.cancel = context.WithCancelCause(j.l.base)
	if !j.deadline.IsZero() {
		ctx, j.release = context.WithDeadline(ctx, j.deadline)
	}
	return ctx, true
}

// receiveRequest takes a request of the relay's: in practice a clientService/handleRequest.
func (l *link) receiveRequest(m *codec.Message, line []byte) error {
	id, ok := codec.Integer(m.ID.Of(line))
	if m.IDKind != codec.IDNumber || !ok || id < 1 {
		return protocolError("a request whose id is no positive integer")
	}
	if !codec.EqualString(m.MethodText.Of(line), "clientService/handleRequest") {
		l.refuse(m.ID.Of(line), codec.CodeMethodNotFound, "")
		return nil
	}
	s := l.services[string(unquoted(m.ServiceID.Of(line)))]
	if s == nil {
		l.refuse(m.ID.Of(line), codec.CodeNotFound, "")
		return nil
	}
	if s.handler == nil {
		l.refuse(m.ID.Of(line), codec.CodeMethodNotFound, "")
		return nil
	}
	j := &job{l: l, s: s, id: uint64(id), size: len(line)}
	j.req = Request{Service: s, Method: l.text(m.Name.Of(line)), Params: l.payload(m, line)}
	j.req.Sender, j.req.SenderPrincipal = l.senders(m, line)
	if ms, ok := codec.Integer(m.TimeoutMs.Of(line)); ok && ms > 0 {
		j.deadline = time.Now().Add(millis(ms))
	}
	if !l.running.add(j) {
		return protocolError("a request id that is already in use")
	}
	if !s.enqueue(j) {
		l.running.remove(j)
		l.refuse(m.ID.Of(line), CodeServiceError, "the service's client is too busy, or closing")
	}
	return nil
}

// refuse answers a request that no handler has seen.
func (l *link) refuse(id []byte, code codec.Code, message string) {
	if message == "" {
		message = code.Text()
	}
	l.out.force(codec.AppendError(nil, id, code, message, []byte(`{"delivered":"never"}`)))
}
