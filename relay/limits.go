package relay

import (
	"errors"
	"fmt"
	"time"
)

// Limits bounds what clients can make the relay do. Sizes are in bytes; a zero means off or automatic
// only where the comment says so.
type Limits struct {
	FrameBytesMax                 int           `toml:"frame_bytes_max"`                  // 1 MiB, LF excluded; as nats max_payload
	DepthMax                      int           `toml:"depth_max"`                        // 128 levels, the outermost value counting 1
	IDBytesMax                    int           `toml:"id_bytes_max"`                     // 128 bytes of a request id as spelled on the wire, quotes included
	ClientIDBytesMax              int           `toml:"client_id_bytes_max"`              // 128 bytes of decoded text
	MethodBytesMax                int           `toml:"method_bytes_max"`                 // 256 bytes of decoded text
	MetadataBytesMax              int           `toml:"metadata_bytes_max"`               // 16 KiB a service
	ProtocolErrorsMax             int           `toml:"protocol_errors_max"`              // 100 lines answered with -32700 or -32600, then the connection is closed
	ConnectionsMax                int           `toml:"connections_max"`                  // 0: RLIMIT_NOFILE less a reserve
	MemoryBytesMax                int64         `toml:"memory_bytes_max"`                 // 0: half of the smaller of the cgroup's and the machine's memory
	ServicesMax                   int           `toml:"services_max"`                     // 65,536
	ServicesPerConnectionMax      int           `toml:"services_per_connection_max"`      // 64
	CatalogBytesMax               int           `toml:"catalog_bytes_max"`                // 32 MiB of encoded ClientService objects in all
	SubscriptionsPerConnectionMax int           `toml:"subscriptions_per_connection_max"` // 16 channels
	CatalogChangesPerSecondMax    int           `toml:"catalog_changes_per_second_max"`   // 100 a connection, burst 256; 0: off
	ReplayActions                 int           `toml:"replay_actions"`                   // 4096; 0: reconnect always yields a snapshot
	ResumeEntries                 int           `toml:"resume_entries"`                   // 4096 clientIds remembered for reconnect; 0: none
	SlotsMax                      int           `toml:"slots_max"`                        // 65,536 requests in flight in all
	InflightPerConnectionMax      int           `toml:"inflight_per_connection_max"`      // 1024 requests of one caller
	InflightPerServiceMax         int           `toml:"inflight_per_service_max"`         // 4096 requests to one service
	RequestTimeout                time.Duration `toml:"request_timeout"`                  // 30 s, for a request without timeoutMs
	RequestTimeoutMax             time.Duration `toml:"request_timeout_max"`              // 10 min, the cap of timeoutMs
	HandshakeTimeout              time.Duration `toml:"handshake_timeout"`                // 10 s from accept to a finished handshake
	IdleTimeout                   time.Duration `toml:"idle_timeout"`                     // 0: off
	StallTimeout                  time.Duration `toml:"stall_timeout"`                    // 30 s without the kernel taking a byte of the waiting output
	DrainTimeout                  time.Duration `toml:"drain_timeout"`                    // 10 s for requests in flight at SIGTERM
	QueueBytesSoft                int           `toml:"queue_bytes_soft"`                 // 8 MiB; half of it for notifications, all of it for requests
	QueueBytesHard                int           `toml:"queue_bytes_hard"`                 // 64 MiB; past it the connection is closed
}

// CatalogChangesBurst is how many catalogue changes a connection may make at once before
// Limits.CatalogChangesPerSecondMax paces it.
const CatalogChangesBurst = 256

// DefaultLimits returns the limits of a relay without configuration.
func DefaultLimits() Limits {
	return Limits{
		FrameBytesMax:                 1 << 20,
		DepthMax:                      128,
		IDBytesMax:                    128,
		ClientIDBytesMax:              128,
		MethodBytesMax:                256,
		MetadataBytesMax:              16 << 10,
		ProtocolErrorsMax:             100,
		ServicesMax:                   1 << 16,
		ServicesPerConnectionMax:      64,
		CatalogBytesMax:               32 << 20,
		SubscriptionsPerConnectionMax: 16,
		CatalogChangesPerSecondMax:    100,
		ReplayActions:                 4096,
		ResumeEntries:                 4096,
		SlotsMax:                      1 << 16,
		InflightPerConnectionMax:      1024,
		InflightPerServiceMax:         4096,
		RequestTimeout:                30 * time.Second,
		RequestTimeoutMax:             10 * time.Minute,
		HandshakeTimeout:              10 * time.Second,
		StallTimeout:                  30 * time.Second,
		DrainTimeout:                  10 * time.Second,
		QueueBytesSoft:                8 << 20,
		QueueBytesHard:                64 << 20,
	}
}

