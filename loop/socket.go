package loop

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ahprelay/ahprelay/relay"
)

const (
	surplusMax  = 64 // connections beyond the limit that may wait for their refusal
	reserveMost = surplusMax + 64
)

// control calls f with the descriptor of a connection.
func control(c syscall.Conn, f func(fd int)) {
	raw, err := c.SyscallConn()
	if err == nil {
		_ = raw.Control(func(fd uintptr) { f(int(fd)) })
	}
}

// raiseFileLimit raises the soft limit of open files to the hard one.
func raiseFileLimit() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil && limit.Cur < limit.Max {
		limit.Cur = limit.Max
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	}
}

// withFileLimit fits connections_max, where it is automatic or too high, to the limit of open files less
// a reserve: for what is open already, for connections that wait for their refusal, and for handing
// connections over.
func withFileLimit(config relay.Config) relay.Config {
	var limit unix.Rlimit
	config.SurplusMax = surplusMax
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return config
	}
	files := int(min(limit.Cur, 1<<22))
	reserve := min(reserveMost, files/3)
	most := max(1, files-reserve-openFiles())
	config.SurplusMax = max(1, min(surplusMax, reserve-8))
	if config.Limits.ConnectionsMax == 0 || config.Limits.ConnectionsMax > most {
		config.Limits.ConnectionsMax = most
	}
	return config
}

// openFiles is about how many descriptors are open, those that the start will still open included.
func openFiles() int {
	const more = 12
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return 16 + more
	}
	return len(entries) + more
}

// newAnchor returns a connection that never carries anything, and its other end, to be kept open.
// Enrolled in the event loop the connection is the way to get hold of the loop, and its closing tells
// that the loop has ended.
func newAnchor() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	near, far := os.NewFile(uintptr(fds[0]), "anchor"), os.NewFile(uintptr(fds[1]), "anchor")
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	conn, err := net.FileConn(near) // duplicates
	_ = near.Close()
	if err != nil {
		_ = far.Close()
		return nil, nil, err
	}
	return conn, far, nil
}
