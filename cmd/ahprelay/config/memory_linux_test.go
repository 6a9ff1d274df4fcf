package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMemoryUnder(t *testing.T) {
	const meminfo = "MemTotal:        2048 kB\nMemFree:          1 kB\n"
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  Memory
	}{
		{"nothing", nil, Memory{}},
		{"no cgroup", map[string]string{"proc/meminfo": meminfo}, Memory{0, 2048 << 10}},
		{"v2, the parent is tighter", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "1000000\n", "sys/fs/cgroup/a/memory.max": "900000\n",
		}, Memory{900000, 2048 << 10}},
		{"v2 unlimited", map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, Memory{}},
		{"v2 in a container", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "123456\n"}, Memory{123456, 0}},
		{"v1", map[string]string{
			"proc/self/cgroup":                                    "12:cpu,cpuacct:/x\n5:memory:/docker/f\n0::/y\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":          "9223372036854771712\n",
			"sys/fs/cgroup/memory/docker/memory.limit_in_bytes":   "77777\n",
			"sys/fs/cgroup/memory/docker/f/memory.limit_in_bytes": "88888\n",
		}, Memory{77777, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range tc.files {
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := memoryUnder(root); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
	if SystemMemory().MachineBytes < 1<<20 {
		t.Error("this machine has no memory")
	}
}

func TestMemory(t *testing.T) {
	for _, tc := range []struct {
		m                    Memory
		configured, resolved int64
		err                  string
	}{
		{Memory{100, 1000}, 0, 50, ""},
		{Memory{1000, 100}, 0, 50, ""},
		{Memory{0, 100}, 100, 100, ""},
		{Memory{}, 0, 1 << 30, ""},
		{Memory{}, 1 << 40, 1 << 40, ""},
		{Memory{100, 1000}, 101, 101, "limits.memory_bytes_max is 101, but the cgroup has 100 bytes of memory; lower it, or set 0 for half of that"},
		{Memory{0, 100}, 101, 101, "limits.memory_bytes_max is 101, but the machine has 100 bytes of memory; lower it, or set 0 for half of that"},
	} {
		if got := tc.m.Resolve(tc.configured); got != tc.resolved {
			t.Errorf("%+v: %d resolves to %d, want %d", tc.m, tc.configured, got, tc.resolved)
		}
		err := tc.m.Check(tc.configured)
		if err == nil && tc.err != "" || err != nil && err.Error() != tc.err {
			t.Errorf("%+v: %v, want %s", tc.m, err, tc.err)
		}
	}
}
