package config

import "golang.org/x/sys/unix"

// SystemMemory reads the machine's memory; there are no cgroups here.
func SystemMemory() Memory {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return Memory{}
	}
	return Memory{MachineBytes: int64(n)}
}
