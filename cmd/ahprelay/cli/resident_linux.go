package cli

import (
	"bufio"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// shrink gives back the memory that starting took and running does not need: the heap of the package
// initializers, and the pages of this program's file that they touched. A Go program touches most of its
// read-only data when it starts (the runtime's tables, every package's initializers), and the kernel maps
// whole neighbourhoods around each page: of a relay's idle memory, four fifths would be file pages that
// are never read again. They stay in the page cache; what is needed again is mapped again.
func shrink() {
	debug.FreeOSMemory()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return // no /proc: nothing is lost but memory
	}
	defer func() { _ = f.Close() }()
	for _, m := range fileMappings(f) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ start, end uintptr }

// fileMappings returns, from the text of an smaps file, what is mapped read-only from files and has no
// page that differs from its file: such a page (a relocation, a debugger's breakpoint) would be lost.
func fileMappings(smaps io.Reader) []mapping {
	var all []mapping
	var candidate mapping
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 6 && strings.Contains(fields[0], "-") {
			candidate = mapping{}
			if fields[1] == "r--p" || fields[1] == "r-xp" {
				candidate = parseMapping(fields[0], fields[5])
			}
			continue
		}
		if len(fields) == 3 && fields[0] == "Anonymous:" && fields[1] == "0" && candidate.end > 0 {
			all = append(all, candidate)
		}
	}
	return all
}

func parseMapping(addresses, path string) mapping {
	if !strings.HasPrefix(path, "/") { // [vdso] and the like
		return mapping{}
	}
	from, to, _ := strings.Cut(addresses, "-")
	start, err := strconv.ParseUint(from, 16, strconv.IntSize)
	if err != nil {
		return mapping{}
	}
	end, err := strconv.ParseUint(to, 16, strconv.IntSize)
	if err != nil || end < start {
		return mapping{}
	}
	return mapping{uintptr(start), uintptr(end)}
}
