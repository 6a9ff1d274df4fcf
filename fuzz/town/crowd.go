package town

import (
	"net"
	"time"
)

// Crowd opens up to so many connections that say nothing.
func Crowd(addr string, count int) (list []net.Conn) {
	for range count {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			return list
		}
		list = append(list, c)
	}
	return list
}
