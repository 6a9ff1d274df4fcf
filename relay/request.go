package relay

import (
	"time"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/table"
)

// serviceRequest forwards a clientService/request to the owner of the service, or answers it with the
// reason why not: one lookup, two rights bits, the quotas, one slot, one append.
func (c *Core) serviceRequest(p *peer, id, line []byte, m *codec.Message) {
	if m.Duplicates&(callMembers|codec.MemberTimeoutMs) != 0 || !channelIs(m, line, codec.ChannelServices) {
		c.refuse(p, id, codec.CodeInvalidParams, "", "")
		return
	}
	method, timeout := m.Name.Of(line), c.limits.RequestTimeout
	if codec.KindOf(m.ServiceID.Of(line)) != codec.String || !c.isMethod(method) {
		c.refuse(p, id, codec.CodeInvalidParams, "serviceId and method must be strings of limited length", "")
		return
	}
	if !m.TimeoutMs.Absent() {
		raw := m.TimeoutMs.Of(line)
		if sign, ok := codec.IsInteger(raw); !ok || sign < 1 {
			c.refuse(p, id, codec.CodeInvalidParams, "timeoutMs must be an integer of at least 1", "")
			return
		}
		timeout = c.limits.RequestTimeoutMax
		if ms, ok := codec.Integer(raw); ok && ms < timeout.Milliseconds() {
			timeout = time.Duration(ms) * time.Millisecond
		}
	}
	s := c.lookup(m.ServiceID.Of(line))
	switch {
	case s == nil || !c.visible(p, s):
		c.refuse(p, id, codec.CodeNotFound, "no such service", "")
		return
	case s.Rights[p.principal]&rightRequest == 0:
		c.refuse(p, id, codec.CodePermissionDenied, "", "")
		return
	case c.draining:
		c.refuse(p, id, codec.CodeOverloaded, "the relay is shutting down", "")
		return
	}
	owner := c.peers[s.Owner]
	if limit := c.overLimit(p, s); limit != "" {
		c.note(p, NoteLimit, limit, "request refused")
		c.refuse(p, id, codec.CodeLimit, "", limit)
		return
	}
	if owner.out.size > c.limits.QueueBytesSoft || owner.doomed {
		c.note(owner, NoteLimit, "queueSoftBytes", "requests to it are refused")
		c.refuse(p, id, codec.CodeOverloaded, "", "")
		return
	}
	i := c.open(p, s, id)
	c.timers.Add(i, c.now+timeout)
	params := m.Payload.Of(line)
	b := owner.out.tail(len(method) + len(params) + len(p.client) + len(p.label) + codec.EnvelopeBytesMax)
	before := len(b.B)
	if s.Dropped > 0 {
		b.B = c.appendDropped(b.B, s)
	}
	start := len(b.B)
	b.B = codec.AppendHandleRequest(b.B, c.slots.RelayID(i), s.ID, p.client, p.label, method, params, timeout.Milliseconds())
	c.queued(owner, len(b.B)-before)
	c.counters.out[KindRequest].add(len(b.B) - start)
	s.Forwards++
	c.counters.RequestsForwarded++
	c.counters.FramesOut++
	if c.tap != nil {
		c.tapped(Envelope{Kind: EnvelopeRequest, RelayID: c.slots.RelayID(i), Method: method, Payload: params}, p, s)
	}
}

// refuse answers a request that was not forwarded.
func (c *Core) refuse(p *peer, id []byte, code codec.Code, message, limit string) {
	c.counters.RequestsRefused++
	if c.tap != nil {
		c.tapped(Envelope{Kind: EnvelopeRefused, Word: limit, Code: int(code)}, p, nil)
	}
	c.fail(p, id, code, message, limitData("never", limit))
}

// overLimit names the limit that a further request of p to s would exceed, "" for none.
func (c *Core) overLimit(p *peer, s *table.Service) string {
	switch {
	case !p.inflight.Fits(1):
		return "inflightPerConnection"
	case !s.Inflight.Fits(1):
		return "inflightPerService"
	case !p.usage.inflight.Fits(1):
		return "inflightPerPrincipal"
	case c.slots.Full() || !c.slots.Room():
		return "slots"
	}
	return ""
}

// open takes a slot and charges everybody who pays for it.
func (c *Core) open(p *peer, s *table.Service, id []byte) int32 {
	i := c.slots.Open(p.index, s.Index, id)
	slot := c.slots.At(i)
	slot.Started, slot.Principal = int64(c.now), p.usage.index
	p.inflight.Take(1)
	s.Inflight.Take(1)
	p.usage.inflight.Take(1)
	return i
}

// outcome is how a request ends for its caller.
type outcome struct {
	code    codec.Code // 0: the owner's answer, in result or failure
	message string
	result  []byte // raw; nil: null
	failure []byte // the owner's error object; with a code: what goes into data.error
	silent  bool   // the caller is gone
	cancel  bool   // tell the owner, and keep the charges until it answers
	kind    Outcome
}