// Validate reports every limit that is out of range or contradicts another, in the names of the
// configuration file.
func (l *Limits) Validate() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("limits: "+format, args...))
		}
	}
	for _, p := range []struct {
		name     string
		value    int64
		min, max int64
	}{
		{"frame_bytes_max", int64(l.FrameBytesMax), 1024, 1 << 28},
		{"depth_max", int64(l.DepthMax), 2, 1 << 16},
		{"id_bytes_max", int64(l.IDBytesMax), 1, 4096},
		{"client_id_bytes_max", int64(l.ClientIDBytesMax), 1, 4096},
		{"method_bytes_max", int64(l.MethodBytesMax), 1, 1 << 16},
		{"metadata_bytes_max", int64(l.MetadataBytesMax), 2, 1 << 28},
		{"protocol_errors_max", int64(l.ProtocolErrorsMax), 1, 1 << 30},
		{"connections_max", int64(l.ConnectionsMax), 0, 1 << 22},
		{"memory_bytes_max", l.MemoryBytesMax, 0, 1 << 50},
		{"services_max", int64(l.ServicesMax), 1, 1 << 22},
		{"services_per_connection_max", int64(l.ServicesPerConnectionMax), 1, 1 << 22},
		{"catalog_bytes_max", int64(l.CatalogBytesMax), 1, 1 << 32},
		{"subscriptions_per_connection_max", int64(l.SubscriptionsPerConnectionMax), 1, 1 << 16},
		{"catalog_changes_per_second_max", int64(l.CatalogChangesPerSecondMax), 0, 1 << 20},
		{"replay_actions", int64(l.ReplayActions), 0, 1 << 22},
		{"resume_entries", int64(l.ResumeEntries), 0, 1 << 22},
		{"slots_max", int64(l.SlotsMax), 1, 1 << 22},
		{"inflight_per_connection_max", int64(l.InflightPerConnectionMax), 1, 1 << 22},
		{"inflight_per_service_max", int64(l.InflightPerServiceMax), 1, 1 << 22},
		{"queue_bytes_soft", int64(l.QueueBytesSoft), 1, 1 << 32},
		{"queue_bytes_hard", int64(l.QueueBytesHard), 1, 1 << 32},
	} {
		refuse(p.value < p.min || p.value > p.max, "%s is %d, must be between %d and %d", p.name, p.value, p.min, p.max)
	}
	for _, p := range []struct {
		name  string
		value time.Duration
		zero  bool
	}{
		{"request_timeout", l.RequestTimeout, false},
		{"request_timeout_max", l.RequestTimeoutMax, false},
		{"handshake_timeout", l.HandshakeTimeout, false},
		{"idle_timeout", l.IdleTimeout, true},
		{"stall_timeout", l.StallTimeout, false},
		{"drain_timeout", l.DrainTimeout, true},
	} {
		refuse(p.value < 0 || p.value == 0 && !p.zero || p.value > 24*time.Hour, "%s is %v, must be positive and at most 24h", p.name, p.value)
	}
	refuse(l.MetadataBytesMax+1024 > l.FrameBytesMax, "metadata_bytes_max %d + 1024 exceeds frame_bytes_max %d", l.MetadataBytesMax, l.FrameBytesMax)
	refuse(l.QueueBytesSoft > l.QueueBytesHard, "queue_bytes_soft %d exceeds queue_bytes_hard %d", l.QueueBytesSoft, l.QueueBytesHard)
	refuse(l.CatalogBytesMax+l.FrameBytesMax > l.QueueBytesHard, "catalog_bytes_max %d + frame_bytes_max %d exceeds queue_bytes_hard %d: a snapshot must fit", l.CatalogBytesMax, l.FrameBytesMax, l.QueueBytesHard)
	refuse(l.RequestTimeout > l.RequestTimeoutMax, "request_timeout %v exceeds request_timeout_max %v", l.RequestTimeout, l.RequestTimeoutMax)
	refuse(l.InflightPerConnectionMax > l.SlotsMax, "inflight_per_connection_max %d exceeds slots_max %d", l.InflightPerConnectionMax, l.SlotsMax)
	refuse(l.ServicesPerConnectionMax > l.ServicesMax, "services_per_connection_max %d exceeds services_max %d", l.ServicesPerConnectionMax, l.ServicesMax)
	return errors.Join(errs...)
}
