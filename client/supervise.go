package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// supervise watches the connection and restores it, until the client ends.
func (c *Client) supervise(l *link) {
	defer c.end()
	for {
		started := time.Now()
		<-l.done
		if c.stop.Err() != nil {
			return
		}
		cause := l.reason()
		if c.opt.reconnect.Attempts < 0 || final(cause) {
			c.cancel(lost(cause, "maybe"))
			c.ev.emit(Disconnected{Err: cause})
			return
		}
		c.opt.log.Warn("disconnected from the relay", "error", cause)
		c.ev.emit(Disconnected{Err: cause, Reconnecting: true})
		next, err := c.restore(l, time.Since(started))
		if err != nil {
			if c.stop.Err() == nil {
				c.cancel(err)
				c.ev.emit(Disconnected{Err: err})
			}
			return
		}
		l = next
	}
}

// end runs when nothing will connect any more.
func (c *Client) end() {
	c.cancel(ErrClosed)
	c.link.Load().fail(context.Cause(c.stop))
	c.cat.end()
	close(c.closed)
	c.wg.Wait()
	close(c.quiet)
}

// final reports whether connecting again after err would be wrong or useless.
func final(err error) bool {
	var closing *ClosingError
	if errors.As(err, &closing) && (closing.Reason == "superseded" || closing.Reason == "unsupportedVersion") {
		return true
	}
	return errors.Is(err, ErrUnsupportedVersion) || errors.Is(err, ErrNotSupported)
}

// ClosingError is the cause of a lost connection that the relay announced.
type ClosingError struct {
	Reason  string
	Message string
}

// Error returns the reason and the message.
func (e *ClosingError) Error() string {
	return "closed by the relay (" + e.Reason + "): " + e.Message
}

// reason returns why the link ended: what the relay announced, if it did, else what was observed.
func (l *link) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing != nil {
		return &ClosingError{Reason: l.closing.Reason, Message: l.closing.Message}
	}
	return l.err
}

// restore connects again and registers the services again. lived is how long the lost connection
// lasted: one that never lasts does not get a short pause each time.
func (c *Client) restore(l *link, lived time.Duration) (*link, error) {
	policy := c.opt.reconnect.filled()
	old := map[*Service]string{}
	for _, s := range c.registered() {
		old[s] = s.ID()
	}
	if lived > policy.Max {
		c.failures = 0
	}
	floor := l.comeBack()
	for {
		if policy.Attempts > 0 && c.failures >= policy.Attempts {
			return nil, lost(l.reason(), "maybe")
		}
		pause := max(policy.pause(c.failures), floor)
		c.failures++
		if err := sleep(c.stop, pause); err != nil {
			return nil, err
		}
		next, err := c.attempt(policy.Timeout)
		if err == nil {
			var failed map[string]error
			if failed, err = c.reregister(next, old); err == nil {
				c.opt.log.Info("connected to the relay again")
				c.ev.emit(Reconnected{Services: renamed(old, next), Failed: failed})
				return next, nil
			}
			<-next.done
			l, err = next, next.reason()
			floor = l.comeBack()
		} else {
			floor = 0
		}
		if c.stop.Err() != nil || final(err) {
			return nil, err
		}
		c.opt.log.Warn("connecting to the relay again failed", "attempt", c.failures, "error", err)
	}
}

// comeBack is how long the relay asked to stay away.
func (l *link) comeBack() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing == nil {
		return 0
	}
	return l.closing.ReconnectAfter
}

func (c *Client) attempt(timeout time.Duration) (*link, error) {
	ctx, cancel := context.WithTimeout(c.stop, timeout)
	defer cancel()
	return c.connect(ctx, c.link.Load())
}

// reregister registers the services on l. It returns, by old id, those that the relay refused, which
// are then unregistered; err means that the connection was lost again.
func (c *Client) reregister(l *link, old map[*Service]string) (failed map[string]error, err error) {
	ctx, cancel := context.WithTimeout(c.stop, c.opt.reconnect.filled().Timeout)
	defer cancel()
	for _, s := range c.registered() {
		if s.acquire(ctx) != nil {
			continue // unregistered meanwhile
		}
		var err error
		if home, _ := s.where(); home != l { // else Register was quicker
			err = s.register(ctx, l, false)
		}
		<-s.change
		var refused *Error
		switch {
		case errors.As(err, &refused) && !errors.Is(err, ErrOverloaded): // overloaded: draining, it will close
			s.remove()
			if failed == nil {
				failed = map[string]error{}
			}
			failed[old[s]] = err
		case err != nil:
			l.fail(err)
			return nil, err
		}
	}
	return failed, nil
}

// renamed maps the old ids of the services that are registered on l to their new ones.
func renamed(old map[*Service]string, l *link) map[string]string {
	ids := map[string]string{}
	for s, id := range old {
		if home, now := s.where(); home == l {
			ids[id] = now
		}
	}
	return ids
}

func (p ReconnectPolicy) filled() ReconnectPolicy {
	if p.Min <= 0 {
		p.Min = 100 * time.Millisecond
	}
	if p.Max <= 0 {
		p.Max = 10 * time.Second
	}
	p.Max = max(p.Max, p.Min)
	if p.Timeout <= 0 {
		p.Timeout = 10 * time.Second
	}
	return p
}

// pause returns a random pause before the attempt after n failures.
func (p ReconnectPolicy) pause(n int) time.Duration {
	d := p.Max
	if n < 30 && p.Min<<n > 0 {
		d = min(p.Min<<n, p.Max)
	}
	return d/2 + rand.N(d/2+1)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
