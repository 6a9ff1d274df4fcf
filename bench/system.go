//go:build linux

package bench

import "context"

// Need is what a scenario asks of a system beyond carrying bytes.
type Need int

const (
	NeedPairs     Need = iota // each sender has one receiver, which gets nothing else
	NeedRoutes                // any sender to any service
	NeedCalls                 // a message and the answer to it, between two members
	NeedIdle                  // connections that only exist
	NeedCatalogue             // registrations that others observe
	NeedOverload              // a receiver that stops reading loses its own messages only
)

// System is something that carries messages and can be started for a run.
type System interface {
	// Name is short and unique: a column of the table.
	Name() string
	// Version says what was measured, as the program reports it, "" when unknown.
	Version() string
	// Supports reports whether the system can run scenarios with this need.
	Supports(Need) bool
	// Start starts a server that accepts connections when Start returns.
	Start(context.Context, Setting) (*Instance, error)
}

// Setting is how a scenario wants its server.
type Setting struct {
	CPUs     []int  // to run on; empty: wherever the kernel likes
	AllCPUs  []int  // for systems that are measured with more than one; empty as CPUs
	Dir      string // an empty directory that is removed after the run
	Coalesce string // the relay's setting of that name, "" for its default; others ignore it
}

// Instance is a running server.
type Instance struct {
	Addr    string // tcp://host:port or unix:///path
	PID     int    // 0 when its process cannot be observed
	Dialect Dialect
	Stop    func() error // nil when the server was there before; called once
}

// Dialect speaks a system's wire format. Frames that it appends are whole, and a receiver gets exactly
// the bytes that the dialect foretells, nothing between them but what Control knows.
type Dialect interface {
	// Join opens m's connections, introduces it and registers its services, whose IDs it sets.
	Join(m *Member, addr string) error

	// Notify appends what from writes so that body reaches service to.
	Notify(dst []byte, from *Member, to *Service, body []byte) []byte
	// Notification appends what the owner of to then reads.
	Notification(dst []byte, from *Member, to *Service, body []byte) []byte

	// Call appends the request number place of from's ring.
	Call(dst []byte, from *Member, to *Service, place int, body []byte) []byte
	// Handle returns what the owner then reads: pieces with a decimal number between each two.
	Handle(from *Member, to *Service, place int, body []byte) [][]byte
	// Reply returns what the owner answers: pieces between which the first number of Handle stands.
	Reply(from *Member, to *Service, place int, body []byte) [][]byte
	// Answer appends what the caller then reads.
	Answer(dst []byte, from *Member, to *Service, place int, body []byte) []byte

	// Receipt is what the server sends back to a sender for each message, nil for nothing.
	Receipt() []byte
	// Control judges bytes at a frame boundary that are not the frame due. n bytes of them are the
	// server's own traffic, to be passed over; 0 means that more must be read to tell, -1 that it is
	// nothing the dialect knows. skip messages were dropped before the next one. An error says what
	// the server complains about.
	Control(frame []byte) (n, skip int, err error)
}

// Member is one participant of a run. Join fills Tx and Rx.
type Member struct {
	Name     string // unique in the run, the same length for all
	Pair     int    // members of one pair talk to each other only; -1: to anybody
	Sends    bool   // messages or answers
	Receives bool   // messages or answers
	Calls    bool   // takes part in calls, so that it does both
	Observes bool   // follows the catalogue
	Services []*Service

	Tx, Rx *Conn // may be the same connection; nil when the member does not send or receive
}

// Service is an addressee, owned by a member.
type Service struct {
	Index int    // in the run, from 0
	ID    string // on the wire; set by Join where the server chooses it
	Owner *Member
}