// finish ends a live request: the one place where a caller is answered. Afterwards the slot is free, or
// a ghost that only its owner's answer, its service's end or its timer frees.
func (c *Core) finish(i int32, o outcome) {
	slot := c.slots.At(i)
	caller, s := c.peers[slot.Caller], c.services.At(slot.Service)
	c.timers.Remove(i)
	if !o.silent {
		c.complete(caller, c.slots.ID(i), &o)
	}
	if c.tap != nil {
		c.tapAnswer(i, &o)
	}
	c.counters.Requests[o.kind]++
	c.counters.observe(c.now - time.Duration(slot.Started))
	if o.cancel {
		c.cancelAtOwner(c.peers[s.Owner], c.slots.RelayID(i))
		c.slots.Haunt(i)
		if o.silent {
			c.unchargeCaller(i)
		}
		c.timers.Add(i, c.now+c.limits.RequestTimeout)
		return
	}
	c.free1(i)
}

// complete sends the caller its answer.
func (c *Core) complete(caller *peer, id []byte, o *outcome) {
	switch {
	case o.code != 0:
		data := append(c.scratch[:0], `{"delivered":"maybe"`...)
		if o.failure != nil {
			data = append(append(data, `,"error":`...), o.failure...)
		}
		c.scratch = append(data, '}')
		c.fail(caller, id, o.code, o.message, c.scratch)
	case o.failure != nil:
		b := caller.out.tail(len(id) + len(o.failure) + 64)
		before := len(b.B)
		b.B = codec.AppendErrorRaw(b.B, id, o.failure)
		c.sent(KindAnswer, caller, len(b.B)-before)
	default:
		c.reply(caller, id, o.result)
	}
}

// cancelAtOwner tells an owner that nobody waits for its answer any more.
func (c *Core) cancelAtOwner(owner *peer, relayID uint64) {
	if owner.state > stateOpen {
		return
	}
	b := owner.out.tail(codec.EnvelopeBytesMax)
	before := len(b.B)
	b.B = codec.AppendCancel(b.B, relayID)
	c.sent(KindControl, owner, len(b.B)-before)
}

// free1 gives back what a request, live or ghost, still charges, and frees its slot.
func (c *Core) free1(i int32) {
	c.timers.Remove(i)
	c.unchargeCaller(i)
	c.services.At(c.slots.At(i).Service).Inflight.Give(1)
	c.slots.Free(i)
}

// unchargeCaller gives back the caller's share, once.
func (c *Core) unchargeCaller(i int32) {
	slot := c.slots.At(i)
	if slot.CallerGone {
		return
	}
	c.peers[slot.Caller].inflight.Give(1)
	c.usages[slot.Principal].inflight.Give(1)
	c.slots.LeaveCaller(i)
}

// expire handles the timer of a slot: a request without an answer in time, or a ghost whose owner has
// had its second chance.
func (c *Core) expire(i int32) {
	if c.slots.At(i).State == table.SlotGhost {
		c.free1(i)
		return
	}
	c.finish(i, outcome{code: codec.CodeTimeout, cancel: true, kind: OutcomeTimeout})
}

// cancel handles $/cancelRequest from a caller. It touches only a request of that connection.
func (c *Core) cancel(p *peer, line []byte, m *codec.Message) {
	if m.Duplicates&(codec.MemberTarget|codec.MemberChannel) != 0 || m.Target.Absent() || !channelIs(m, line, codec.ChannelServices) {
		c.counters.Ignored++
		return
	}
	i, found := c.slots.Find(p.index, m.Target.Of(line))
	if !found {
		c.counters.Ignored++
		return
	}
	c.finish(i, outcome{code: codec.CodeCancelled, cancel: true, kind: OutcomeCancelled})
}

// dropCalls ends every request that p made and waits for: p is gone.
func (c *Core) dropCalls(p *peer) {
	for i := c.slots.OfCaller(p.index); i >= 0; i = c.slots.OfCaller(p.index) {
		if c.slots.At(i).State == table.SlotGhost {
			c.unchargeCaller(i)
			continue
		}
		c.finish(i, outcome{silent: true, cancel: true, kind: OutcomeCallerGone})
	}
}

// failCalls ends every request to a service that is about to go. The owner is told when it is still there.
func (c *Core) failCalls(s *table.Service, tell bool) {
	for i := c.slots.OfService(s.Index); i >= 0; i = c.slots.OfService(s.Index) {
		if c.slots.At(i).State == table.SlotGhost {
			c.free1(i)
			continue
		}
		if tell {
			c.cancelAtOwner(c.peers[s.Owner], c.slots.RelayID(i))
		}
		c.finish(i, outcome{code: codec.CodeUnavailable, kind: OutcomeUnavailable})
	}
}
