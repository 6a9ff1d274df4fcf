package config

import (
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// SystemMemory reads what the machine and the cgroups above this process leave to it.
func SystemMemory() Memory { return memoryUnder("/") }

// memoryUnder reads the files of /proc and /sys below root.
func memoryUnder(root string) Memory {
	return Memory{CgroupBytes: cgroupBytes(root), MachineBytes: machineBytes(root)}
}

func machineBytes(root string) int64 {
	text, err := os.ReadFile(filepath.Join(root, "proc/meminfo"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// cgroupBytes is the least limit of the process's cgroup and those above it, v2 or v1.
func cgroupBytes(root string) int64 {
	text, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return 0
	}
	least := int64(0)
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		var mounts []string
		file := ""
		switch {
		case parts[1] == "":
			mounts, file = []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}, "memory.max"
		case strings.Contains(","+parts[1]+",", ",memory,"):
			mounts, file = []string{"sys/fs/cgroup/memory"}, "memory.limit_in_bytes"
		}
		for _, mount := range mounts {
			least = lesser(least, leastAbove(filepath.Join(root, mount), parts[2], file))
		}
	}
	return least
}

// leastAbove is the least number in file of group and of every group above it. In a container the
// names may be those of the host: what is not there says nothing, and the mount's root is the container's group.
func leastAbove(mount, group, file string) int64 {
	least := int64(0)
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		if text, err := os.ReadFile(filepath.Join(mount, group, file)); err == nil {
			n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err == nil && n < 1<<60 { // "max" in v2, a huge number in v1, mean unlimited
				least = lesser(least, n)
			}
		}
		if group == "/" {
			return least
		}
	}
}

// lesser is the smaller of two limits of which 0 is none.
func lesser(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
