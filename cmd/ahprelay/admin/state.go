package admin

import (
	"time"

	"github.com/goccy/go-json"

	"github.com/ahprelay/ahprelay/loop"
	"github.com/ahprelay/ahprelay/relay"
)

// Stats is everything about a relay that is one number: levels as they are, counters since its start.
// It is what /api/stats answers.
type Stats struct {
	Time          time.Time `json:"time"`
	UptimeSeconds float64   `json:"uptimeSeconds"`
	Version       string    `json:"version"`
	Ready         bool      `json:"ready"`
	Draining      bool      `json:"draining"`

	Connections    int   `json:"connections"`
	Services       int   `json:"services"`
	Subscriptions  int   `json:"subscriptions"` // connections that follow the catalogue
	Inflight       int   `json:"inflight"`
	Abandoned      int   `json:"abandoned"` // requests without a waiting caller whose owner has not answered yet
	Taps           int   `json:"taps"`
	QueueBytes     int64 `json:"queueBytes"` // unsent output and unfinished lines
	CatalogBytes   int64 `json:"catalogBytes"`
	ReplayBytes    int64 `json:"replayBytes"`
	MemoryBytes    int64 `json:"memoryBytes"` // the three together
	MemoryBytesMax int64 `json:"memoryBytesMax"`

	Opened                 uint64             `json:"opened"`
	Refused                uint64             `json:"refused"`
	Closed                 map[string]uint64  `json:"closed"`   // by the relay, by reason
	Received               map[string]Traffic `json:"received"` // by kind
	Sent                   map[string]Traffic `json:"sent"`     // queued to be sent, by kind
	BytesIn                uint64             `json:"bytesIn"`
	BytesOut               uint64             `json:"bytesOut"`
	NotificationsForwarded uint64             `json:"notificationsForwarded"`
	NotificationsDropped   map[string]uint64  `json:"notificationsDropped"` // by reason
	RequestsForwarded      uint64             `json:"requestsForwarded"`
	RequestsRefused        uint64             `json:"requestsRefused"`
	RequestsCompleted      map[string]uint64  `json:"requestsCompleted"` // by outcome
	RequestSeconds         Histogram          `json:"requestSeconds"`
	AnswersDropped         uint64             `json:"answersDropped"`
	AnswersLate            uint64             `json:"answersLate"`
	ProtocolErrors         uint64             `json:"protocolErrors"`
	Ignored                uint64             `json:"ignored"`
	CatalogActions         uint64             `json:"catalogActions"`
	Reloads                uint64             `json:"reloads"`
	ReloadsFailed          uint64             `json:"reloadsFailed"`
	TurnSeconds            Histogram          `json:"turnSeconds"`
	TurnSecondsMax         float64            `json:"turnSecondsMax"`
}

// Traffic is a number of frames and their bytes.
type Traffic struct {
	Frames uint64 `json:"frames"`
	Bytes  uint64 `json:"bytes"`
}

// Histogram counts durations: Counts[i] is of those up to Bounds[i] seconds and above the bound before;
// the last count has no bound.
type Histogram struct {
	Bounds []float64 `json:"bounds"`
	Counts []uint64  `json:"counts"`
	Sum    float64   `json:"sum"` // seconds
}

// Connection is an item of /api/connections.
type Connection struct {
	ID            string  `json:"id"` // of this process
	State         string  `json:"state"`
	ClientID      string  `json:"clientId"`
	ClientName    string  `json:"clientName,omitempty"`
	ClientVersion string  `json:"clientVersion,omitempty"`
	Principal     string  `json:"principal"`
	Transport     string  `json:"transport"`
	Remote        string  `json:"remote"`
	Protocol      string  `json:"protocol,omitempty"` // version
	AgeSeconds    float64 `json:"ageSeconds"`
	IdleSeconds   float64 `json:"idleSeconds"`
	FramesIn      uint64  `json:"framesIn"`
	BytesOut      uint64  `json:"bytesOut"`
	Services      int     `json:"services"`
	Inflight      int     `json:"inflight"`
	Observer      bool    `json:"observer"`
	QueueBytes    int     `json:"queueBytes"`
	TailBytes     int     `json:"tailBytes"`
	CatalogBytes  int     `json:"catalogBytes"`
	Blocked       bool    `json:"blocked"`
	Shedding      bool    `json:"shedding"`
}

// Service is an item of /api/services.
type Service struct {
	ServiceID string          `json:"serviceId"`
	ClientID  string          `json:"clientId"`
	Protocol  string          `json:"protocol,omitempty"`
	Metadata  json.RawMessage `json:"metadata"`
	Inflight  int             `json:"inflight"`
	Forwarded uint64          `json:"forwarded"`
	Dropped   uint64          `json:"dropped"` // notifications that its owner has not been told of yet
}

