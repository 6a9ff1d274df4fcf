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
		if cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			uid = int(cred.Uid)
		}
	})
	return uid
}

func setUserTimeout(c *net.TCPConn, d time.Duration) {
	control(c, func(fd int) {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
	})
}
