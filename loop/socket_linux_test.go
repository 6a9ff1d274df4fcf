package loop

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ahprelay/ahprelay/relay"
)

// A peer that is dead without a word is noticed within a minute: by probes, or by data that it does not
// acknowledge.
func TestDeadPeersAreLookedFor(t *testing.T) {
	s := run(t, nil)
	hello(t, s.addr, "a").quiet()
	got := map[string]int{}
	s.inspect(func(*relay.Core) {
		for _, c := range s.reactor.conns {
			for name, option := range map[string][2]int{
				"keepalive": {unix.SOL_SOCKET, unix.SO_KEEPALIVE}, "idle": {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE},
				"interval": {unix.IPPROTO_TCP, unix.TCP_KEEPINTVL}, "count": {unix.IPPROTO_TCP, unix.TCP_KEEPCNT},
				"user timeout": {unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT}, "no delay": {unix.IPPROTO_TCP, unix.TCP_NODELAY},
			} {
				value, err := unix.GetsockoptInt(c.fd, option[0], option[1])
				if err != nil {
					t.Error(name, err)
				}
				got[name] = value
			}
		}
	})
	want := map[string]int{"keepalive": 1, "idle": 15, "interval": 10, "count": 3, "user timeout": 45000, "no delay": 1}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %d, want %d", name, got[name], value)
		}
	}
	if got["idle"]+got["interval"]*got["count"] > 60 || got["user timeout"] > 60000 {
		t.Error("it takes more than a minute")
	}
}
