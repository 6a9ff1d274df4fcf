package sim

import (
	"slices"
	"time"
)

const (
	linger      = time.Second
	surplusWait = time.Second
)

// tick follows the passing of time: what has run out by now ends.
func (m *model) tick() {
	m.closings = 0
	m.markLossy()
	m.anyOrder(func() {
		for _, k := range slices.Clone(m.calls) {
			switch {
			case k.deadline > m.now():
			case k.ghost:
				m.tally.add("ghost expired")
				m.drop(k)
			default:
				m.give(k, -32051)
			}
		}
	})
	for _, c := range m.conns {
		m.alarm(c)
	}
	m.settle()
}

// alarm ends a connection that has run out of time.
func (m *model) alarm(c *conn) {
	l := m.config.Limits
	stalled := (c.stuck || c.phase == phaseEnding) && m.now() >= c.moved+l.StallTimeout
	switch c.phase {
	case phaseDead:
	case phaseClosing:
		if stalled || m.now() >= c.closing+l.StallTimeout {
			c.phase = phaseDead
		}
	case phaseEnding:
		if stalled {
			c.phase = phaseDead
		}
	case phaseLinger:
		if m.now() >= c.closing+linger {
			c.phase = phaseDead
		}
	default:
		switch {
		case stalled:
			m.condemn(c, "slowConsumer")
		case c.phase == phaseSurplus && m.now() >= c.opened+surplusWait:
			m.condemn(c, "connectionLimit")
		case m.unfinished(c) && m.now() >= c.opened+l.HandshakeTimeout:
			m.condemn(c, "handshakeTimeout")
		case c.phase == phaseOpen && l.IdleTimeout > 0 && m.now() >= c.received+l.IdleTimeout:
			m.condemn(c, "idle")
		}
	}
}

func (m *model) unfinished(c *conn) bool {
	return c.phase == phaseNew || c.phase == phaseOpen && m.shutOut(c)
}

// deadline is when the next thing runs out; false: nothing does.
func (m *model) deadline() (at time.Duration, ok bool) {
	l := m.config.Limits
	earlier := func(t time.Duration) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	for _, k := range m.calls {
		earlier(k.deadline)
	}
	for _, c := range m.conns {
		if c.stuck && c.phase != phaseDead && c.phase != phaseLinger || c.phase == phaseEnding {
			earlier(c.moved + l.StallTimeout)
		}
		switch {
		case c.phase == phaseLinger:
			earlier(c.closing + linger)
		case c.phase == phaseClosing:
			earlier(c.closing + l.StallTimeout)
		case c.phase == phaseSurplus:
			earlier(c.opened + surplusWait)
		case m.unfinished(c):
			earlier(c.opened + l.HandshakeTimeout)
		}
		if c.phase == phaseOpen && l.IdleTimeout > 0 {
			earlier(c.received + l.IdleTimeout)
		}
	}
	if m.draining && (!m.drained || len(m.conns) > 0) {
		earlier(m.until)
	}
	return at, ok
}

// promised checks what the core says of its next deadline: it comes no later than the contract's
// precision allows, and there is one when something runs out.
func (m *model) promised(at time.Duration, ok bool) {
	want, due := m.deadline()
	if !due {
		return
	}
	want = max(want, m.now())
	must(ok && at <= want+precision, "something runs out at %v, the core wants to be called at %v (%v)", want, at, ok)
}

// precision is one tick of the core's timer wheel; the contract asks for 100 ms or better.
const precision = 17 * time.Millisecond

// condemn has a connection closed when the call into the core is over.
func (m *model) condemn(c *conn, reason string) {
	if c.live() && c.doomed == "" {
		c.doomed = reason
	}
}

// settle follows the closings that end a call into the core, in the order in which they were made.
func (m *model) settle() {
	for len(m.world.notes) > 0 {
		n := m.world.notes[0]
		c := m.conn(m.world.byID[n.Peer])
		if n.Word == "slowConsumer" && c.doomed != n.Word {
			must(m.tooMuch(c), "%s is closed as a slow consumer with %d bytes of output", c.name, c.queue)
			c.doomed = n.Word
		}
		if c.doomed == "" {
			break
		}
		m.close(c, c.doomed)
	}
	for _, c := range m.conns {
		must(!c.live() || c.doomed == "", "%s is not closed (%s)", c.name, c.doomed)
	}
	if m.draining {
		m.settleDrain()
	}
}

