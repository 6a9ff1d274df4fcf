package config

import (
	"testing"

	"github.com/ahprelay/ahprelay/relay"
)

func TestBudget(t *testing.T) {
	l := relay.DefaultLimits()
	l.ConnectionsMax = 100
	b := NewBudget(l, Memory{CgroupBytes: 1 << 30, MachineBytes: 1 << 33}, 1024)
	want := map[string]int64{
		"outputs": 100 * 64 << 20, "tails": 100 << 20, "catalogue": 32 << 20, "replay": 32 << 20,
		"connections": 100 * 4096, "program": 16 << 20, "resume": 4096 * (320 + 128),
	}
	var beside int64
	for _, item := range b.Items {
		if bytes, ok := want[item.Name]; ok && item.Bytes != bytes {
			t.Errorf("%s: %d, want %d", item.Name, item.Bytes, bytes)
		}
		if !item.Pooled {
			beside += item.Bytes
		}
	}
	if b.MemoryBytesMax != 1<<29 || b.PooledBytes != 1<<29 || b.BesideBytes != beside || b.TotalBytes != 1<<29+beside {
		t.Errorf("%+v", b)
	}
	l.ReplayActions, l.ConnectionsMax, l.MemoryBytesMax = 10, 1, 1<<40
	b = NewBudget(l, Memory{}, 1024)
	if want := int64(64<<20 + 1<<20 + 32<<20 + 10*(16384+512)); b.PooledBytes != want {
		t.Errorf("pooled %d, want the sum %d, which is less than memory_bytes_max", b.PooledBytes, want)
	}
}

func TestConnections(t *testing.T) {
	for _, tc := range []struct{ configured, files, want int }{
		{0, 1024, 872}, {100, 1024, 100}, {5000, 1024, 872}, {0, 30, 1}, {0, 0, 1},
	} {
		if got := connections(tc.configured, tc.files); got != tc.want {
			t.Errorf("%d of %d: %d, want %d", tc.configured, tc.files, got, tc.want)
		}
	}
}
