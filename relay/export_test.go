package relay

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ahprelay/ahprelay/table"
)

// Check recounts everything that the core keeps count of and reports what does not agree, for tests.
func (c *Core) Check() error {
	return errors.Join(c.checkPeers(), c.checkServices(), c.checkSlots(), c.checkUsages(), c.checkReplay())
}

// CheckEmpty reports what is left, for tests, once every connection is gone and the ghosts have had
// their time.
func (c *Core) CheckEmpty() error {
	var errs []error
	zero := func(what string, n int) {
		if n != 0 {
			errs = append(errs, fmt.Errorf("%s: %d left", what, n))
		}
	}
	zero("connections", c.live)
	zero("admitted", c.admitted)
	zero("surplus", c.surplus)
	zero("clients", len(c.clients))
	zero("observers", len(c.observers))
	zero("services", c.services.Len())
	zero("catalogue bytes", c.services.Bytes)
	zero("live slots", c.slots.Live)
	zero("ghosts", c.slots.Ghosts)
	zero("slot timers", c.timers.Len())
	zero("connection timers", c.alarms.Len())
	zero("memory", int(c.memory))
	zero("leaving", int(c.leaving))
	zero("condemned", len(c.condemned))
	zero("places not free", len(c.peers)-len(c.free))
	for _, u := range c.usages {
		for _, q := range []table.Quota{u.connections, u.services, u.inflight, u.catalogBytes} {
			zero("usage of "+u.name, q.Used)
		}
	}
	if at, ok := c.NextDeadline(); ok {
		errs = append(errs, fmt.Errorf("a deadline at %v is left", at))
	}
	return errors.Join(append(errs, c.Check())...)
}

type complaints struct{ errs []error }

func (k *complaints) equal(what string, kept, counted int) {
	if kept != counted {
		k.errs = append(k.errs, fmt.Errorf("%s: %d kept, %d counted", what, kept, counted))
	}
}

func (k *complaints) must(ok bool, format string, args ...any) {
	if !ok {
		k.errs = append(k.errs, fmt.Errorf(format, args...))
	}
}

func (c *Core) checkPeers() error {
	var k complaints
	live, admitted, surplus, observers, memory := 0, 0, 0, 0, 0
	for _, p := range c.peers {
		if c.vacant(p) {
			continue
		}
		live++
		size := 0
		for _, b := range p.out.segments {
			size += len(b.B)
			k.must(len(b.B) > 0, "peer %d: an empty segment", p.index)
		}
		k.equal("output of a peer", p.out.size, size-p.out.off)
		k.equal("tail of a peer", p.held, p.framer.Held())
		memory += p.out.size + p.held
		k.must(p.out.size == 0 || p.dirty || p.out.blocked, "peer %d: output that nobody writes", p.index)
		k.must(!p.doomed || p.state > stateOpen, "peer %d: condemned, but not closed", p.index)
		k.must(p.since <= c.seq+1, "peer %d: rights from serverSeq %d, which is to come", p.index, p.since)
		switch p.state {
		case stateNew:
			admitted++
		case stateSurplus:
			surplus++
		case stateOpen:
			admitted++
			k.must(!c.reserves(p) || c.clients[p.clientID] == p, "peer %d: its clientId %q is not its own", p.index, p.clientID)
		default:
			k.must(p.owned.Len == 0 && p.inflight.Used == 0 && p.observer < 0, "peer %d: closing, yet takes part", p.index)
		}
		if p.observer >= 0 {
			observers++
			k.must(c.observers[p.observer] == p && p.subscribed&channelServices != 0, "peer %d: misplaced observer", p.index)
		}
		k.must(p.state == stateDead || p.state == stateOpen || c.alarms.Armed(int32(p.index)), "peer %d: no timer in state %d", p.index, p.state)
	}
	for id, p := range c.clients {
		k.must(p.state == stateOpen && p.clientID == id && c.reserves(p), "clientId %q names a connection in state %d of %q", id, p.state, p.clientID)
	}
	k.equal("connections", c.live, live)
	k.equal("admitted", c.admitted, admitted)
	k.equal("surplus", c.surplus, surplus)
	k.equal("observers", len(c.observers), observers)
	k.equal("memory", int(c.memory), memory)
	k.equal("free places", len(c.free), len(c.peers)-live)
	return errors.Join(k.errs...)
}

