package sim

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ahprelay/ahprelay/relay"
)

func (m *model) open(e *end, info relay.PeerInfo) {
	l := m.config.Limits
	principal, credential := m.identify(info)
	admitted, surplus := 0, 0
	for _, c := range m.conns {
		switch c.phase {
		case phaseNew, phaseOpen:
			admitted++
		case phaseSurplus:
			surplus++
		}
	}
	surplusMax := m.surplusMax()
	full := l.ConnectionsMax > 0 && admitted >= l.ConnectionsMax || over(m.used(principal).connections+1, m.quotas(principal).Connections)
	refused := m.draining || full && surplus >= surplusMax || l.ConnectionsMax > 0 && len(m.conns) >= l.ConnectionsMax+surplusMax
	must(e.open != refused, "%s: admitted %v", e.name, e.open)
	if refused {
		return
	}
	c := &conn{end: e, info: info, principal: principal, credential: credential, opened: m.now(), received: m.now(), subscribed: map[string]bool{}}
	if full {
		c.phase = phaseSurplus
	}
	m.conns = append(m.conns, c)
}

// receive follows the bytes of one read.
func (m *model) receive(e *end, data []byte) {
	c := m.conn(e)
	c.received, c.spoke = m.now(), true
	m.closings = 0
	if c.live() {
		c.peak = max(c.peak, len(c.in)+len(data))
	}
	m.markLossy()
	if c.live() {
		c.in = append(c.in, data...)
		for c.live() && c.doomed == "" {
			if !m.oneLine(c) {
				break
			}
		}
	}
	m.settle()
}

// markLossy marks the connections that this call closes as slow consumers, or cuts off while they are
// being closed because memory is short.
func (m *model) markLossy() {
	for _, c := range m.conns {
		if c.live() && m.world.slow(c.end) {
			c.lossy = true
			m.counts.fuzzy = true
		}
		if c.step == relay.Close && m.config.Limits.MemoryBytesMax > 0 {
			m.counts.fuzzy = true
			if c.live() {
				c.cut, c.lossy = true, true
			} else if c.phase != phaseDead && m.crowded() {
				c.phase = phaseDead
			}
		}
	}
}

// oneLine handles the next line that has come in, if there is one.
func (m *model) oneLine(c *conn) bool {
	limit := m.config.Limits.FrameBytesMax
	if c.phase != phaseOpen {
		limit = min(limit, 64<<10)
	}
	data, rest, complete := bytes.Cut(c.in, []byte("\n"))
	line := string(data)
	text := line
	if !c.later {
		text = strings.TrimPrefix(text, "\ufeff")
		if !complete && strings.HasPrefix("\ufeff", text) {
			text = ""
		}
	}
	if text = strings.TrimSuffix(text, "\r"); len(text) > limit {
		c.in = nil
		m.close(c, "frameTooLarge")
		return false
	}
	if !complete {
		return false
	}
	c.in, c.later = rest, true
	if !blank(line) {
		m.line, c.numbers = c.numbers[0], c.numbers[1:]
	}
	if text != "" {
		m.counts.lines++
		m.message(c, text)
	}
	return true
}

func blank(line string) bool { return line == "" || line == "\r" }

// certify follows what a transport learns late: the connection is somebody else's from the start.
func (m *model) certify(e *end, names []string) {
	c := m.conn(e)
	c.info.CertNames = names
	admitted, surplus := 0, 0
	for _, o := range m.conns {
		switch {
		case o == c:
		case o.phase == phaseNew || o.phase == phaseOpen:
			admitted++
		case o.phase == phaseSurplus:
			surplus++
		}
	}
	c.phase = phaseGone // counted nowhere
	c.principal, c.credential = m.identify(c.info)
	l := m.config.Limits
	full := l.ConnectionsMax > 0 && admitted >= l.ConnectionsMax || over(m.used(c.principal).connections+1, m.quotas(c.principal).Connections)
	switch {
	case !full:
		c.phase = phaseNew
	case surplus < m.surplusMax():
		c.phase = phaseSurplus
	default:
		c.phase = phaseDead
	}
}

// violate follows the closing of a connection whose peer broke the rules of its transport.
func (m *model) violate(e *end) {
	m.markLossy()
	if c := m.conn(e); c.live() {
		m.close(c, "protocolErrors")
	}
	m.settle()
}

func (m *model) surplusMax() int {
	if m.config.SurplusMax == 0 {
		return 64
	}
	return m.config.SurplusMax
}

// closed follows the end of a transport.
func (m *model) closed(e *end) {
	c := m.conn(e)
	m.markLossy()
	if c.live() {
		m.disconnect(c)
	}
	c.phase = phaseGone
	m.conns = slices.DeleteFunc(m.conns, func(other *conn) bool { return other == c })
	m.settle()
}

// halfClosed follows the end of a peer's sending.
func (m *model) halfClosed(e *end) {
	c := m.conn(e)
	m.markLossy()
	if c.live() {
		m.disconnect(c)
	}
	if c.phase == phaseLinger || c.phase == phaseDead || c.queue == 0 || c.cut {
		c.phase = phaseDead
	} else {
		c.phase = phaseEnding
	}
	m.settle()
}

// wrote follows what a transport has taken.
func (m *model) wrote(e *end, n int, all bool) {
	c := m.conn(e)
	c.stuck = !all
	progress := 1
	if m.world.unasked {
		progress = 16 << 10 // a few bytes into a full buffer are no sign of a reader
	}
	if n >= progress || n == c.queue {
		c.moved = m.now()
	}
	if n > 0 {
		c.queue -= n
		c.sent += n
	}
	if c.queue < m.config.Limits.QueueBytesSoft/4 {
		c.shedding = false
	}
}

// shut follows the relay's end of a connection being shut down.
func (m *model) shut(e *end) {
	c := m.conn(e)
	must(c.phase == phaseClosing && c.queue == 0, "%s is shut down in phase %d with %d bytes waiting", c.name, c.phase, c.queue)
	c.phase, c.closing = phaseLinger, m.now()
}

// shutDown follows the relay's closing of a transport.
func (m *model) shutDown(e *end) {
	c := m.conn(e)
	must(c.phase == phaseDead || c.phase == phaseEnding && c.queue == 0, "%s is closed in phase %d with %d bytes waiting", c.name, c.phase, c.queue)
}
