package relay

import (
	"time"

	"github.com/ahprelay/ahprelay/table"
)

// What follows is for the operator. The owner of the core calls it between other calls, and for a table
// of any size page by page, so that no page takes long: each function looks at entries from the place
// "from" on, at most so many, and returns the place to go on from, 0 at the end of the table. Between two
// pages the table may change: an entry that comes or goes meanwhile may be missed, none is seen twice.

// ConnectionInfo is what the operator sees of a connection.
type ConnectionInfo struct {
	ID                        PeerID
	State                     string // handshake, surplus, open, closing
	Transport, Remote         string
	ClientID                  string // "" before the handshake
	ClientName, ClientVersion string // of clientInfo
	Version                   string // negotiated
	Principal                 string
	Since                     time.Duration // when it was opened; when it began to close, for one that is closing
	Received                  time.Duration // when it last sent something
	FramesIn, BytesOut        uint64
	Services, Inflight        int // Inflight: requests that it is charged for as a caller
	Observer                  bool
	QueueBytes                int // unsent
	TailBytes                 int // of an unfinished line
	CatalogBytes              int // of its services
	Blocked                   bool
	Shedding                  bool // notifications to it are being dropped
}

var stateNames = [...]string{stateNew: "handshake", stateSurplus: "surplus", stateOpen: "open", stateClosing: "closing",
	stateEnding: "closing", stateLinger: "closing", stateDead: "closing"}

// EachConnection calls f for each connection among at most max places from the given one on.
func (c *Core) EachConnection(from, max int, f func(ConnectionInfo)) (next int) {
	end := min(from+max, len(c.peers))
	for _, p := range c.peers[min(from, end):end] {
		if c.vacant(p) {
			continue
		}
		f(ConnectionInfo{
			ID: p.id, State: stateNames[p.state], Transport: p.info.Transport, Remote: p.info.Remote,
			ClientID: p.clientID, ClientName: p.clientName, ClientVersion: p.clientVer, Version: p.version,
			Principal: c.policy.principals[p.principal].name, Since: p.opened, Received: p.received,
			FramesIn: p.frames, BytesOut: p.out.sent, Services: p.owned.Len, Inflight: p.inflight.Used, Observer: p.observer >= 0,
			QueueBytes: p.out.size, TailBytes: p.held, CatalogBytes: p.bytes, Blocked: p.out.blocked, Shedding: p.shedding,
		})
	}
	return unless(end == len(c.peers), end)
}

// ServiceInfo is what the operator sees of a service.
type ServiceInfo struct {
	ID       string
	Owner    string // clientId
	Protocol string
	Object   []byte // the encoded ClientService object; it never changes, and may be kept
	Inflight int    // requests charged to it
	Forwards uint64 // messages forwarded
	Dropped  uint64 // notifications dropped that the owner has not been told of yet
}

// EachService calls f for each service among at most max places from the given one on.
func (c *Core) EachService(from, max int, f func(ServiceInfo)) (next int) {
	span := c.services.Span()
	end := min(from+max, span)
	for i := from; i < end; i++ {
		if s := c.services.At(uint32(i)); s != nil {
			f(ServiceInfo{ID: s.ID, Owner: c.peers[s.Owner].clientID, Protocol: s.Protocol, Object: s.Object,
				Inflight: s.Inflight.Used, Forwards: s.Forwards, Dropped: s.Dropped})
		}
	}
	return unless(end == span, end)
}

// RequestInfo is what the operator sees of a request in flight.
type RequestInfo struct {
	RelayID   uint64
	ID        string // the caller's, as spelled
	Caller    string // clientId, "" when it is gone
	Service   string
	Owner     string // clientId
	Protocol  string
	Started   time.Duration
	Abandoned bool // the caller has its answer, or is gone; the owner still works
}

// EachRequest calls f for each request in flight to the services among the places from the given one
// on, until f has been called max times or a little more often, or that many places were looked at.
func (c *Core) EachRequest(from, max int, f func(RequestInfo)) (next int) {
	span, found, i := c.services.Span(), 0, from
	for ; i < span && found < max && i < from+max; i++ {
		s := c.services.At(uint32(i))
		if s == nil {
			continue
		}
		for slot := c.slots.OfService(s.Index); slot >= 0; slot = c.slots.NextOfService(slot) {
			f(c.requestInfo(slot, s))
			found++
		}
	}
	return unless(i == span, i)
}

func (c *Core) requestInfo(i int32, s *table.Service) RequestInfo {
	slot := c.slots.At(i)
	r := RequestInfo{RelayID: c.slots.RelayID(i), ID: string(c.slots.ID(i)), Service: s.ID, Owner: c.peers[s.Owner].clientID, Protocol: s.Protocol,
		Started: time.Duration(slot.Started), Abandoned: slot.State == table.SlotGhost}
	if !slot.CallerGone {
		r.Caller = c.peers[slot.Caller].clientID
	}
	return r
}

// Draining reports whether Drain has been called.
func (c *Core) Draining() bool { return c.draining }

func unless(done bool, next int) int {
	if done {
		return 0
	}
	return next
}
