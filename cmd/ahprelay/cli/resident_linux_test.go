package cli

import (
	"os"
	"slices"
	"strings"
	"testing"
)

const smaps = `00400000-00e00000 r-xp 00000000 08:01 1234                       /usr/bin/ahprelay
Rss:                4096 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
00e00000-01a00000 r--p 00a00000 08:01 1234                       /usr/bin/ahprelay
Anonymous:             4 kB
01a00000-01b00000 r--p 01600000 08:01 1234                       /usr/bin/ahprelay
Anonymous:             0 kB
01b00000-01c00000 rw-p 01700000 08:01 1234                       /usr/bin/ahprelay
Anonymous:             0 kB
c000000000-c000400000 rw-p 00000000 00:00 0                      [anon: Go: heap]
Anonymous:             0 kB
7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0                  [vdso]
Anonymous:             0 kB
7ffd00002000-7ffd00001000 r--p 00000000 00:00 0                  /broken
Anonymous:             0 kB
`

func TestFileMappings(t *testing.T) {
	got := fileMappings(strings.NewReader(smaps))
	if want := []mapping{{0x400000, 0xe00000}, {0x1a00000, 0x1b00000}}; !slices.Equal(got, want) {
		t.Errorf("got %#x, want %#x", got, want)
	}
}

// TestShrink: the program goes on as before.
func TestShrink(t *testing.T) {
	own, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip("there is no /proc")
	}
	defer own.Close()
	if len(fileMappings(own)) == 0 {
		t.Error("this program has no mapping of its file")
	}
	shrink()
	TestPrintable(t)
	TestFileMappings(t)
}
