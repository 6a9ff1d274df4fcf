//go:build !linux

package loop

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// peerUID returns the user id of the process at the other end of a Unix socket, -1 if unknown.
func peerUID(c *net.UnixConn) int {
	uid := -1
	control(c, func(fd int) {
		if cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED); err == nil {
			uid = int(cred.Uid)
		}
	})
	return uid
}

// setUserTimeout does nothing: keep-alive probes find a dead peer here.
func setUserTimeout(*net.TCPConn, time.Duration) {}
