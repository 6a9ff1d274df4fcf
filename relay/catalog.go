package relay

import (
	"bytes"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/table"
)

const metadataDepthMax = 32

// description is what a registration or update says of a service.
type description struct {
	metadata    []byte // raw
	protocol    string
	hasProtocol bool
}

// describe reads params.metadata, or says what is wrong with it.
func (c *Core) describe(raw []byte) (d description, problem string) {
	switch {
	case codec.KindOf(raw) != codec.Object:
		return d, "metadata must be an object"
	case len(raw) > c.limits.MetadataBytesMax:
		return d, "metadata is too long"
	case codec.DepthOf(raw) > metadataDepthMax:
		return d, "metadata is nested too deeply"
	case !codec.UniqueMembers(raw):
		return d, "metadata has duplicate members"
	}
	var protocol [1][]byte
	members(raw, []string{"protocol"}, protocol[:])
	d.metadata = raw
	if codec.KindOf(protocol[0]) == codec.String {
		decoded, _ := codec.Unquote(nil, protocol[0])
		d.protocol, d.hasProtocol = string(decoded), true
	}
	return d, ""
}

// changeable answers a registration or update that cannot be, whatever its metadata, and reports whether
// it can.
func (c *Core) changeable(p *peer, id []byte) bool {
	if c.draining {
		c.fail(p, id, codec.CodeOverloaded, "the relay is shutting down", limitData("never", ""))
		return false
	}
	return c.paced(p, id)
}

// paced charges p for a catalogue change, or answers that it makes too many.
func (c *Core) paced(p *peer, id []byte) bool {
	if !p.pace.take(c.now, c.limits.CatalogChangesPerSecondMax) {
		c.overQuota(p, id, "catalogChangesPerSecond")
		return false
	}
	return true
}

func (c *Core) overQuota(p *peer, id []byte, limit string) {
	c.note(p, NoteLimit, limit, "catalogue change refused")
	c.fail(p, id, codec.CodeLimit, "", limitData("", limit))
}

// register handles client/registerService.
func (c *Core) register(p *peer, id, line []byte, m *codec.Message) {
	d, problem := c.describe(m.Metadata.Of(line))
	if problem != "" || m.Duplicates&(codec.MemberChannel|codec.MemberMetadata) != 0 || !channelIs(m, line, codec.ChannelServices) {
		c.fail(p, id, codec.CodeInvalidParams, problem, nil)
		return
	}
	if !c.policy.mayRegister(p.principal, d.protocol, d.hasProtocol) {
		c.fail(p, id, codec.CodePermissionDenied, "", nil)
		return
	}
	if !c.changeable(p, id) {
		return
	}
	size := serviceObjectBytes(p, d)
	if limit := c.overCatalog(p, size); limit != "" {
		c.overQuota(p, id, limit)
		return
	}
	s := c.services.Add(p.index, &p.owned)
	s.Inflight.Max = c.limits.InflightPerServiceMax
	p.usage.services.Take(1)
	c.setObject(p, s, d)
	c.reply(p, id, append(append(append(c.scratch[:0], `{"serviceId":"`...), s.ID...), `"}`...))
	c.publishSet(s, nil)
}

// overCatalog names the limit that a further service of the given size would exceed, "" for none.
func (c *Core) overCatalog(p *peer, size int) string {
	switch {
	case p.owned.Len >= c.limits.ServicesPerConnectionMax:
		return "servicesPerConnection"
	case c.services.Full() || c.services.Len() >= c.limits.ServicesMax:
		return "services"
	case !p.usage.services.Fits(1):
		return "servicesPerPrincipal"
	}
	return c.overCatalogBytes(p, size)
}

func (c *Core) overCatalogBytes(p *peer, more int) string {
	switch {
	case c.services.Bytes+more > c.limits.CatalogBytesMax:
		return "catalogBytes"
	case !p.usage.catalogBytes.Fits(more):
		return "principalCatalogBytes"
	}
	return ""
}

// setObject gives a service its encoded object and its rights.
func (c *Core) setObject(p *peer, s *table.Service, d description) {
	object := codec.AppendServiceObject(make([]byte, 0, serviceObjectBytes(p, d)), s.ID, p.client, d.metadata)
	grown := len(object) - len(s.Object)
	c.services.SetObject(s, object)
	p.bytes += grown
	if grown > 0 {
		p.usage.catalogBytes.Take(grown)
	} else {
		p.usage.catalogBytes.Give(-grown)
	}
	s.Protocol, s.HasProtocol = d.protocol, d.hasProtocol
	s.Rights = c.policy.row(p.principal, d.protocol, d.hasProtocol)
	if c.Memory()-c.leaving > c.reclaim {
		c.reclaimMemory()
	}
}

func serviceObjectBytes(p *peer, d description) int {
	return len(`{"serviceId":"","clientId":,"metadata":}`) + table.ServiceIDBytes + len(p.client) + len(d.metadata)
}

