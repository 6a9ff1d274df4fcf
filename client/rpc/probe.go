package rpc

import (
	"context"
	"errors"
	"time"

	"github.com/ahprelay/ahprelay/client"
	"github.com/goccy/go-json"
)

// sync asks the subscriber how far it has come, when it has not acknowledged what was sent for a while.
// An event or an acknowledgement may have been lost, since both are notifications, and with a full
// window nothing else would show it. A subscriber that misses something ends the subscription.
func (p *publisher) sync() {
	p.mu.Lock()
	if p.over != nil || p.acked == p.sent {
		p.mu.Unlock()
		return
	}
	written := p.written
	p.guest.host.wg.Add(1)
	defer p.guest.host.wg.Done()
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(p.ctx, cleanupTimeout)
	defer cancel()
	answer, err := client.Call[sequenceParams](ctx, p.guest.host.client, p.guest.service, methodSync, sequenceParams{p.id, written})
	if err != nil {
		err = inward(err)
		if errors.Is(err, ErrTarget) || errors.Is(err, ErrGap) {
			p.end(err) // the subscriber has ended it, and knows why
			return
		}
	}
	p.acknowledge(answer.Sequence)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over == nil && p.acked < p.sent {
		p.pause = min(max(p.pause, time.Millisecond)*2, probeMax)
		p.wait(p.pause, p.sync)
	}
}

// end ends the subscription: the watcher goes, and the subscriber is told if it cannot know. It does not
// wait for either, since an object that emits may hold a lock that stopping needs. Only the first cause counts.
func (p *publisher) end(cause error) {
	p.mu.Lock()
	if p.over != nil {
		p.mu.Unlock()
		return
	}
	p.over, p.queue = cause, nil
	started := p.started
	if started {
		p.timer.Stop()
	} else { // for $rpc/start to tell why
		p.wait(startTimeout, func() { p.guest.forget(p) })
	}
	p.guest.host.wg.Add(1)
	p.mu.Unlock()
	p.cancel()
	go func() {
		defer p.guest.host.wg.Done()
		p.unwatch()
		if started {
			p.guest.forget(p)
			p.tell(cause)
		}
	}()
}

// expire ends a subscription that was never started.
func (p *publisher) expire() {
	p.end(&Error{Reason: reasonEnded, Message: "the subscription was not started"})
	p.retire()
	p.guest.forget(p)
}

// retire stops the timer of a subscription that has ended.
func (p *publisher) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
}

// unwatch stops the watcher once it is installed.
func (p *publisher) unwatch() {
	p.mu.Lock()
	stop, has := p.stop, p.hasStop
	p.stop, p.hasStop = nil, false
	p.mu.Unlock()
	if !has {
		return // installed will
	}
	if stop != nil {
		stop()
	}
	close(p.stopped)
}

// tell lets the subscriber know why the host ended the subscription: a request, since it must arrive.
func (p *publisher) tell(cause error) {
	var e *Error
	if !errors.As(cause, &e) || e.cause != nil {
		return // it has left, or has ended it itself
	}
	ctx, cancel := context.WithTimeout(p.guest.ctx, cleanupTimeout)
	defer cancel()
	if params, err := json.Marshal(endParams{p.id, e.Reason, e.text()}); err == nil {
		p.guest.host.client.Call(ctx, p.guest.service, methodEnd, json.RawMessage(params), nil)
	}
}
