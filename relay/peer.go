package relay

import (
	"time"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/table"
)

type state uint8

const (
	stateNew     state = iota // before a successful initialize or reconnect
	stateSurplus              // beyond connections_max: its first request is refused
	stateOpen
	stateClosing // the relay closes it: what waits is written, then the sending side is shut down
	stateEnding  // the peer closed its sending side: what waits is written, then the connection is closed
	stateLinger  // the sending side is shut down: input is discarded until EOF or the alarm
	stateDead    // to be closed by the transport at once
)

const (
	handshakeFrameBytesMax = 64 << 10 // of a frame before the handshake has succeeded
	lingerTime             = time.Second
	surplusTime            = time.Second
	surplusMax             = 64
	authFailuresMax        = 5
	clientInfoBytesMax     = 256
)

const (
	channelRoot uint8 = 1 << iota
	channelServices
)

// peer is one connection.
type peer struct {
	id     PeerID
	index  uint32
	state  state
	dirty  bool
	doomed bool // condemned, to be closed when the current work is done
	told   bool // of the shutdown
	info   PeerInfo
	framer codec.Framer
	held   int // bytes of the framer's tail, as charged
	out    output

	clientID    string
	client      []byte // clientID as a JSON string
	clientName  string // of clientInfo, for people
	clientVer   string
	version     string // negotiated
	resumeToken string

	principal int32  // index of the policy
	next      int32  // the principal it is about to have, while rights are being changed
	label     []byte // the principal's name as a JSON string; nil: not authenticated
	cred      credential
	usage     *usage
	since     uint64 // serverSeq from which its rights have been what they are
	failures  int    // bad tokens

	owned    table.Owned
	inflight table.Quota
	bytes    int // of Object of its services
	pace     pace
	prefix   prefix
	mold     mold

	subscribed     uint8
	observer       int    // place in Core.observers
	snapshotEnd    uint64 // stream position behind the latest snapshot
	shedding       bool   // notifications to it are being dropped
	protocolErrors int

	opened   time.Duration
	received time.Duration // when it last sent something
	frames   uint64
	noted    time.Duration // when its latest limit note was made
}

// pace is a token bucket of catalogue changes, in thousandths of a change.
type pace struct {
	spent int64 // thousandths used of the burst
	last  time.Duration
}

// take charges one change at now and reports whether the rate allows it.
func (b *pace) take(now time.Duration, perSecond int) bool {
	if perSecond == 0 {
		return true
	}
	refill := min(now-b.last, time.Hour).Microseconds() * int64(perSecond) / 1000
	if refill > 0 {
		b.spent = max(0, b.spent-refill)
		b.last = now
	}
	if b.spent+1000 > CatalogChangesBurst*1000 {
		return false
	}
	b.spent += 1000
	return true
}

// Open admits a connection. It returns false when the connection must be closed at once: the relay is
// full and as many others as may wait for their refusal do so.
func (c *Core) Open(now time.Duration, info PeerInfo) (PeerID, bool) {
	c.now = now
	full := c.limits.ConnectionsMax > 0 && c.admitted >= c.limits.ConnectionsMax
	principal, cred := c.policy.identify(info)
	u := c.usages[c.policy.principals[principal].usage]
	if !full && !u.connections.Fits(1) {
		full = true
		c.note(nil, NoteLimit, "connections", info.Remote)
	}
	// Whoever is being closed still has a descriptor, so all of them together are bounded, too.
	most := c.limits.ConnectionsMax + c.surplusMax()
	if c.draining || full && c.surplus >= c.surplusMax() || c.limits.ConnectionsMax > 0 && c.live >= most {
		c.counters.Refused++
		return 0, false
	}
	p := c.place()
	p.info, p.opened, p.received, p.observer = info, now, now, -1
	p.inflight.Max = c.limits.InflightPerConnectionMax
	c.identify(p, principal, cred)
	if full {
		p.state = stateSurplus
		c.surplus++
	} else {
		c.admitted++
		u.connections.Take(1)
	}
	c.counters.Opened++
	c.rearm(p)
	return p.id, true
}

func (c *Core) surplusMax() int {
	if c.config.SurplusMax > 0 {
		return c.config.SurplusMax
	}
	return surplusMax
}