// update handles client/updateService.
func (c *Core) update(p *peer, id, line []byte, m *codec.Message) {
	d, problem := c.describe(m.Metadata.Of(line))
	const read = codec.MemberChannel | codec.MemberMetadata | codec.MemberServiceID
	if problem != "" || m.Duplicates&read != 0 || !channelIs(m, line, codec.ChannelServices) || codec.KindOf(m.ServiceID.Of(line)) != codec.String {
		c.fail(p, id, codec.CodeInvalidParams, problem, nil)
		return
	}
	s := c.ownService(p, id, m.ServiceID.Of(line))
	if s == nil {
		return
	}
	if !c.policy.mayRegister(p.principal, d.protocol, d.hasProtocol) {
		c.fail(p, id, codec.CodePermissionDenied, "", nil)
		return
	}
	if !c.changeable(p, id) {
		return
	}
	if limit := c.overCatalogBytes(p, serviceObjectBytes(p, d)-len(s.Object)); limit != "" {
		c.overQuota(p, id, limit)
		return
	}
	before := s.Rights
	c.setObject(p, s, d)
	c.reply(p, id, []byte("{}"))
	if lost := lostSight(before, s.Rights); lost != nil {
		c.publishRemoved(s, lost, false)
	}
	c.publishSet(s, gainedSight(before, s.Rights))
	if !bytes.Equal(before, s.Rights) {
		c.recheck(s)
	}
}

// unregister handles client/unregisterService.
func (c *Core) unregister(p *peer, id, line []byte, m *codec.Message) {
	const read = codec.MemberChannel | codec.MemberServiceID
	if m.Duplicates&read != 0 || !channelIs(m, line, codec.ChannelServices) || codec.KindOf(m.ServiceID.Of(line)) != codec.String {
		c.fail(p, id, codec.CodeInvalidParams, "", nil)
		return
	}
	s := c.ownService(p, id, m.ServiceID.Of(line))
	if s == nil || !c.paced(p, id) {
		return
	}
	c.reply(p, id, []byte("{}"))
	c.withdraw(p, s, true)
}

// ownService finds a service of p's own, or answers why it is none.
func (c *Core) ownService(p *peer, id, raw []byte) *table.Service {
	s := c.lookup(raw)
	switch {
	case s == nil || !c.visible(p, s):
		c.fail(p, id, codec.CodeNotFound, "no such service", nil)
		return nil
	case s.Owner != p.index:
		c.fail(p, id, codec.CodePermissionDenied, "the service belongs to another connection", nil)
		return nil
	}
	return s
}

// withdraw ends a service: its callers are answered, its observers told, its charges returned.
func (c *Core) withdraw(p *peer, s *table.Service, tell bool) {
	c.failCalls(s, tell)
	c.services.Remove(s, &p.owned)
	p.bytes -= len(s.Object)
	p.usage.services.Give(1)
	p.usage.catalogBytes.Give(len(s.Object))
	c.publishRemoved(s, s.Rights, true)
	c.services.Forget(s)
}

// visible reports whether p may know of s.
func (c *Core) visible(p *peer, s *table.Service) bool {
	return s.Rights[p.principal]&rightDiscover != 0 || s.Owner == p.index
}

// publishSet tells those who may see s that it is there, or what it is now. Some of them may not have
// seen it before.
func (c *Core) publishSet(s *table.Service, gained []uint8) {
	line := codec.AppendActionSet(c.scratch[:0], s.Object, c.nextSeq())
	c.scratch = line
	c.publish(line, s, s.Rights, moved(s, gained), true)
}

// moved returns those who gained sight of s if it is older than other services: they learn of it later
// than its place in the catalogue says, so a replay would not lead to what a snapshot shows.
func moved(s *table.Service, gained []uint8) []uint8 {
	if s.Next() == nil {
		return nil
	}
	return gained
}

// publishRemoved tells those who may see s by the given rights, and the owner if it is concerned.
func (c *Core) publishRemoved(s *table.Service, rights []uint8, owner bool) {
	line := codec.AppendActionRemoved(c.scratch[:0], s.ID, c.nextSeq())
	c.scratch = line
	c.publish(line, s, rights, nil, owner)
}

func (c *Core) nextSeq() uint64 {
	c.seq++
	return c.seq
}

// publish sends an encoded action about s to every observer that may see it by the rights given, and
// keeps it for replay. The owner gets it if concerned, whatever its rights, and only then.
func (c *Core) publish(line []byte, s *table.Service, rights, moved []uint8, concerned bool) {
	c.counters.Actions++
	for _, o := range c.observers {
		if o.index == s.Owner && concerned || o.index != s.Owner && rights[o.principal]&rightDiscover != 0 {
			c.sendLine(o, line)
		}
	}
	if c.limits.ReplayActions == 0 {
		return
	}
	a := table.Action{Seq: c.seq, Line: append([]byte(nil), line...), Rights: rights, Moved: moved}
	if concerned {
		a.Owner = c.peers[s.Owner].clientID
	}
	c.replay.Add(a)
}

func (c *Core) sendLine(p *peer, line []byte) {
	b := p.out.tail(len(line))
	b.B = append(b.B, line...)
	c.sent(KindAction, p, len(line))
}
