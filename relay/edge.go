package relay

import "time"

// What transports need whose work does not happen on the owner's goroutine: they learn late who a
// connection is, they hold output for a while, and they have rules of their own.

// Certify tells the core what a connection's client certificate proves, once the transport knows. It
// must come before the connection's first byte.
func (c *Core) Certify(now time.Duration, id PeerID, names []string) {
	p := c.peer(id)
	if p == nil || p.doomed || p.state > stateSurplus || len(names) == 0 {
		return
	}
	c.now = now
	p.info.CertNames = names
	if p.state == stateSurplus {
		c.surplus--
	} else {
		c.admitted--
		p.usage.connections.Give(1)
	}
	principal, cred := c.policy.identify(p.info)
	c.identify(p, principal, cred)
	full := c.limits.ConnectionsMax > 0 && c.admitted >= c.limits.ConnectionsMax
	if !full && !p.usage.connections.Take(1) {
		full = true
		c.note(p, NoteLimit, "connections", "of the certificate's principal")
	}
	switch {
	case !full:
		p.state = stateNew
		c.admitted++
	case c.surplus < c.surplusMax():
		p.state = stateSurplus
		c.surplus++
	default:
		c.counters.Refused++
		p.state = stateDead
		c.mark(p)
	}
	c.rearm(p)
}

// Wait is a Step of TakeHeld: what the transport holds is to be sent first, then the connection is to be
// flushed again.
const Wait = Close + 1

// TakeHeld is Take for a transport that still holds some of the bytes that it took (see Wrote): neither
// is the sending side shut down before they are sent nor, unless it is given up, the connection closed.
func (c *Core) TakeHeld(id PeerID) ([]byte, Step) {
	p := c.peer(id)
	if p != nil && p.out.size == 0 && (p.state == stateClosing || p.state == stateEnding) {
		return nil, Wait
	}
	return c.Take(id)
}

// HalfClosedHeld is HalfClosed for a transport that still holds some of the bytes that it took.
func (c *Core) HalfClosedHeld(now time.Duration, id PeerID) {
	p := c.peer(id)
	if p == nil || p.state == stateDead {
		return
	}
	c.now = now
	was := p.state
	c.disconnect(p)
	p.state = stateEnding
	if was == stateLinger {
		p.state = stateDead
	}
	c.mark(p)
	c.rearm(p)
	c.settle()
}

// Stuck tells the core that such a transport has sent nothing since then of what it holds. It is the same
// as output that waits: the stall timeout runs from then on, until Moving.
func (c *Core) Stuck(now, since time.Duration, id PeerID) {
	p := c.peer(id)
	if p == nil {
		return
	}
	c.now = now
	p.out.blocked, p.out.moved = true, since
	c.rearm(p)
}

// Moving tells the core that a transport that was stuck has sent something. Wrote tells the rest.
func (c *Core) Moving(now time.Duration, id PeerID) {
	p := c.peer(id)
	if p == nil {
		return
	}
	c.now = now
	p.out.blocked, p.out.moved = false, now
	c.rearm(p)
}

// Violate closes a connection whose peer broke the rules of its transport, as message says.
func (c *Core) Violate(now time.Duration, id PeerID, message string) {
	p := c.peer(id)
	if p == nil {
		return
	}
	c.now = now
	c.close(p, ReasonProtocolErrors, message)
	c.settle()
}
