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
		c.counters.NotifyDropped[DropMalformed]++
		return
	}
	if c.anonymous(p) {
		c.counters.NotifyDropped[DropUnauthenticated]++
		return
	}
	s := c.lookup(m.ServiceID.Of(line))
	if s == nil || s.Rights[p.principal]&(rightDiscover|rightNotify) != rightDiscover|rightNotify && !c.ownNotify(p, s) {
		c.notifyRefused(p, s)
		return
	}
	owner := c.peers[s.Owner]
	if owner.out.size > c.limits.QueueBytesSoft/2 || owner.shedding {
		c.shed(owner, s)
		return
	}
	method, params := m.Name.Of(line), m.Payload.Of(line)
	b := owner.out.tail(len(method) + len(params) + len(p.client) + len(p.label) + codec.EnvelopeBytesMax)
	before := len(b.B)
	if s.Dropped > 0 {
		b.B = c.appendDropped(b.B, s)
	}
	b.B = codec.AppendNotification(b.B, s.ID, p.client, p.label, method, params)
	c.queued(owner, len(b.B)-before)
	p.prefix.remember(p, s, line, m, c.epoch)
	s.Forwards++
	c.counters.NotifyForwarded++
	c.counters.FramesOut++
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

func (c *Core) notifyRefused(p *peer, s *table.Service) {
	switch {
	case s == nil || !c.visible(p, s):
		c.counters.NotifyDropped[DropUnknownService]++
	default:
		c.counters.NotifyDropped[DropNotAllowed]++
	}
}

// shed drops a notification for an owner whose output is too full, or closes the owner.
func (c *Core) shed(owner *peer, s *table.Service) {
	c.counters.NotifyDropped[DropOverload]++
	if c.config.Overload == OverloadDisconnect {
		c.condemn(owner, ReasonSlowConsumer, "notifications came faster than they were read")
		return
	}
	if !owner.shedding {
		owner.shedding = true
		c.note(owner, NoteLimit, "queueBytesSoft", "notifications to it are dropped")
	}
	s.Dropped++
}

// appendDropped tells the owner how many notifications for s it has lost.
func (c *Core) appendDropped(dst []byte, s *table.Service) []byte {
	dst = codec.AppendDropped(dst, s.ID, s.Dropped)
	s.Dropped = 0
	c.counters.FramesOut++
	return dst
}
