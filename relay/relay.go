// Package relay is the core: a pure state machine that takes bytes, a peer and the time, and yields
// bytes for each peer. It knows no socket, goroutine, clock or lock; one goroutine owns it.
//
// The walk of a message: Receive frames the bytes and parses each line (receive.go), dispatch.go sorts it by
// kind and method, and one file a noun does the work: lifecycle.go, subscribe.go, catalog.go, notify.go,
// request.go, answer.go, authenticate.go. What is to be sent waits in the destination's output
// (output.go) until the owner of the core drains it: Dirty, then Take and Wrote until quiet.
//
// Lines alias the bytes given to Receive, or a peer's unfinished tail; nothing keeps them, so they need
// to live only until Receive returns. What Take returns lives until Wrote or Closed for that peer.
package relay

import (
	"encoding/hex"
	"math/rand/v2"
	"time"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/table"
)

// PeerID names one connection: its index in the table and, above 32 bits, how often that was used.
type PeerID uint64

// PeerInfo is what the transport knows of a connection.
type PeerInfo struct {
	Transport string   // tcp, unix, …
	Remote    string   // for logs
	UID       int      // of the peer of a Unix socket, -1 otherwise
	CertNames []string // of a verified client certificate: common name and subject alternative names
}

// Core is the relay's state. The zero value is of no use; call New.
type Core struct {
	config  Config
	limits  Limits // config.Limits, at hand
	policy  *policy
	usages  []*usage // by principal name, stable across reloads
	rights  uint64   // the latest rights epoch of any principal
	epoch   uint32   // of the configuration: what was remembered under an earlier one does not count
	now     time.Duration
	seq     uint64 // the latest serverSeq
	reclaim int64  // memory_bytes_max

	peers     []*peer
	free      []uint32
	clients   map[string]*peer // live connections by clientId
	observers []*peer          // subscribed to the catalogue
	live      int              // peers in the table
	admitted  int              // peers that count against connections_max
	surplus   int

	services *table.Services
	slots    *table.Slots
	replay   *table.Replay
	resume   *table.Resume
	timers   table.Wheel // of slots by index
	alarms   table.Wheel // of peers by index

	memory    int64 // bytes held by outputs and tails
	leaving   int64 // held by the condemned
	pressure  int   // of unsent output that its peer may yet take: ReceiveSome stops at it
	pressed   bool  // it has been reached
	dirty     []uint32
	condemned []verdict
	message   codec.Message
	scratch   []byte
	random    *rand.Rand
	token     *rand.ChaCha8

	draining   bool
	drainUntil time.Duration
	drained    bool

	counters Counters
	notes    noteRing
	tap      Tap // nil: nobody taps
}

// New returns a core for a valid configuration. The boot makes its ids differ from those of every other
// process; seed feeds resume tokens and jitter and should be random.
func New(config Config, boot table.Boot, seed [32]byte) (*Core, error) {
	if err := config.Limits.Validate(); err != nil {
		return nil, err
	}
	c := &Core{clients: map[string]*peer{}, seq: boot.Seq}
	p, err := c.compile(&config)
	if err != nil {
		return nil, err
	}
	l := config.Limits
	c.policy = p
	c.services = table.NewServices(l.ServicesMax, boot.Tag)
	c.slots = table.NewSlots(l.SlotsMax, l.IDBytesMax, boot.Salt)
	c.replay = table.NewReplay(l.ReplayActions, l.CatalogBytesMax, c.seq)
	c.resume = table.NewResume(l.ResumeEntries)
	c.token = rand.NewChaCha8(seed)
	c.random = rand.New(c.token)
	c.adopt(config)
	return c, nil
}

// adopt makes config the one in force, policy aside.
func (c *Core) adopt(config Config) {
	c.config, c.limits = config, config.Limits
	c.epoch++
	c.slots.GrowIDs(c.limits.IDBytesMax)
	c.reclaim = config.Limits.MemoryBytesMax
	if c.reclaim == 0 {
		c.reclaim = 1 << 62
	}
}

// NextDeadline returns when Tick should be called at the latest; false: not until something happens.
func (c *Core) NextDeadline() (time.Duration, bool) {
	at, ok := c.timers.Next()
	if a, aok := c.alarms.Next(); aok && (!ok || a < at) {
		at, ok = a, true
	}
	if c.draining && !c.Drained() && (!ok || c.drainUntil < at) {
		at, ok = c.drainUntil, true
	}
	return at, ok
}

// Tick lets time pass: it ends what has run out by now.
func (c *Core) Tick(now time.Duration) {
	c.now = now
	c.timers.Advance(now)
	for {
		i, ok := c.timers.Pop()
		if !ok {
			break
		}
		c.expire(i)
	}
	c.alarms.Advance(now)
	for {
		i, ok := c.alarms.Pop()
		if !ok {
			break
		}
		c.alarm(c.peers[i])
	}
	c.settle()
}

// settle carries out the closings that came up while something else was being done, and looks after a
// drain. Every entry point ends with it.
func (c *Core) settle() {
	c.boundMemory()
	for i := 0; i < len(c.condemned); i++ { // closing one may condemn others
		v := c.condemned[i]
		c.close(v.peer, v.reason, v.message)
	}
	clear(c.condemned)
	c.condemned, c.leaving = c.condemned[:0], 0
	if c.draining {
		c.settleDrain()
	}
}

// Memory is the number of bytes held by outputs, tails, catalogue and replay of all connections.
func (c *Core) Memory() int64 { return c.memory + int64(c.services.Bytes) + int64(c.replay.Bytes) }

// Peers is the number of connections in the table, closing ones included.
func (c *Core) Peers() int { return c.live }

// newToken returns 128 random bits in hexadecimal.
func (c *Core) newToken() string {
	var b [16]byte
	_, _ = c.token.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
