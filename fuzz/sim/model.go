package sim

import (
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// phase is where a connection stands.
type phase uint8

const (
	phaseNew     phase = iota // no handshake yet
	phaseSurplus              // beyond connections_max
	phaseOpen
	phaseClosing // the relay closes it: what waits is written, then its side is shut down
	phaseEnding  // the peer has shut down its side: what waits is written, then it is closed
	phaseLinger  // the relay's side is shut down
	phaseDead    // to be closed at once
	phaseGone
)

// The channels of the contract.
const (
	channelRoot     = "ahp-root://"
	channelServices = "ahp-client-services://"
)

// conn is what the model knows of one connection.
type conn struct {
	*end
	info  relay.PeerInfo
	phase phase

	in    []byte // the line that has not ended
	peak  int    // the most that it ever had: memory for it is kept
	later bool   // the first line is over
	spoke bool   // something has come from it

	client     string // clientId
	version    string
	token      string // resume token
	line       int    // that got it
	principal  string
	credential string // "": none
	failures   int    // bad tokens
	subscribed map[string]bool

	queue    int  // bytes of output, as accounted
	sent     int  // bytes that the transport has taken
	shedding bool // its notifications are being dropped
	stuck    bool // its transport did not take everything at the last attempt
	moved    time.Duration
	snapshot int // where in the stream the latest snapshot ends

	doomed string // why it is about to be closed
	lossy  bool   // it is being closed as a slow consumer: lines to it cannot be seen
	cut    bool   // it is being cut off: it does not even get the explanation

	errors   int // lines that broke the protocol
	changes  float64
	changed  time.Duration // when the changes were counted last
	opened   time.Duration // or since when it has to authenticate
	received time.Duration
	closing  time.Duration // when closing or lingering began
	told     bool          // of the shutdown

	mirror  map[string]string // the catalogue as it sees it: objects by id; nil: it does not look
	lastSeq uint64
	since   uint64 // serverSeq when the handshake was done, unknown once rights have changed
	holds   bool   // its clientId is its own
}

// unknown stands for a serverSeq that the model does not know.
const unknown = 1 << 63

// story names the history that a client and its principal have.
func (c *conn) story() string { return c.client + "\x00" + c.principal }

// service is one registered service.
type service struct {
	id       string
	owner    *conn
	metadata string
	protocol string
	named    bool   // it has a protocol
	object   string // as it goes out
	dropped  int
	line     int // that registered it
}

// call is one request to a service, until all that it charges is given back.
type call struct {
	caller   *conn // nil: gone
	service  *service
	id       string // the caller's, as spelled
	relayID  string
	payer    string // the principal that it is charged to
	line     int    // that made it
	ghost    bool   // the caller has its answer
	deadline time.Duration
}

// memory is what the relay remembers of a client that has gone.
type memory struct {
	client     string
	version    string
	principal  string
	subscribed map[string]bool
	era        int // of the rights, when it was made
	since      uint64
}

// change is one action that may be replayed.
type change struct {
	seq   uint64
	bytes int
	older bool // about a service that is not the newest
}

// model is the contract, acted out.
type model struct {
	world  *world
	core   *relay.Core
	config relay.Config
	names  names

	conns    []*conn // all that are not gone, in the order of opening
	services []*service
	calls    []*call
	ids      map[string]bool // service and relay ids ever made
	memories []memory        // oldest first
	changes  []change
	seq      uint64
	loose    bool                // seq may have grown by more than is known
	era      int                 // grows with every change of rights
	stories  map[string][]moment // what each client has heard

	draining bool
	until    time.Duration
	drained  bool

	group    []demand // expectations whose order is open; nil: there is an order
	groups   int
	closings int // by the relay, since it last had occasion to look after memory
	line     int // number of the line being handled, for names

	counts counts
	tally  Tally
}

// counts is what the counters of the core must add up to.
type counts struct {
	lines, notifies, forwarded, dropped, requests, endings uint64
	fuzzy                                                  bool // output was lost before it could be seen
}

func newModel(w *world, config relay.Config, t Tally) *model {
	m := &model{world: w, core: w.core, tally: t, config: config, names: names{}, ids: map[string]bool{}, seq: boot.Seq, stories: map[string][]moment{}}
	w.model = m
	return m
}

func (m *model) now() time.Duration { return m.world.now }

// conn returns the connection of a transport, nil when it is gone.
func (m *model) conn(e *end) *conn {
	for _, c := range m.conns {
		if c.end == e {
			return c
		}
	}
	return nil
}

// live reports whether c takes part in anything.
func (c *conn) live() bool { return c.phase <= phaseOpen }

// quotas returns the configuration of a principal.
func (m *model) quotas(principal string) relay.Principal {
	for _, p := range m.config.Principals {
		if p.Name == principal {
			return p
		}
	}
	return relay.Principal{Name: principal}
}

// use is what a principal has taken.
type use struct{ connections, services, inflight, bytes int }

func (m *model) used(principal string) (u use) {
	for _, c := range m.conns {
		if c.principal == principal && (c.phase == phaseNew || c.phase == phaseOpen) {
			u.connections++
		}
	}
	for _, s := range m.services {
		if s.owner.principal == principal {
			u.services++
			u.bytes += len(s.object)
		}
	}
	for _, k := range m.calls {
		if k.caller != nil && k.payer == principal {
			u.inflight++
		}
	}
	return u
}

// over reports whether n is more than a limit, where 0 is none.
func over(n, limit int) bool { return limit > 0 && n > limit }
