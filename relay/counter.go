package relay

import "time"

// Drop says why a notification was not forwarded.
type Drop uint8

const (
	DropMalformed Drop = iota
	DropUnauthenticated
	DropUnknownService // unknown, stale or invisible
	DropNotAllowed
	DropOverload
	drops
)

var dropNames = [drops]string{"malformed", "unauthenticated", "unknownService", "notAllowed", "overload"}

// String is the word used in metrics.
func (d Drop) String() string { return dropNames[d] }

// Outcome says how a request that was forwarded ended.
type Outcome uint8

const (
	OutcomeResult Outcome = iota
	OutcomeError
	OutcomeMalformed
	OutcomeTimeout
	OutcomeCancelled
	OutcomeUnavailable
	OutcomeNotAllowed
	OutcomeCallerGone
	outcomes
)

var outcomeNames = [outcomes]string{"result", "error", "malformed", "timeout", "cancelled", "unavailable", "notAllowed", "callerGone"}

// String is the word used in metrics.
func (o Outcome) String() string { return outcomeNames[o] }

// Counters only grow. The owner of the core reads them between calls.
type Counters struct {
	Opened, Refused     uint64 // connections
	BytesIn, BytesOut   uint64
	FramesIn, FramesOut uint64
	in, out             [kinds]Traffic // see Received and Sent
	ProtocolErrors      uint64         // lines answered with -32700 or -32600
	Ignored             uint64         // notifications that the relay acts on, without effect
	NotifyForwarded     uint64
	NotifyDropped       [drops]uint64
	RequestsForwarded   uint64
	RequestsRefused     uint64 // answered by the relay without being forwarded
	Requests            [outcomes]uint64
	AnswersDropped      uint64 // to no request of theirs
	AnswersLate         uint64
	Actions             uint64
	Closed              [reasons]uint64 // by the relay
	Reloads             uint64

	// Durations of requests: DurationBuckets[i] counts those of at most DurationBounds[i].
	DurationBuckets [len(DurationBounds) + 1]uint64
	DurationSum     time.Duration
}

// DurationBounds are the upper bounds of the request duration histogram; what is longer counts in the
// last bucket.
var DurationBounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 30 * time.Second,
}

func (k *Counters) observe(d time.Duration) {
	i := 0
	for i < len(DurationBounds) && d > DurationBounds[i] {
		i++
	}
	k.DurationBuckets[i]++
	k.DurationSum += d
}

// Counters returns the counters as they are now.
func (c *Core) Counters() *Counters { return &c.counters }

// Gauges are levels, as they are now.
type Gauges struct {
	Connections, Services, Observers, Inflight, Ghosts int
	CatalogBytes, ReplayBytes, Replayable, Resumable   int
	QueueBytes                                         int64 // outputs and tails
	Memory, MemoryMax                                  int64
	Seq                                                uint64
}

// Gauges returns the levels as they are now.
func (c *Core) Gauges() Gauges {
	return Gauges{
		Connections: c.live, Services: c.services.Len(), Observers: len(c.observers), Inflight: c.slots.Live, Ghosts: c.slots.Ghosts,
		CatalogBytes: c.services.Bytes, ReplayBytes: c.replay.Bytes, Replayable: c.replay.Len(), Resumable: c.resume.Len(),
		QueueBytes: c.memory, Memory: c.Memory(), MemoryMax: c.reclaim, Seq: c.seq,
	}
}
