package relay

import (
	"time"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/table"
)

// Tap is told of envelopes as they are routed. It is called in the middle of that, so it must be quick,
// must not call the core, and must copy what it keeps.
type Tap interface {
	Envelope(e *Envelope)
}

// EnvelopeKind says what happened to an Envelope.
type EnvelopeKind uint8

const (
	EnvelopeNotification EnvelopeKind = iota // forwarded
	EnvelopeRequest                          // forwarded
	EnvelopeAnswer                           // a forwarded request has ended; Word is its Outcome
	EnvelopeDropped                          // a notification was not forwarded; Word is the Drop
	EnvelopeRefused                          // a request was not forwarded; Code is what its sender got, Word the limit if there is one
	envelopeKinds
)

var envelopeNames = [envelopeKinds]string{"notification", "request", "answer", "dropped", "refused"}

// String is the word that a tap is filtered by.
func (k EnvelopeKind) String() string { return envelopeNames[k] }

// EnvelopeKinds lists the words.
func EnvelopeKinds() []string { return envelopeNames[:] }

// Envelope is one message on its way through the relay. Its slices live only during the call.
type Envelope struct {
	At       time.Duration
	Kind     EnvelopeKind
	Word     string
	Code     int
	Sender   string // clientId of who sent the notification or the request, for an answer of who gets it
	Owner    string // clientId of the service's owner, "" when the service is unknown
	Service  string // id, "" when unknown
	Protocol string // metadata.protocol of the service
	RelayID  uint64 // of a request and its answer
	Method   []byte // a JSON string; nil for an answer and where it was not read
	Payload  []byte // raw JSON of params, result or error; nil: there is none
	Age      time.Duration
}

// SetTap makes tap see every envelope from now on; nil ends that. While there is one, notifications go
// the long way through the core.
func (c *Core) SetTap(tap Tap) { c.tap = tap }

// tapped shows e, about a message of p for s, to the tap. s is nil when it is unknown.
func (c *Core) tapped(e Envelope, p *peer, s *table.Service) {
	e.At, e.Sender = c.now, p.clientID
	if s != nil {
		e.Service, e.Protocol, e.Owner = s.ID, s.Protocol, c.peers[s.Owner].clientID
	}
	c.tap.Envelope(&e)
}

// tapAnswer shows how the request of a slot ends.
func (c *Core) tapAnswer(i int32, o *outcome) {
	slot := c.slots.At(i)
	e := Envelope{Kind: EnvelopeAnswer, Word: o.kind.String(), Code: int(o.code), RelayID: c.slots.RelayID(i), Payload: o.result, Age: c.now - time.Duration(slot.Started)}
	if o.failure != nil {
		e.Payload = o.failure
	}
	c.tapped(e, c.peers[slot.Caller], c.services.At(slot.Service))
}

// drop counts a notification of p that is not forwarded. The line is nil when it is malformed; s is nil
// when the service is unknown.
func (c *Core) drop(why Drop, p *peer, s *table.Service, line []byte, m *codec.Message) {
	c.counters.NotifyDropped[why]++
	if c.tap == nil {
		return
	}
	e := Envelope{Kind: EnvelopeDropped, Word: why.String()}
	if line != nil {
		e.Method, e.Payload = m.Name.Of(line), m.Payload.Of(line)
	}
	c.tapped(e, p, s)
}