func (c *Core) checkServices() error {
	var k complaints
	count, size := 0, 0
	owned := map[uint32]int{}
	held := map[uint32]int{}
	for s := c.services.First; s != nil; s = s.Next() {
		count++
		size += len(s.Object)
		owned[s.Owner]++
		held[s.Owner] += len(s.Object)
		owner := c.peers[s.Owner]
		k.must(owner.state == stateOpen, "service %s: its owner is in state %d", s.ID, owner.state)
		k.must(c.services.Lookup([]byte(s.ID)) == s, "service %s: not found by its id", s.ID)
		if want := c.naiveRow(owner.principal, s.Protocol, s.HasProtocol); !bytes.Equal(s.Rights, want) {
			k.errs = append(k.errs, fmt.Errorf("service %s: rights %v, by the configuration %v", s.ID, s.Rights, want))
		}
		calls := 0
		for i := c.slots.OfService(s.Index); i >= 0; i = c.slots.NextOfService(i) {
			calls++
		}
		k.equal("in flight to a service", s.Inflight.Used, calls)
	}
	k.equal("services", c.services.Len(), count)
	k.equal("catalogue bytes", c.services.Bytes, size)
	for _, p := range c.peers {
		k.equal("services of a peer", p.owned.Len, owned[p.index])
		k.equal("catalogue bytes of a peer", p.bytes, held[p.index])
		n := 0
		for s := p.owned.First; s != nil; s = s.OwnerNext() {
			n++
			k.must(s.Owner == p.index, "service %s is on the list of another", s.ID)
		}
		k.equal("list of a peer's services", n, p.owned.Len)
	}
	return errors.Join(k.errs...)
}

func (c *Core) checkSlots() error {
	var k complaints
	live, ghosts := 0, 0
	for s := c.services.First; s != nil; s = s.Next() {
		for i := c.slots.OfService(s.Index); i >= 0; i = c.slots.NextOfService(i) {
			slot := c.slots.At(i)
			found, ok := c.slots.Lookup(c.slots.RelayID(i))
			k.must(ok && found == i, "slot %d: not found by its relay id", i)
			k.must(c.timers.Armed(i), "slot %d: no timer", i)
			k.must(slot.Service == s.Index, "slot %d: on the list of another service", i)
			if slot.State == table.SlotLive {
				live++
				at, ok := c.slots.Find(slot.Caller, c.slots.ID(i))
				k.must(ok && at == i, "slot %d: not found by its caller's id", i)
				caller := c.peers[slot.Caller]
				k.must(caller.state == stateOpen && !slot.CallerGone, "slot %d: its caller is gone", i)
				rights := s.Rights[caller.principal]
				if s.Owner == slot.Caller {
					rights |= rightDiscover
				}
				k.must(rights&(rightDiscover|rightRequest) == rightDiscover|rightRequest, "slot %d: its caller has not the right", i)
			} else {
				ghosts++
			}
		}
	}
	k.equal("live slots", c.slots.Live, live)
	k.equal("ghosts", c.slots.Ghosts, ghosts)
	k.equal("slot timers", c.timers.Len(), live+ghosts)
	for _, p := range c.peers {
		n := 0
		for i := c.slots.OfCaller(p.index); i >= 0; i = c.slots.NextOfCaller(i) {
			n++
			k.must(c.slots.At(i).Caller == p.index && !c.slots.At(i).CallerGone, "slot %d: on the list of another caller", i)
		}
		k.equal("in flight of a caller", p.inflight.Used, n)
	}
	return errors.Join(k.errs...)
}

func (c *Core) checkUsages() error {
	var k complaints
	counted := make([]usage, len(c.usages))
	for _, p := range c.peers {
		if c.vacant(p) {
			continue
		}
		u := &counted[p.usage.index]
		if p.state == stateNew || p.state == stateOpen {
			u.connections.Used++
		}
		u.services.Used += p.owned.Len
		u.catalogBytes.Used += p.bytes
		for i := c.slots.OfCaller(p.index); i >= 0; i = c.slots.NextOfCaller(i) {
			counted[c.slots.At(i).Principal].inflight.Used++
		}
		k.must(c.policy.principals[p.principal].name == p.usage.name, "peer %d: charged to %s", p.index, p.usage.name)
	}
	for i, u := range c.usages {
		k.equal("connections of "+u.name, u.connections.Used, counted[i].connections.Used)
		k.equal("services of "+u.name, u.services.Used, counted[i].services.Used)
		k.equal("in flight of "+u.name, u.inflight.Used, counted[i].inflight.Used)
		k.equal("catalogue bytes of "+u.name, u.catalogBytes.Used, counted[i].catalogBytes.Used)
	}
	return errors.Join(k.errs...)
}

func (c *Core) checkReplay() error {
	var k complaints
	size, last := 0, uint64(0)
	c.replay.Each(func(a *table.Action) {
		size += len(a.Line)
		k.must(a.Seq > last && a.Seq <= c.seq, "replay: action %d after %d, of %d", a.Seq, last, c.seq)
		k.must(len(a.Rights) == len(c.policy.principals), "replay: action %d has rights for %d principals of %d", a.Seq, len(a.Rights), len(c.policy.principals))
		last = a.Seq
	})
	k.equal("replay bytes", c.replay.Bytes, size)
	return errors.Join(k.errs...)
}
