package sim

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// phase is where a connection stands.
type phase uint8

const (
	phaseNew     phase = iota // no handshake yet
	phaseSurplus              // beyond connections_max
	phaseOpen
	phaseClosing // the relay closes it: what waits is written, then its side is shut down
	phaseEnding  // the peer has shut down its side: what waits is written, then it is closed
	phaseLinger  // the relay's side is shut down
	phaseDead    // to be closed at once
	phaseGone
)

// The channels of the contract.
const (
	channelRoot     = "ahp-root://"
	channelServices = "ahp-client-services://"
)

// conn is what the model knows of one connection.
type conn struct {
	*end
	info  relay.PeerInfo
	phase phase

	in    []byte // the line that has not ended
	peak  int    // the most that it ever had: memory for it is kept
	later bool   // the first line is over

	client     string // clientId
	version    string
	token      string // resume token
	line       int    // that got it
	principal  string
	credential string // "": none
	failures   int    // bad tokens
	subscribed map[string]bool

	queue    int  // bytes of output, as accounted
	sent     int  // bytes that the transport has taken
	shedding bool // its notifications are being dropped
	stuck    bool // its transport did not take everything at the last attempt
	moved    time.Duration
	snapshot int // where in the stream the latest snapshot ends

	doomed string // why it is about to be closed
	lossy  bool   // it is being closed as a slow consumer: lines to it cannot be seen
	cut    bool   // it is being cut off: it does not even get the explanation

	errors   int // lines that broke the protocol
	changes  float64
	changed  time.Duration // when the changes were counted last
	opened   time.Duration // or since when it has to authenticate
	received time.Duration
	closing  time.Duration // when closing or lingering began
	told     bool          // of the shutdown

	mirror  map[string]string // the catalogue as it sees it: objects by id; nil: it does not look
	lastSeq uint64
	since   uint64 // serverSeq when the handshake was done, unknown once rights have changed
	holds   bool   // its clientId is its own
}

// unknown stands for a serverSeq that the model does not know.
const unknown = 1 << 63

// story names the history that a client and its principal have.
func (c *conn) story() string { return c.client + "\x00" + c.principal }

// service is one registered service.
type service struct {
	id       string
	owner    *conn
	metadata string
	protocol string
	named    bool   // it has a protocol
	object   string // as it goes out
	dropped  int
	line     int // that registered it
}

// call is one request to a service, until all that it charges is given back.
type call struct {
	caller   *conn // nil: gone
	service  *service
	id       string // the caller's, as spelled
	relayID  string
	payer    string // the principal that it is charged to
	line     int    // that made it
	ghost    bool   // the caller has its answer
	deadline time.Duration
}

// memory is what the relay remembers of a client that has gone.
type memory struct {
	client     string
	version    string
	principal  string
	subscribed map[string]bool
	era        int // of the rights, when it was made
	since      uint64
}

// change is one action that may be replayed.
type change struct {
	seq   uint64
	bytes int
	older bool // about a service that is not the newest
}

// model is the contract, acted out.
type model struct {
	world  *world
	core   *relay.Core
	config relay.Config
	names  names

	conns    []*conn // all that are not gone, in the order of opening
	services []*service
	calls    []*call
	ids      map[string]bool // service and relay ids ever made
	memories []memory        // oldest first
	changes  []change
	seq      uint64
	loose    bool                // seq may have grown by more than is known
	era      int                 // grows with every change of rights
	stories  map[string][]moment // what each client has heard

	draining bool
	until    time.Duration
	drained  bool

	group    []demand // expectations whose order is open; nil: there is an order
	groups   int
	closings int // by the relay, since it last had occasion to look after memory
	line     int // number of the line being handled, for names

	counts counts
	tally  Tally
}

// counts is what the counters of the core must add up to.
type counts struct {
	lines, notifies, forwarded, dropped, requests, endings uint64
	fuzzy                                                  bool // output was lost before it could be seen
}

func newModel(w *world, config relay.Config, t Tally) *model {
	m := &model{world: w, core: w.core, tally: t, config: config, names: names{}, ids: map[string]bool{}, seq: boot.Seq, stories: map[string][]moment{}}
	w.model = m
	return m
}

func (m *model) now() time.Duration { return m.world.now }

// conn returns the connection of a transport, nil when it is gone.
func (m *model) conn(e *end) *conn {
	for _, c := range m.conns {
		if c.end == e {
			return c
		}
	}
	return nil
}

// live reports whether c takes part in anything.
func (c *conn) live() bool { return c.phase <= phaseOpen }

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
	surplusMax := m.config.SurplusMax
	if surplusMax == 0 {
		surplusMax = 64
	}
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
	c.received = m.now()
	m.closings = 0
	m.markLossy()
	if c.live() {
		c.in = append(c.in, data...)
		c.peak = max(c.peak, len(c.in))
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
	if c.phase == phaseLinger || c.queue == 0 || c.cut {
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
	if n > 0 {
		c.moved = m.now()
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

// quotas returns the configuration of a principal.
func (m *model) quotas(principal string) relay.Principal {
	for _, p := range m.config.Principals {
		if p.Name == principal {
			return p
		}
	}
	return relay.Principal{Name: principal}
}

// use is what a principal has taken.
type use struct{ connections, services, inflight, bytes int }

func (m *model) used(principal string) (u use) {
	for _, c := range m.conns {
		if c.principal == principal && (c.phase == phaseNew || c.phase == phaseOpen) {
			u.connections++
		}
	}
	for _, s := range m.services {
		if s.owner.principal == principal {
			u.services++
			u.bytes += len(s.object)
		}
	}
	for _, k := range m.calls {
		if k.caller != nil && k.payer == principal {
			u.inflight++
		}
	}
	return u
}

// over reports whether n is more than a limit, where 0 is none.
func over(n, limit int) bool { return limit > 0 && n > limit }
