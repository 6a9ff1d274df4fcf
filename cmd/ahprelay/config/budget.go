package config

import (
	"fmt"
	"unsafe"

	"github.com/ahprelay/ahprelay/relay"
	"github.com/ahprelay/ahprelay/table"
)

// Item is one thing that takes memory, at its largest.
type Item struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	How    string `json:"how"`    // the reckoning, in the names of the configuration
	Pooled bool   `json:"pooled"` // counted against memory_bytes_max
}

// Budget says where memory can go under a configuration.
type Budget struct {
	MemoryBytesMax int64  `json:"memoryBytesMax"` // as it comes to here
	CgroupBytes    int64  `json:"cgroupBytes"`    // 0: no limit
	MachineBytes   int64  `json:"machineBytes"`   // 0: unknown
	Connections    int    `json:"connections"`    // as connections_max comes to here
	Items          []Item `json:"items"`
	PooledBytes    int64  `json:"pooledBytes"` // of pooled items, at most MemoryBytesMax
	BesideBytes    int64  `json:"besideBytes"` // of the others
	TotalBytes     int64  `json:"totalBytes"`
}

// What an entry of a table costs beside its payload: maps, lists, allocation classes. Measured once,
// rounded up.
const (
	envelopeBytes   = 512      // around metadata in a catalogue action
	connectionBytes = 4 << 10  // of an idle connection, the goal of the design
	resumeBytes     = 320      // of a remembered clientId, beside the id itself
	programBytes    = 16 << 20 // idle
	catalogEntry    = 128      // of a service beside its table entry
)

// NewBudget reckons with limits l on a system with memory m whose processes may have files descriptors.
func NewBudget(l relay.Limits, m Memory, files int) Budget {
	b := Budget{MemoryBytesMax: m.Resolve(l.MemoryBytesMax), CgroupBytes: m.CgroupBytes, MachineBytes: m.MachineBytes, Connections: connections(l.ConnectionsMax, files)}
	n := int64(b.Connections)
	pooled := func(name string, bytes int64, how string, args ...any) {
		b.Items = append(b.Items, Item{name, bytes, fmt.Sprintf(how, args...), true})
		b.PooledBytes += bytes
	}
	beside := func(name string, bytes int64, how string, args ...any) {
		b.Items = append(b.Items, Item{name, bytes, fmt.Sprintf(how, args...), false})
		b.BesideBytes += bytes
	}
	pooled("outputs", n*int64(l.QueueBytesHard), "%d connections × queue_bytes_hard %d", n, l.QueueBytesHard)
	pooled("tails", n*int64(l.FrameBytesMax), "%d connections × frame_bytes_max %d", n, l.FrameBytesMax)
	pooled("catalogue", int64(l.CatalogBytesMax), "catalog_bytes_max")
	pooled("replay", min(int64(l.ReplayActions)*int64(l.MetadataBytesMax+envelopeBytes), int64(l.CatalogBytesMax)),
		"replay_actions %d × (metadata_bytes_max %d + %d), at most catalog_bytes_max", l.ReplayActions, l.MetadataBytesMax, envelopeBytes)

	service := int64(unsafe.Sizeof(table.Service{})) + catalogEntry
	beside("services", int64(l.ServicesMax)*service, "services_max %d × %d", l.ServicesMax, service)
	slot := 2 * (int64(unsafe.Sizeof(table.Slot{})) + int64(l.IDBytesMax) + 8)
	beside("slots", int64(l.SlotsMax)*slot, "slots_max %d × %d", l.SlotsMax, slot)
	client := int64(resumeBytes + l.ClientIDBytesMax)
	beside("resume", int64(l.ResumeEntries)*client, "resume_entries %d × %d", l.ResumeEntries, client)
	beside("connections", n*connectionBytes, "%d connections × %d", n, connectionBytes)
	beside("program", programBytes, "idle")

	b.PooledBytes = min(b.PooledBytes, b.MemoryBytesMax)
	b.TotalBytes = b.PooledBytes + b.BesideBytes
	return b
}

// connections is what connections_max comes to with that many descriptors: about what the event loop
// will choose, which knows how many are open then.
func connections(configured, files int) int {
	const reserve, open = 128, 24
	most := max(1, files-min(reserve, files/3)-open)
	if configured == 0 || configured > most {
		return most
	}
	return configured
}