// Request is an item of /api/requests: one that is in flight.
type Request struct {
	RelayID    uint64  `json:"relayId"`
	ID         string  `json:"id"` // the caller's, as spelled
	Caller     string  `json:"caller"`
	Service    string  `json:"service"`
	Owner      string  `json:"owner"`
	Protocol   string  `json:"protocol,omitempty"`
	AgeSeconds float64 `json:"ageSeconds"`
	Abandoned  bool    `json:"abandoned"` // nobody waits for the answer any more
}

// Closing is an item of /api/closings: a connection that the relay closed, or a limit that one ran into.
type Closing struct {
	Number     uint64    `json:"number"`
	Time       time.Time `json:"time"`
	Kind       string    `json:"kind"` // closed or limit
	Reason     string    `json:"reason"`
	Detail     string    `json:"detail"`
	Remote     string    `json:"remote"`
	ClientID   string    `json:"clientId"`
	Principal  string    `json:"principal"`
	QueueBytes int       `json:"queueBytes"`
}

// List is what the routes with items answer.
type List[T any] struct {
	Time    time.Time `json:"time"`
	Total   int       `json:"total"`
	Matched int       `json:"matched"` // of Total, by what was searched for
	Items   []T       `json:"items"`   // of Matched, up to the limit
}

// stats puts the numbers of a reading in the form of the API.
func (s *Server) stats(r *reading[levels]) *Stats {
	k, g, t := &r.value.counters, &r.value.gauges, &r.value.turns
	return &Stats{
		Time: r.at, UptimeSeconds: seconds(r.now), Version: s.config.Version,
		Ready: s.isReady(), Draining: s.draining.Load() || r.value.draining,
		Connections: g.Connections, Services: g.Services, Subscriptions: g.Observers, Inflight: g.Inflight, Abandoned: g.Ghosts,
		Taps: s.taps.count(), QueueBytes: g.QueueBytes, CatalogBytes: int64(g.CatalogBytes), ReplayBytes: int64(g.ReplayBytes),
		MemoryBytes: g.Memory, MemoryBytesMax: g.MemoryMax,
		Opened: k.Opened, Refused: k.Refused, Closed: byName(k.Closed[:], relay.Reason.String),
		Received: traffic(k.Received, relay.ReceivedKinds), Sent: traffic(k.Sent, relay.SentKinds),
		BytesIn: k.BytesIn, BytesOut: k.BytesOut,
		NotificationsForwarded: k.NotifyForwarded, NotificationsDropped: byName(k.NotifyDropped[:], relay.Drop.String),
		RequestsForwarded: k.RequestsForwarded, RequestsRefused: k.RequestsRefused, RequestsCompleted: byName(k.Requests[:], relay.Outcome.String),
		RequestSeconds: histogram(relay.DurationBounds[:], k.DurationBuckets[:], k.DurationSum),
		AnswersDropped: k.AnswersDropped, AnswersLate: k.AnswersLate, ProtocolErrors: k.ProtocolErrors, Ignored: k.Ignored,
		CatalogActions: k.Actions, Reloads: k.Reloads, ReloadsFailed: s.reloadsFailed.Load(),
		TurnSeconds: turnHistogram(t), TurnSecondsMax: seconds(t.Max),
	}
}

func (s *Server) isReady() bool { return s.ready.Load() && !s.draining.Load() }

func byName[K ~uint8](counts []uint64, name func(K) string) map[string]uint64 {
	named := make(map[string]uint64, len(counts))
	for i, n := range counts {
		named[name(K(i))] = n
	}
	return named
}

func traffic(of func(relay.Kind) relay.Traffic, kinds []relay.Kind) map[string]Traffic {
	named := make(map[string]Traffic, len(kinds))
	for _, k := range kinds {
		named[k.String()] = Traffic(of(k))
	}
	return named
}

func histogram(bounds []time.Duration, counts []uint64, sum time.Duration) Histogram {
	h := Histogram{Counts: append([]uint64(nil), counts...), Sum: seconds(sum)}
	for _, b := range bounds {
		h.Bounds = append(h.Bounds, b.Seconds())
	}
	return h
}

func turnHistogram(t *loop.Turns) Histogram {
	bounds := loop.TurnBounds()
	return histogram(bounds[:], t.Buckets[:], t.Sum)
}

// seconds is d to the microsecond.
func seconds(d time.Duration) float64 { return d.Round(time.Microsecond).Seconds() }
