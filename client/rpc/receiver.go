package rpc

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/ahprelay/ahprelay/client"
	"github.com/goccy/go-json"
)

// receiver is the caller's end of a subscription: it puts the events in order, counts them, and tells the
// host how far the application has come.
type receiver struct {
	s    *session
	id   string
	wake chan struct{} // cap 1: something has changed
	stop func() bool   // undoes the watch over the subscription's context

	mu       sync.Mutex
	queue    []arrival
	received uint64 // sequence of the newest event that arrived
	taken    uint64 // of the newest that the application took
	acked    uint64 // of the newest that was acknowledged
	err      error  // why no more arrive
	discard  bool   // those that wait are not delivered either
}

// arrival is an event as it came.
type arrival struct {
	sequence, dropped uint64
	value, carrier    json.RawMessage
}

// newReceiver makes the receiver of a subscription that the host has made. It ends with ctx.
func newReceiver(ctx context.Context, s *session, id string) (*receiver, error) {
	r := &receiver{s: s, id: id, wake: make(chan struct{}, 1)}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return nil, s.alive()
	}
	s.receivers[id] = r
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { r.leave(ctx.Err()) })
	r.mu.Lock()
	r.stop = stop
	over := r.err != nil
	r.mu.Unlock()
	if over {
		stop()
	}
	return r, nil
}

// receive takes an event from the host. An event that is not the next one means that others were lost;
// more than the window means that the host does not keep to it. Either ends the subscription.
func (r *receiver) receive(a arrival) {
	r.mu.Lock()
	switch {
	case r.err != nil:
		r.mu.Unlock()
	case a.sequence != r.received+1:
		want := r.received + 1
		r.mu.Unlock()
		r.quit(gap(want, a.sequence), false)
	case len(r.queue) >= r.s.conn.opt.window:
		r.mu.Unlock()
		r.quit(&Error{Reason: reasonOverflow, Message: "the host sent more than the window"}, false)
	default:
		r.received = a.sequence
		r.queue = append(r.queue, a)
		r.mu.Unlock()
		r.signal()
	}
}

func gap(want, got uint64) error {
	return &Error{Reason: reasonGap, Message: fmt.Sprintf("events were lost: want sequence %d, got %d", want, got)}
}

// sync answers the host's question how far the application has come. sent is the newest event that the
// host sent, before its question, so it must have arrived.
func (r *receiver) sync(sent uint64) (acknowledged uint64, err error) {
	r.mu.Lock()
	received := r.received
	acknowledged, r.acked = r.taken, r.taken
	r.mu.Unlock()
	if received < sent {
		r.quit(gap(received+1, sent), false)
		return 0, outward(ErrGap)
	}
	return acknowledged, nil
}

// next takes the oldest event that waits, or waits for one.
func (r *receiver) next(ctx context.Context) (arrival, error) {
	for {
		r.mu.Lock()
		if len(r.queue) > 0 && !r.discard {
			a := r.queue[0]
			r.queue = r.queue[1:]
			r.taken = a.sequence
			ack := r.err == nil && (len(r.queue) == 0 || r.taken-r.acked > uint64(r.s.conn.opt.window/2))
			if ack {
				r.acked = r.taken
			}
			more := len(r.queue) > 0
			r.mu.Unlock()
			if ack {
				r.acknowledge(a.sequence)
			}
			if more {
				r.signal() // for whoever else waits
			}
			return a, nil
		}
		err := r.err
		r.mu.Unlock()
		if err != nil {
			r.signal()
			return arrival{}, err
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return arrival{}, ctx.Err()
		}
	}
}

// acknowledge tells the host that everything up to sequence was taken. If that is lost, a later one tells
// the same, or the host asks.
func (r *receiver) acknowledge(sequence uint64) {
	params := append([]byte(`{"subscriptionId":`), appendText(nil, r.id)...)
	params = append(appendNumber(append(params, `,"sequence":`...), sequence), '}')
	r.s.conn.client.Notify(r.s.conn.host.ID, methodAck, json.RawMessage(params))
}

// leave ends the subscription for a reason of this end and undoes it at the host.
func (r *receiver) leave(cause error) { r.quit(cause, true) }

// quit is leave; discard tells whether events that wait are lost.
func (r *receiver) quit(cause error, discard bool) {
	if !r.close(cause, discard) {
		return
	}
	r.s.goes(func() { r.s.unsubscribe(unsubscribeParams{SubscriptionID: r.id}) })
}

// ended ends the subscription because the host has ended it.
func (r *receiver) ended(cause error) { r.close(cause, false) }

// end ends the subscription because the session has ended.
func (r *receiver) end(cause error) { r.close(cause, errors.Is(cause, client.ErrClosed)) }

// close notes the end and leaves the session; false if the subscription had ended before.
func (r *receiver) close(cause error, discard bool) bool {
	r.mu.Lock()
	if r.err != nil {
		r.discard = r.discard || discard
		r.mu.Unlock()
		return false
	}
	r.err, r.discard = cause, discard
	stop := r.stop
	r.mu.Unlock()
	if stop != nil {
		stop()
	}
	r.s.mu.Lock()
	delete(r.s.receivers, r.id)
	r.s.mu.Unlock()
	r.signal()
	return true
}

// over returns why the subscription ended, once no event waits any more.
func (r *receiver) over() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) > 0 && !r.discard {
		return nil
	}
	return r.err
}

func (r *receiver) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func appendNumber(dst []byte, n uint64) []byte { return strconv.AppendUint(dst, n, 10) }