func (c *Core) place() *peer {
	var index uint32
	if n := len(c.free); n > 0 {
		index, c.free = c.free[n-1], c.free[:n-1]
	} else {
		index = uint32(len(c.peers))
		c.peers = append(c.peers, &peer{index: index})
	}
	p := c.peers[index]
	*p = peer{id: p.id + 1<<32, index: index}
	if p.id>>32 == 1 {
		p.id |= PeerID(index)
	}
	c.live++
	return p
}

// peer returns the connection that an id names, nil when it is gone.
func (c *Core) peer(id PeerID) *peer {
	index := uint32(id)
	if uint64(index) >= uint64(len(c.peers)) || c.peers[index].id != id {
		return nil
	}
	return c.peers[index]
}

// Closed tells the core that the transport of a connection is gone.
func (c *Core) Closed(now time.Duration, id PeerID) {
	p := c.peer(id)
	if p == nil {
		return
	}
	c.now = now
	c.disconnect(p)
	c.release(p)
	c.settle()
}

// HalfClosed tells the core that a peer has shut down its sending side. What the relay has for it is
// still to be written; then Take says Close.
func (c *Core) HalfClosed(now time.Duration, id PeerID) {
	p := c.peer(id)
	if p == nil {
		return
	}
	c.now = now
	c.disconnect(p)
	if p.state == stateLinger || p.out.size == 0 {
		p.state = stateDead
	} else {
		p.state = stateEnding
	}
	c.mark(p)
	c.rearm(p)
	c.settle()
}

// release frees a connection's place; disconnect has been called.
func (c *Core) release(p *peer) {
	c.alarms.Remove(int32(p.index))
	c.memory -= int64(p.out.size + p.held)
	p.out.reset()
	p.framer.Release()
	if p.owned.Len != 0 || p.inflight.Used != 0 || p.bytes != 0 {
		panic("relay: a closed connection still holds something")
	}
	*p = peer{id: p.id + 1<<32, index: p.index}
	c.free = append(c.free, p.index)
	c.live--
}

// alarm handles a peer's timer: whatever of its deadlines has passed, and arms it for the next.
func (c *Core) alarm(p *peer) {
	stalled := (p.out.blocked || p.state == stateEnding) && c.now >= p.out.moved+c.limits.StallTimeout
	switch {
	case p.state == stateDead:
		return
	case p.state > stateOpen:
		limit := lingerTime
		if p.state == stateClosing {
			limit = c.limits.StallTimeout
		}
		if stalled || p.state != stateEnding && c.now >= p.opened+limit {
			p.state = stateDead
			c.mark(p)
			return
		}
	case stalled:
		c.condemn(p, ReasonSlowConsumer, "no output was taken for "+c.limits.StallTimeout.String())
	case p.state == stateSurplus && c.now >= p.opened+surplusTime:
		c.condemn(p, ReasonConnectionLimit, "too many connections")
	case c.unfinished(p) && c.now >= p.opened+c.limits.HandshakeTimeout:
		c.condemn(p, ReasonHandshakeTimeout, "no handshake within "+c.limits.HandshakeTimeout.String())
	case p.state == stateOpen && c.limits.IdleTimeout > 0 && c.now >= p.received+c.limits.IdleTimeout:
		c.condemn(p, ReasonIdle, "nothing was sent for "+c.limits.IdleTimeout.String())
	}
	c.rearm(p)
}

// unfinished reports whether the handshake timeout runs for p.
func (c *Core) unfinished(p *peer) bool {
	return p.state == stateNew || p.state == stateOpen && c.anonymous(p)
}

// rearm sets a peer's timer to the earliest of its deadlines.
func (c *Core) rearm(p *peer) {
	at := time.Duration(1<<63 - 1)
	if p.state == stateDead {
		c.alarms.Remove(int32(p.index))
		return
	}
	if p.out.blocked || p.state == stateEnding {
		at = p.out.moved + c.limits.StallTimeout
	}
	switch {
	case p.state == stateLinger:
		at = p.opened + lingerTime // opened is when lingering began
	case p.state == stateClosing:
		at = min(at, p.opened+c.limits.StallTimeout) // opened is when closing began
	case p.state == stateSurplus:
		at = min(at, p.opened+surplusTime)
	case c.unfinished(p):
		at = min(at, p.opened+c.limits.HandshakeTimeout)
	}
	if p.state == stateOpen && c.limits.IdleTimeout > 0 {
		at = min(at, p.received+c.limits.IdleTimeout)
	}
	if at == 1<<63-1 {
		c.alarms.Remove(int32(p.index))
		return
	}
	c.alarms.Add(int32(p.index), at)
}
