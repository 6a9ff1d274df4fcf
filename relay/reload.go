package relay

import (
	"errors"
	"reflect"
	"time"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/table"
)

// errFixed says that a limit sizes a table and cannot change while the relay runs.
var errFixed = errors.New("connections_max, services_max, slots_max, replay_actions, resume_entries and id_bytes_max cannot change while the relay runs")

// Fixed reports, as an error, whether next differs from now in a limit that sizes a table.
func (l *Limits) Fixed(next *Limits) error {
	if l.ConnectionsMax != next.ConnectionsMax || l.ServicesMax != next.ServicesMax || l.SlotsMax != next.SlotsMax ||
		l.ReplayActions != next.ReplayActions || l.ResumeEntries != next.ResumeEntries || l.IDBytesMax != next.IDBytesMax {
		return errFixed
	}
	return nil
}

// Reload puts another configuration in force, whole or not at all: on an error nothing has changed.
func (c *Core) Reload(now time.Duration, config Config) error {
	if err := config.Limits.Validate(); err != nil {
		return err
	}
	if err := c.limits.Fixed(&config.Limits); err != nil {
		return err
	}
	next, err := c.compile(&config)
	if err != nil {
		return err
	}
	c.now = now
	c.counters.Reloads++
	same := reflect.DeepEqual(c.config.Principals, config.Principals)
	c.adopt(config)
	for _, p := range c.peers {
		p.inflight.Max = c.limits.InflightPerConnectionMax
	}
	for s := c.services.First; s != nil; s = s.Next() {
		s.Inflight.Max = c.limits.InflightPerServiceMax
	}
	if !same {
		c.swap(next)
	}
	for _, p := range c.peers {
		if c.vacant(p) {
			continue
		}
		if p.state == stateOpen && c.anonymous(p) {
			c.shutOut(p)
		}
		c.rearm(p)
	}
	c.settle()
	return nil
}

// swap puts another policy in force with the consequences that the contract orders.
func (c *Core) swap(next *policy) {
	c.carryEpochs(next)
	c.replay.Each(translate(c.policy, next))
	c.regrade(next, func(p *peer) (int32, credential) {
		if p.cred.kind != credentialToken {
			return next.identify(p.info)
		}
		if i, ok := next.byToken(p.cred.token); ok {
			return i, p.cred
		}
		return next.anonymous, credential{}
	}, nil)
	for _, p := range c.peers {
		if p.state != stateOpen || c.vacant(p) {
			continue
		}
		holder := c.clients[p.clientID]
		switch {
		case !c.reserves(p):
			if holder == p {
				delete(c.clients, p.clientID)
			}
		case !c.policy.mayBe(p.principal, p.clientID) || holder != nil && holder != p:
			c.condemn(p, ReasonAuthentication, "the clientId is no longer this principal's to use")
		default:
			c.clients[p.clientID] = p
		}
	}
}

// translate returns a function that turns the rights of an action from one policy's principals to
// another's. Those that are new see nothing of the past.
func translate(from, to *policy) func(*table.Action) {
	places := make([]int, len(to.principals))
	for i := range to.principals {
		places[i] = -1
		for j := range from.principals {
			if from.principals[j].name == to.principals[i].name {
				places[i] = j
			}
		}
	}
	return func(a *table.Action) {
		row := make([]uint8, len(places))
		for i, j := range places {
			if j >= 0 {
				row[i] = a.Rights[j]
			}
		}
		a.Rights = row
	}
}

// shutOut takes client services from a connection that has to authenticate before it may use them.
func (c *Core) shutOut(p *peer) {
	if p.observer < 0 && p.owned.Len == 0 && p.inflight.Used == 0 && c.clients[p.clientID] != p {
		return
	}
	c.sendLine(p, codec.AppendAuthRequired(nil, c.config.Auth.Resource, "required"))
	c.dropCalls(p)
	for s := p.owned.First; s != nil; s = p.owned.First {
		c.withdraw(p, s, true)
	}
	p.subscribed &^= channelServices
	c.unobserve(p)
	if c.clients[p.clientID] == p {
		delete(c.clients, p.clientID)
	}
	p.opened = c.now // it has the handshake timeout to authenticate
}

// carryEpochs takes over the rights epochs of principals that go on unchanged.
func (c *Core) carryEpochs(next *policy) {
	for i := range next.principals {
		pr := &next.principals[i]
		pr.epoch = 1
		for j := range c.policy.principals {
			old := &c.policy.principals[j]
			if old.name != pr.name {
				continue
			}
			pr.epoch = old.epoch
			if !reflect.DeepEqual(old.Principal, pr.Principal) {
				pr.epoch++
			}
		}
	}
}

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
		row := rows[s.Index]
		c.showChange(s, row, true, next == c.policy)
		c.showChange(s, row, false, next == c.policy)
		c.moveEpochs(next, s.Rights, row)
	}
	for s := c.services.First; s != nil; s = s.Next() {
		s.Rights = rows[s.Index]
	}
	c.policy = next
	for i, p := range c.peers {
		if !c.vacant(p) {
			c.transfer(p, p.next, creds[i])
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
		c.finish(i, outcome{code: codec.CodePermissionDenied, message: "the right was withdrawn", cancel: true, kind: OutcomeNotAllowed})
	}
}

// recheck ends the requests to s whose callers lost the right to make them when s changed.
func (c *Core) recheck(s *table.Service) {
	for _, p := range c.peers {
		p.next = p.principal
	}
	c.failUnentitled(s, s.Rights)
}

// showChange sends one action, removed or set, encoded once, to the observers for whom s leaves or comes
// into sight. It is kept for replay where the rows' principals stay the same; where they do not, the
// rights epochs of those concerned move on and nothing is replayed to them.
func (c *Core) showChange(s *table.Service, row []uint8, removed, keep bool) {
	concerned := gainedSight(s.Rights, row)
	if removed {
		concerned = lostSight(s.Rights, row)
	}
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
	if keep && concerned != nil && c.limits.ReplayActions > 0 {
		encode()
		c.replay.Add(table.Action{Seq: c.seq, Line: line, Rights: concerned})
	}
}

// moveEpochs moves the rights epoch of every principal that sees s differently by the new policy.
func (c *Core) moveEpochs(next *policy, before, after []uint8) {
	if next == c.policy {
		return
	}
	for i := range next.principals {
		pr := &next.principals[i]
		for j := range c.policy.principals {
			old := &c.policy.principals[j]
			if old.name == pr.name && old.epoch == pr.epoch && before[j] != after[i] {
				pr.epoch++
			}
		}
	}
}

// transfer makes p a connection of the policy's principal i, with everything it has charged.
func (c *Core) transfer(p *peer, i int32, cred credential) {
	was, before := p.usage, c.peerEpoch(p)
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
	if p.state == stateOpen && before != c.peerEpoch(p) {
		p.since = c.seq
	}
}

func (c *Core) peerEpoch(p *peer) uint64 {
	if int(p.principal) >= len(c.policy.principals) {
		return 0
	}
	return c.policy.principals[p.principal].epoch
}
