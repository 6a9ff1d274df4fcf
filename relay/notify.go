package relay

import (
	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/table"
)

// notify forwards a clientService/notify to the owner of the service: one lookup, one rights bit, one
// append. It allocates nothing and sends nothing to its sender, whatever is wrong.
func (c *Core) notify(p *peer, line []byte, m *codec.Message) {
	if !m.Version || m.ParamsKind != codec.Object || m.Duplicates&(envelopeMembers|callMembers) != 0 ||
		!channelIs(m, line, codec.ChannelServices) || !c.isMethod(m.Name.Of(line)) {
		c.drop(DropMalformed, p, nil, nil, m)
		return
	}
	if c.anonymous(p) {
		c.drop(DropUnauthenticated, p, nil, line, m)
		return
	}
	s := c.lookup(m.ServiceID.Of(line))
	if s == nil || s.Rights[p.principal]&(rightDiscover|rightNotify) != rightDiscover|rightNotify && !c.ownNotify(p, s) {
		c.notifyRefused(p, s, line, m)
		return
	}
	owner := c.peers[s.Owner]
	if owner.out.size > c.limits.QueueBytesSoft/2 || owner.shedding {
		c.drop(DropOverload, p, s, line, m)
		c.shed(owner, s)
		return
	}
	method, params := m.Name.Of(line), m.Payload.Of(line)
	b := owner.out.tail(len(method) + len(params) + len(p.client) + len(p.label) + codec.EnvelopeBytesMax)
	before := len(b.B)
	if s.Dropped > 0 {
		b.B = c.appendDropped(b.B, s)
	}
	start := len(b.B)
	b.B = codec.AppendNotification(b.B, s.ID, p.client, p.label, method, params)
	c.queued(owner, len(b.B)-before)
	c.counters.out[KindNotification].Bytes += uint64(len(b.B) - start)
	p.prefix.remember(p, s, line, m, c.epoch)
	s.Forwards++
	c.counters.NotifyForwarded++
	c.counters.FramesOut++
	if c.tap != nil {
		c.tapped(Envelope{Kind: EnvelopeNotification, Method: method, Payload: params}, p, s)
	}
}

// lookup finds a service by its id as spelled in JSON.
func (c *Core) lookup(raw []byte) *table.Service {
	if len(raw) == table.ServiceIDBytes+2 {
		if s := c.services.Lookup(raw[1 : len(raw)-1]); s != nil && raw[0] == '"' {
			return s
		}
	}
	return c.lookupEscaped(raw)
}

// lookupEscaped finds a service whose id is spelled with escapes.
func (c *Core) lookupEscaped(raw []byte) *table.Service {
	if len(raw) <= table.ServiceIDBytes+2 || raw[0] != '"' || codec.DecodedLen(raw) != table.ServiceIDBytes {
		return nil
	}
	id, _ := codec.Unquote(c.scratch[:0], raw)
	c.scratch = id
	return c.services.Lookup(id)
}

// isMethod reports whether raw is a JSON string of acceptable length for the name of a service's method.
func (c *Core) isMethod(raw []byte) bool {
	if len(raw) < 2 || raw[0] != '"' {
		return false
	}
	return len(raw)-2 <= c.limits.MethodBytesMax || codec.DecodedLen(raw) <= c.limits.MethodBytesMax
}

// ownNotify reports whether the missing right is only that to discover, which an owner never lacks for
// its own service.
func (c *Core) ownNotify(p *peer, s *table.Service) bool {
	return s.Owner == p.index && s.Rights[p.principal]&rightNotify != 0
}

func (c *Core) notifyRefused(p *peer, s *table.Service, line []byte, m *codec.Message) {
	switch {
	case s == nil || !c.visible(p, s):
		c.drop(DropUnknownService, p, s, line, m)
	default:
		c.drop(DropNotAllowed, p, s, line, m)
	}
}

// shed sees to an owner whose output is too full for a notification, which is dropped, or closes it.
func (c *Core) shed(owner *peer, s *table.Service) {
	if c.config.Overload == OverloadDisconnect {
		c.condemn(owner, ReasonSlowConsumer, "notifications came faster than they were read")
		return
	}
	if !owner.shedding {
		owner.shedding = true
		c.note(owner, NoteLimit, "queueSoftBytes", "notifications to it are dropped")
	}
	s.Dropped++
}

// appendDropped tells the owner how many notifications for s it has lost.
func (c *Core) appendDropped(dst []byte, s *table.Service) []byte {
	before := len(dst)
	dst = codec.AppendDropped(dst, s.ID, s.Dropped)
	s.Dropped = 0
	c.counters.out[KindControl].add(len(dst) - before)
	c.counters.FramesOut++
	return dst
}
