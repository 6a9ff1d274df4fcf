package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
)

// serveBytes is the first floor: it joins two connections that name the same pair and copies bytes
// between them, without looking at them.
func serveBytes(ctx context.Context, port int) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	defer l.Close()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	m := &matchmaker{waiting: map[string]net.Conn{}}
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accepting: %w", err)
		}
		go m.welcome(conn)
	}
}

// matchmaker brings the two connections of a pair together.
type matchmaker struct {
	mu      sync.Mutex
	waiting map[string]net.Conn
}

// welcome reads the first line, which names the pair. The peer says nothing more before it is told
// "ok", so nothing is lost in the reader's buffer.
func (m *matchmaker) welcome(conn net.Conn) {
	name, err := bufio.NewReaderSize(conn, 64).ReadString('\n')
	if err != nil || !strings.HasPrefix(name, "pair ") {
		conn.Close()
		return
	}
	m.mu.Lock()
	first := m.waiting[name]
	if first == nil {
		m.waiting[name] = conn
	} else {
		delete(m.waiting, name)
	}
	m.mu.Unlock()
	if _, err := conn.Write([]byte("ok\n")); err != nil || first == nil {
		return
	}
	go pump(first, conn)
	pump(conn, first)
}

// pump copies through memory: io.Copy would splice inside the kernel, which no relay that looks at
// what it carries can do.
func pump(to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 256<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