// tooMuch reports whether a connection whose output cannot be seen any more may have had too much of it,
// or all of them together.
func (m *model) tooMuch(c *conn) bool {
	l := m.config.Limits
	if !c.lossy {
		return false
	}
	if c.queue+4096 > l.QueueBytesHard {
		return true
	}
	return m.crowded()
}

// crowded reports whether memory_bytes_max may be reached.
func (m *model) crowded() bool {
	l := m.config.Limits
	total := int64(m.catalogBytes()) + int64(m.core.Gauges().ReplayBytes)
	for _, o := range m.conns {
		total += int64(o.queue) + 2*int64(o.peak) + 512
	}
	return l.MemoryBytesMax > 0 && total+4096 > l.MemoryBytesMax
}

// close follows the relay's closing of a connection.
func (m *model) close(c *conn, reason string) {
	must(len(m.world.notes) > 0, "%s is not closed (%s)", c.name, reason)
	n := m.world.notes[0]
	m.world.notes = m.world.notes[1:]
	must(n.Peer == c.id && n.Word == reason, "%s is to be closed (%s), the relay closes %s (%s)", c.name, reason, m.world.byID[n.Peer].name, n.Word)
	m.closings++
	m.tally.add("closed " + reason)
	m.disconnect(c)
	if reason == "slowConsumer" {
		c.queue = c.begun()
	}
	c.phase, c.closing = phaseClosing, m.now()
	if c.cut {
		c.phase = phaseDead
		return
	}
	if !c.told || reason != "shutdown" {
		m.expect(c, `{"jsonrpc":"2.0","method":"x-relay/closing","params":{"channel":"ahp-root://","reason":"`+reason+`","message":"`+holeText+`"}}`)
	}
}

// disconnect ends what a connection takes part in.
func (m *model) disconnect(c *conn) {
	if c.phase == phaseOpen {
		m.remember(c)
	}
	c.phase, c.holds, c.in, c.mirror = phaseEnding, false, nil, nil
	m.anyOrder(func() {
		for _, k := range slices.Clone(m.calls) {
			switch {
			case k.caller != c:
			case k.ghost:
				k.caller = nil
			default:
				m.give(k, 0)
			}
		}
	})
	for _, s := range slices.Clone(m.services) {
		if s.owner == c {
			m.withdraw(s)
		}
	}
}

// drain follows the beginning of the end.
func (m *model) drain() {
	m.markLossy()
	if m.draining {
		return
	}
	m.tally.add("drain")
	m.draining, m.until = true, m.now()+m.config.Limits.DrainTimeout
	for _, c := range m.conns {
		if c.phase == phaseNew || c.phase == phaseOpen {
			m.expect(c, `{"jsonrpc":"2.0","method":"x-relay/closing","params":{"channel":"ahp-root://","reason":"shutdown","message":"`+holeText+
				`","graceMs":`+itoa(m.config.Limits.DrainTimeout.Milliseconds())+`,"reconnectAfterMs":`+holeNumber+`}}`)
			c.told = true
		}
	}
	m.settle()
}

// settleDrain ends everything once no request is in flight or the time is up.
func (m *model) settleDrain() {
	live := 0
	for _, k := range m.calls {
		if !k.ghost {
			live++
		}
	}
	if m.drained {
		for _, c := range m.conns {
			if m.now() >= m.until {
				c.phase = phaseDead // it has had its time to take what waits
			}
		}
		return
	}
	if live > 0 && m.now() < m.until {
		return
	}
	m.drained = true
	m.until = m.now() + max(m.config.Limits.DrainTimeout, linger)
	m.anyOrder(func() {
		for _, k := range slices.Clone(m.calls) {
			if !k.ghost {
				m.expect(k.caller, failure{-32050, "{" + maybe + "}"}.forms(k.id)[0])
				m.drop(k)
			}
		}
	})
	for _, c := range m.conns {
		c.mirror = nil // everybody is about to go: nobody is told of the others' services
	}
	for len(m.world.notes) > 0 {
		c := m.conn(m.world.byID[m.world.notes[0].Peer])
		m.close(c, "shutdown")
	}
	for _, c := range m.conns {
		must(!c.live(), "%s outlives the drain", c.name)
	}
}
