package relaytest

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// Line is a stretch of network between a client and a relay, which can be cut.
type Line struct {
	URL    string // to dial instead of the relay's
	target string

	mu    sync.Mutex
	conns map[net.Conn]bool
	wg    sync.WaitGroup
}

// NewLine makes a line to the relay at url, until the test ends.
func NewLine(t testing.TB, url string) *Line {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	line := &Line{URL: "tcp://" + l.Addr().String(), target: strings.TrimPrefix(url, "tcp://"), conns: map[net.Conn]bool{}}
	line.wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			line.wg.Go(func() { line.carry(near) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		line.Cut()
		line.wg.Wait()
	})
	return line
}

// Cut ends the connections that there are. New ones can be made.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.Close()
	}
}

// carry connects near with the relay until either end closes.
func (l *Line) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", l.target)
	if err != nil {
		return
	}
	defer far.Close()
	l.mu.Lock()
	l.conns[near] = true
	l.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() {
		io.Copy(far, near)
		far.Close()
		near.Close()
	})
	io.Copy(near, far)
	far.Close()
	near.Close()
	wg.Wait()
	l.mu.Lock()
	delete(l.conns, near)
	l.mu.Unlock()
}
