package relay

import (
	"time"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/table"
)

const (
	reconnectAfterMin    = 500 * time.Millisecond
	reconnectAfterJitter = 2 * time.Second
)

// Drain begins the end: clients are told, requests in flight may finish for Limits.DrainTimeout, nothing
// new begins. Drained reports when nothing is left.
func (c *Core) Drain(now time.Duration) {
	if c.draining {
		return
	}
	c.now = now
	c.draining = true
	c.drainUntil = now + c.limits.DrainTimeout
	for _, p := range c.peers {
		if c.vacant(p) || p.state > stateOpen || p.state == stateSurplus {
			continue
		}
		after := reconnectAfterMin + time.Duration(c.random.Int64N(int64(reconnectAfterJitter)))
		b := p.out.tail(256)
		before := len(b.B)
		b.B = codec.AppendShutdown(b.B, ReasonShutdown.String(), "the relay is shutting down", c.limits.DrainTimeout.Milliseconds(), after.Milliseconds())
		c.sent(KindControl, p, len(b.B)-before)
		p.told = true
	}
	c.settle()
}

// Drained reports whether a drain has come to its end: every connection is closed.
func (c *Core) Drained() bool { return c.drained && c.live == 0 }

// settleDrain closes everybody once no request is in flight or the time is up. What still waits to be
// written then has as long again, so that no slow reader can put off the end.
func (c *Core) settleDrain() {
	if c.drained {
		c.abandon()
		return
	}
	if c.slots.Live > 0 && c.now < c.drainUntil {
		return
	}
	c.drained = true
	c.drainUntil = c.now + max(c.limits.DrainTimeout, lingerTime)
	for s := c.services.First; s != nil; s = s.Next() {
		for i := c.slots.OfService(s.Index); i >= 0; {
			after := c.slots.NextOfService(i)
			if c.slots.At(i).State == table.SlotLive {
				c.finish(i, outcome{code: codec.CodeUnavailable, message: "the relay is shutting down", kind: OutcomeUnavailable})
			}
			i = after
		}
	}
	// Everybody is about to go: nobody needs to be told of everybody else's services.
	for len(c.observers) > 0 {
		c.unobserve(c.observers[0])
	}
	for _, p := range c.peers {
		if !c.vacant(p) && p.state <= stateOpen {
			c.close(p, ReasonShutdown, "the relay is shutting down")
		}
	}
}

// abandon gives up on those who have not taken everything in time.
func (c *Core) abandon() {
	if c.now < c.drainUntil {
		return
	}
	for _, p := range c.peers {
		if !c.vacant(p) && p.state != stateDead {
			p.state = stateDead
			c.mark(p)
		}
	}
}
