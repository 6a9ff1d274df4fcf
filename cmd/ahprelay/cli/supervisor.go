package cli

import (
	"net"
	"strings"
)

// supervisor is who started the relay and wants to know how it is, as systemd does with sd_notify(3).
type supervisor struct {
	socket string // of NOTIFY_SOCKET, "" when nobody wants to know
}

// tell sends assignments such as READY=1. It never fails: a supervisor that went away is no reason to.
func (s supervisor) tell(assignments ...string) {
	if s.socket == "" {
		return
	}
	name := s.socket
	if strings.HasPrefix(name, "@") {
		name = "\x00" + name[1:] // Linux's abstract namespace
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return
	}
	_, _ = c.Write([]byte(strings.Join(assignments, "\n")))
	_ = c.Close()
}
