package config

import "fmt"

// unknownMemoryBytes stands for the machine's memory where the kernel does not tell.
const unknownMemoryBytes = 2 << 30

// Memory is what the system lets this process use, in bytes; 0 is unknown or unlimited.
type Memory struct {
	CgroupBytes  int64
	MachineBytes int64
}

// Limit returns the smaller of the two, and its name. Where neither is known it is 0.
func (m Memory) Limit() (bytes int64, name string) {
	switch {
	case m.CgroupBytes > 0 && (m.MachineBytes == 0 || m.CgroupBytes < m.MachineBytes):
		return m.CgroupBytes, "cgroup"
	case m.MachineBytes > 0:
		return m.MachineBytes, "machine"
	}
	return 0, "system"
}

// Resolve returns memory_bytes_max as it applies here: configured, or half of Limit when that is 0.
func (m Memory) Resolve(configured int64) int64 {
	if configured != 0 {
		return configured
	}
	limit, _ := m.Limit()
	if limit == 0 {
		limit = unknownMemoryBytes
	}
	return limit / 2
}

// Check refuses a memory_bytes_max that the system could not honour: the kernel would kill the relay
// before the relay closes the connection that holds most.
func (m Memory) Check(configured int64) error {
	limit, name := m.Limit()
	if resolved := m.Resolve(configured); limit > 0 && resolved > limit {
		return fmt.Errorf("limits.memory_bytes_max is %d, but the %s has %d bytes of memory; lower it, or set 0 for half of that", resolved, name, limit)
	}
	return nil
}
