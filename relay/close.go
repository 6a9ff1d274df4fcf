package relay

import (
	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/table"
)

// Reason says why the relay closes a connection.
type Reason uint8

const (
	ReasonFrameTooLarge Reason = iota
	ReasonProtocolErrors
	ReasonHandshakeTimeout
	ReasonUnsupportedVersion
	ReasonSlowConsumer
	ReasonSuperseded
	ReasonAuthentication
	ReasonConnectionLimit
	ReasonIdle
	ReasonShutdown
	reasons
)

var reasonNames = [reasons]string{"frameTooLarge", "protocolErrors", "handshakeTimeout", "unsupportedVersion", "slowConsumer",
	"superseded", "authentication", "connectionLimit", "idle", "shutdown"}

// String is the word of the wire contract, the log and the metrics.
func (r Reason) String() string { return reasonNames[r] }

// verdict is a closing that waits until the current work is done.
type verdict struct {
	peer    *peer
	reason  Reason
	message string
}

// condemn has a connection closed as soon as the current work is done. Until then it gets what others
// send to it, and what it sends is ignored.
func (c *Core) condemn(p *peer, reason Reason, message string) {
	if p.doomed || p.state > stateOpen {
		return
	}
	p.doomed = true
	c.leaving += int64(p.holds())
	c.condemned = append(c.condemned, verdict{p, reason, message})
}

// close ends a connection from the relay's side: its services and requests end now, what waits in its
// output is still written, then the explanation.
func (c *Core) close(p *peer, reason Reason, message string) {
	if p.state > stateOpen {
		return
	}
	c.counters.Closed[reason]++
	c.note(p, NoteClosed, reason.String(), message)
	c.disconnect(p)
	if p.state == stateDead {
		return // what others were told of it took the last memory: it has been cut off
	}
	if reason == ReasonSlowConsumer {
		c.memory -= int64(p.out.truncate())
	}
	p.state, p.opened = stateClosing, c.now
	if !p.told || reason != ReasonShutdown {
		c.explain(p, reason, message)
	}
	c.mark(p)
	c.rearm(p)
}

func (c *Core) explain(p *peer, reason Reason, message string) {
	b := p.out.tail(len(message) + 256)
	before := len(b.B)
	b.B = codec.AppendClosing(b.B, reason.String(), message)
	c.sent(KindControl, p, len(b.B)-before)
}

// disconnect ends what a connection takes part in: its services, its requests, its subscriptions, its
// place among the admitted. Its output and its place in the table stay. It may be called again.
func (c *Core) disconnect(p *peer) {
	if p.state > stateOpen {
		return
	}
	switch p.state {
	case stateSurplus:
		c.surplus--
	default:
		c.admitted--
		p.usage.connections.Give(1)
	}
	if p.clientID != "" && p.state == stateOpen {
		c.remember(p)
	}
	if c.clients[p.clientID] == p {
		delete(c.clients, p.clientID)
	}
	c.unobserve(p)
	p.state = stateEnding
	c.dropCalls(p)
	for s := p.owned.First; s != nil; s = p.owned.First {
		c.withdraw(p, s, false)
	}
	p.framer.Release()
	c.memory -= int64(p.held)
	p.held = 0
}

// remember keeps what a reconnect of this client may be resumed from.
func (c *Core) remember(p *peer) {
	if !c.reserves(p) {
		return
	}
	pr := &c.policy.principals[p.principal]
	subscribed := p.subscribed
	if p.snapshotEnd > p.out.sent {
		subscribed = 0 // it never got the snapshot that a replay would build on
	}
	c.resume.Put(p.clientID, table.Resumable{Version: p.version, Principal: pr.name, Epoch: pr.epoch, Since: p.since, Subscribed: subscribed})
}
