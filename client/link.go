package client

import (
	"context"
	"sync"

	"github.com/ahprelay/ahprelay/codec"
)

// link is one connection: a transport, its reader and its writer, and what is in flight on it. Only the
// reader touches services; what the relay says therefore takes effect in the order in which it said it.
type link struct {
	c     *Client
	tr    transport
	out   outbox
	hello hello // set by the handshake, before anybody else sees the link

	base   context.Context // parent of the handlers' contexts; ends with the link
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	lastID  uint64
	pending map[uint64]*pendingCall
	err     error    // why the link ended
	closing *Closing // what the relay announced
	limit   int      // of an incoming frame, in bytes

	services map[string]*Service // by current id
	texts    map[string]string   // decoded strings, by their raw form
	slab     []Notification      // to be handed out next
	chunk    []byte              // for small params
	running  jobs                // incoming requests, by the relay's id
	done     chan struct{}       // closed when the reader has ended
}

// pendingCall is a request that has no answer yet. Exactly one goroutine takes it out of the link's map
// and completes it.
type pendingCall struct {
	done   chan struct{}
	result []byte
	err    error
	sink   func(result []byte) error // runs on the reader, before anything that the relay sent later
	late   func(result []byte)       // runs on the reader instead, when the caller has given up
	left   bool                      // the caller has given up, but late wants the result; guarded by link.mu
}

func newLink(c *Client, tr transport, limit int) *link {
	l := &link{
		c: c, tr: tr, limit: limit,
		pending:  map[uint64]*pendingCall{},
		services: map[string]*Service{},
		texts:    map[string]string{},
		done:     make(chan struct{}),
	}
	l.base, l.cancel = context.WithCancelCause(context.Background())
	l.out.init(c.opt.outBytes)
	l.running.init()
	c.wg.Add(2)
	go l.read()
	go l.write()
	return l
}

// read receives until the transport fails or the relay breaks the protocol.
func (l *link) read() {
	defer l.c.wg.Done()
	defer close(l.done)
	for {
		l.mu.Lock()
		limit := l.limit
		l.mu.Unlock()
		line, err := l.tr.Read(limit)
		if err == nil {
			err = l.receive(line)
		}
		if err != nil {
			l.fail(err)
			return
		}
	}
}

// spareMax is the largest output buffer that the writer keeps for reuse.
const spareMax = 4 << 20

// write sends what gathers in the outbox, one write per batch.
func (l *link) write() {
	defer l.c.wg.Done()
	var spare []byte
	for {
		batch, ok := l.out.take(spare)
		if !ok {
			return
		}
		if err := l.tr.Write(batch); err != nil {
			l.fail(err)
			return
		}
		if spare = batch; cap(spare) > spareMax {
			spare = nil
		}
	}
}

// fail ends the link: everything pending fails, handlers are cancelled, nothing more is sent. Only the
// first cause counts.
func (l *link) fail(cause error) {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return
	}
	l.err = cause
	pending := l.pending
	l.pending = nil
	l.mu.Unlock()
	l.out.fail(lost(cause, "never"))
	maybe := lost(cause, "maybe")
	for _, p := range pending {
		p.err = maybe
		close(p.done)
	}
	l.cancel(maybe)
	l.tr.Close()
}

// lost is the error of what was not sent ("never"), or not answered ("maybe"), because of cause.
func lost(cause error, delivered string) error {
	return &DisconnectedError{Cause: cause, delivered: delivered}
}

// cause returns why the link ended, nil while it lives.
func (l *link) cause() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// setLimit changes the bound of incoming frames.
func (l *link) setLimit(n int) {
	l.mu.Lock()
	l.limit = n
	l.mu.Unlock()
}

// enter gives p an id and makes it pending.
func (l *link) enter(p *pendingCall) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, lost(l.err, "never")
	}
	l.lastID++
	l.pending[l.lastID] = p
	return l.lastID, nil
}

// newID returns an id for a request whose answer nobody waits for.
func (l *link) newID() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastID++
	return l.lastID
}

// leave takes the pending call with this id out, nil if somebody else has.
func (l *link) leave(id uint64) *pendingCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pending[id]
	delete(l.pending, id)
	return p
}

// giveUp is leave for a caller whose context ended after sending: false if the answer got there first.
func (l *link) giveUp(id uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pending[id]
	if p == nil {
		return false
	}
	if p.late != nil {
		p.left = true
	} else {
		delete(l.pending, id)
	}
	return true
}

// request performs one of the relay's own methods and returns the raw result. sink, if not nil, sees it
// on the reader first.
func (l *link) request(ctx context.Context, method string, params any, sink func([]byte) error) ([]byte, error) {
	raw, err := encodeJSON(params)
	if err != nil {
		return nil, err
	}
	return l.requestRaw(ctx, method, raw, &pendingCall{sink: sink})
}

// requestRaw is request with the params as JSON.
func (l *link) requestRaw(ctx context.Context, method string, raw []byte, p *pendingCall) ([]byte, error) {
	p.done = make(chan struct{})
	id, err := l.enter(p)
	if err != nil {
		return nil, err
	}
	size := len(raw) + len(method) + envelopeSlop
	if err := l.out.lock(ctx, size); err != nil {
		l.leave(id)
		return nil, err
	}
	at := len(l.out.buf)
	l.out.buf = appendRequest(l.out.buf, id, method, raw)
	err = l.trim(at)
	l.out.unlock()
	if err != nil {
		l.leave(id)
		return nil, err
	}
	select {
	case <-p.done:
		return p.result, p.err
	case <-ctx.Done():
	}
	if !l.giveUp(id) {
		<-p.done // the answer is being delivered right now
		return p.result, p.err
	}
	return nil, ctx.Err()
}

// answer completes a pending call with the relay's answer.
func (l *link) answer(m *codec.Message, line []byte) error {
	id, ok := codec.Integer(m.ID.Of(line))
	if m.IDKind != codec.IDNumber || !ok || id < 1 {
		if e, err := decodeError(m.Error.Of(line)); err == nil {
			l.c.opt.log.Warn("the relay refused a message", "error", e)
			return nil
		}
		return protocolError("an answer under an id that was never used")
	}
	if m.Error.Absent() == m.Result.Absent() {
		return protocolError("an answer without exactly one of result and error")
	}
	p := l.leave(uint64(id))
	if p == nil {
		return nil // its caller gave up
	}
	defer close(p.done)
	if raw := m.Error.Of(line); raw != nil {
		e, err := decodeError(raw)
		if err != nil {
			p.err = err
			return err
		}
		p.err = e
		return nil
	}
	p.result = append([]byte(nil), m.Result.Of(line)...)
	if p.left {
		p.late(p.result)
		return nil
	}
	if p.sink != nil {
		p.err = p.sink(p.result)
		return p.err
	}
	return nil
}
