package relay

import (
	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/table"
)

// answer handles a message with an id and no method: the owner's answer to a clientService/handleRequest.
// What names no request that this connection has to answer is dropped and counted, never refused.
func (c *Core) answer(p *peer, line []byte, m *codec.Message) {
	i, ok := c.pending(p, line, m)
	if !ok {
		c.counters.AnswersDropped++
		return
	}
	if c.slots.At(i).State == table.SlotGhost {
		c.counters.AnswersLate++
		c.free1(i)
		return
	}
	result, failure := m.Result.Of(line), m.Error.Of(line)
	o := outcome{result: result, failure: failure, kind: OutcomeResult}
	if failure != nil {
		o.kind = OutcomeError
	}
	if !m.Version || m.Duplicates&envelopeMembers != 0 || result != nil && failure != nil || failure != nil && !acceptable(failure) {
		o = outcome{code: codec.CodeInternal, message: "the service sent a malformed answer", failure: failure, kind: OutcomeMalformed}
	}
	c.finish(i, o)
}

// pending finds the request that a message answers; of several ids the first counts.
func (c *Core) pending(p *peer, line []byte, m *codec.Message) (int32, bool) {
	if m.IDKind != codec.IDNumber {
		return 0, false
	}
	id, ok := codec.Integer(m.ID.Of(line))
	if !ok || id < 1 {
		return 0, false
	}
	i, ok := c.slots.Lookup(uint64(id))
	if !ok || c.services.At(c.slots.At(i).Service).Owner != p.index {
		return 0, false
	}
	return i, true
}

// acceptable reports whether an owner's error may go to the caller as it is: well formed, and without a
// code that speaks for the relay.
func acceptable(raw []byte) bool {
	e := codec.ParseError(raw)
	return e.OK() && !codec.Code(e.Code).RelayOnly() && codec.UniqueMembers(raw)
}
