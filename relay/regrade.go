package relay

import (
	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/table"
)

// regrade gives connections other principals, of the policy next, and carries out what follows: who lost
// its credential is told, services that may no longer be offered go, requests without their right fail,
// observers see what they gained and lost. only limits it to one connection's principal; nil: all.
func (c *Core) regrade(next *policy, assign func(*peer) (int32, credential), only *peer) {
	creds := make([]credential, len(c.peers))
	for i, p := range c.peers {
		if c.vacant(p) {
			continue
		}
		p.next, creds[i] = assign(p)
		if p.cred.kind != credentialNone && creds[i].kind == credentialNone && p.state <= stateOpen {
			c.sendLine(p, codec.AppendAuthRequired(nil, c.config.Auth.Resource, "expired"))
		}
	}
	for _, p := range c.peers {
		if c.vacant(p) || only != nil && p != only {
			continue
		}
		for s := p.owned.First; s != nil; {
			after := s.OwnerNext()
			if !next.mayRegister(p.next, s.Protocol, s.HasProtocol) {
				c.withdraw(p, s, true)
			}
			s = after
		}
	}
	rows := make([][]uint8, c.services.Span())
	for s := c.services.First; s != nil; s = s.Next() {
		rows[s.Index] = next.row(c.peers[s.Owner].next, s.Protocol, s.HasProtocol)
	}
	for s := c.services.First; s != nil; s = s.Next() {
		c.failUnentitled(s, rows[s.Index])
	}
	for s := c.services.First; s != nil; s = s.Next() {
		c.showChange(s, rows[s.Index], true, next == c.policy)
		c.showChange(s, rows[s.Index], false, next == c.policy)
	}
	moved := c.moveEpochs(next, rows)
	for s := c.services.First; s != nil; s = s.Next() {
		s.Rights = rows[s.Index]
	}
	c.policy = next
	for i, p := range c.peers {
		if c.vacant(p) {
			continue
		}
		c.transfer(p, p.next, creds[i])
		if moved[i] {
			c.rightsMoved(p)
		}
	}
}

func (c *Core) vacant(p *peer) bool { return p.usage == nil }

// failUnentitled ends the requests to s whose callers lose the right to make them with the next row.
func (c *Core) failUnentitled(s *table.Service, row []uint8) {
	for i := c.slots.OfService(s.Index); i >= 0; {
		after := c.slots.NextOfService(i)
		c.failIfLost(i, s, row)
		i = after
	}
}

func (c *Core) failIfLost(i int32, s *table.Service, row []uint8) {
	slot := c.slots.At(i)
	if slot.State != table.SlotLive {
		return
	}
	caller := c.peers[slot.Caller]
	right := row[caller.next]
	if s.Owner == caller.index {
		right |= rightDiscover
	}
	if right&(rightDiscover|rightRequest) != rightDiscover|rightRequest {
		c.withdrawRight(i)
	}
}

// withdrawRight ends a request whose caller may no longer make it.
func (c *Core) withdrawRight(i int32) {
	c.finish(i, outcome{code: codec.CodePermissionDenied, message: "the right was withdrawn", cancel: true, kind: OutcomeNotAllowed})
}

// recheck ends the requests to s whose callers lost the right to make them when s changed.
func (c *Core) recheck(s *table.Service) {
	for i := c.slots.OfService(s.Index); i >= 0; i = c.slots.NextOfService(i) {
		if slot := c.slots.At(i); !slot.CallerGone {
			caller := c.peers[slot.Caller]
			caller.next = caller.principal
		}
	}
	c.failUnentitled(s, s.Rights)
}

// showChange sends one action, removed or set, encoded once, to the observers for whom s leaves or comes
// into sight. It is kept for replay where the rows' principals stay the same; where they do not, the
// rights epochs of those concerned move on and nothing is replayed to them.
func (c *Core) showChange(s *table.Service, row []uint8, removed, keep bool) {
	var line []byte
	encode := func() {
		if line != nil {
			return
		}
		if removed {
			line = codec.AppendActionRemoved(nil, s.ID, c.nextSeq())
		} else {
			line = codec.AppendActionSet(nil, s.Object, c.nextSeq())
		}
		c.counters.Actions++
	}
	for _, o := range c.observers {
		before := s.Rights[o.principal]&rightDiscover != 0
		after := row[o.next]&rightDiscover != 0
		if before == after || after == removed || o.index == s.Owner {
			continue
		}
		encode()
		c.sendLine(o, line)
	}
	if !keep || c.limits.ReplayActions == 0 {
		return
	}
	concerned := gainedSight(s.Rights, row)
	if removed {
		concerned = lostSight(s.Rights, row)
	}
	if concerned != nil {
		encode()
		a := table.Action{Seq: c.seq, Line: line, Rights: concerned}
		if !removed {
			a.Moved = moved(s, concerned)
		}
		c.replay.Add(a)
	}
}

// transfer makes p a connection of the policy's principal i, with everything it has charged.
func (c *Core) transfer(p *peer, i int32, cred credential) {
	was := p.usage
	c.identify(p, i, cred)
	if p.usage != was {
		if p.state <= stateOpen && p.state != stateSurplus {
			was.connections.Give(1)
			p.usage.connections.Used++
		}
		was.services.Give(p.owned.Len)
		p.usage.services.Used += p.owned.Len
		was.catalogBytes.Give(p.bytes)
		p.usage.catalogBytes.Used += p.bytes
	}
}
