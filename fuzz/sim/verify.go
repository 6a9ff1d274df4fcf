package sim

import (
	"maps"
	"strconv"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// verify checks what must hold between calls into the core.
func (m *model) verify() {
	g := m.core.Gauges()
	must(m.loose && g.Seq >= m.seq || g.Seq == m.seq, "serverSeq is %d, it should be %d", g.Seq, m.seq)
	m.seq, m.loose = g.Seq, false
	observers, live, queued, tails := 0, 0, 0, 0
	holding := false
	for _, c := range m.conns {
		m.verifyConn(c)
		if c.live() && c.mirror != nil {
			observers++
		}
		queued += c.queue
		tails += len(c.in)
		holding = holding || c.live() && c.queue+len(c.in) > 0
	}
	for _, k := range m.calls {
		if !k.ghost {
			live++
		}
	}
	equal("connections", g.Connections, len(m.conns))
	equal("services", g.Services, len(m.services))
	equal("observers", g.Observers, observers)
	equal("in flight", g.Inflight, live)
	equal("ghosts", g.Ghosts, len(m.calls)-live)
	equal("catalogue bytes", g.CatalogBytes, m.catalogBytes())
	must(g.QueueBytes >= int64(queued+tails), "outputs and tails have %d bytes, counted are %d", queued+tails, g.QueueBytes)
	l := m.config.Limits
	must(l.MemoryBytesMax == 0 || g.Memory <= l.MemoryBytesMax || !holding || m.closings > 0, "%d bytes are held, the limit is %d", g.Memory, l.MemoryBytesMax)
	must(g.Resumable <= l.ResumeEntries && g.Replayable <= l.ReplayActions && g.ReplayBytes <= l.CatalogBytesMax, "remembered: %+v", g)
	m.verifyCounts()
}

func equal(what string, got, want int) { must(got == want, "%s: %d, it should be %d", what, got, want) }

func (m *model) verifyConn(c *conn) {
	must(c.queue == len(c.waiting), "%s has %d bytes waiting, accounted are %d", c.name, len(c.waiting), c.queue)
	must(!c.live() || c.queue <= m.config.Limits.QueueBytesHard, "%s has %d bytes of output", c.name, c.queue)
	if c.mirror != nil && c.live() {
		truth := m.visible(c)
		must(maps.Equal(c.mirror, truth), "%s sees %v, not %v", c.name, c.mirror, truth)
	}
}

// verifyCounts checks that what was sent is what was received and what was dropped.
func (m *model) verifyCounts() {
	k := m.core.Counters()
	var dropped, ended uint64
	for _, n := range k.NotifyDropped {
		dropped += n
	}
	for _, n := range k.Requests {
		ended += n
	}
	same := func(what string, got, want uint64) { must(got == want, "%s: %d, it should be %d", what, got, want) }
	same("notifications forwarded and dropped", k.NotifyForwarded+dropped, m.counts.notifies)
	same("requests in flight and ended", ended+uint64(m.core.Gauges().Inflight), k.RequestsForwarded)
	if m.counts.fuzzy {
		return
	}
	same("lines", k.FramesIn, m.counts.lines)
	same("notifications forwarded", k.NotifyForwarded, m.counts.forwarded)
	same("requests forwarded", k.RequestsForwarded, m.counts.requests)
	same("requests ended", ended, m.counts.endings)
}

// verifyEmpty checks that nothing is left when everybody has gone and everything has run out.
func (m *model) verifyEmpty() {
	g := m.core.Gauges()
	must(len(m.conns) == 0 && len(m.services) == 0 && len(m.calls) == 0, "the model holds something for nobody")
	must(g.Connections+g.Services+g.Observers+g.Inflight+g.Ghosts+g.CatalogBytes == 0 && g.QueueBytes == 0 && g.Memory == int64(g.ReplayBytes), "left for nobody: %+v", g)
	at, ok := m.core.NextDeadline()
	must(!ok, "a deadline at %v is left", at)
}
