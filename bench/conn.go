//go:build linux

package bench

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"time"
)

// setupTimeout bounds each step of joining a server.
const setupTimeout = 20 * time.Second

// Conn is a blocking connection while a member joins; the run takes its descriptor afterwards.
type Conn struct {
	net.Conn
	in *bufio.Reader
}

// Dial connects to tcp://host:port or unix:///path.
func Dial(addr string) (*Conn, error) {
	network, rest, ok := strings.Cut(addr, "://")
	if !ok || network != "tcp" && network != "unix" {
		return nil, fmt.Errorf("connecting to %q: want tcp://host:port or unix:///path", addr)
	}
	conn, err := net.DialTimeout(network, rest, setupTimeout)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", addr, err)
	}
	if err := conn.SetDeadline(time.Now().Add(setupTimeout)); err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", addr, err)
	}
	return &Conn{Conn: conn, in: bufio.NewReaderSize(conn, 4096)}, nil
}

// Say writes text.
func (c *Conn) Say(text string) error {
	if _, err := c.Write([]byte(text)); err != nil {
		return fmt.Errorf("joining: %w", err)
	}
	return nil
}

// Line reads up to the next LF, which is cut off together with a CR before it.
func (c *Conn) Line() (string, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("joining: after %q: %w", line, err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), nil
}

// Await reads lines up to the one that begins with prefix, and returns it.
func (c *Conn) Await(prefix string) (string, error) {
	for {
		line, err := c.Line()
		if err != nil || strings.HasPrefix(line, prefix) {
			return line, err
		}
	}
}

// Read reads through the buffer that Line fills.
func (c *Conn) Read(b []byte) (int, error) { return c.in.Read(b) }

// release takes the descriptor for the run, and what was read beyond the last answer.
func (c *Conn) release() (fd int, rest []byte, err error) {
	rest, _ = c.in.Peek(c.in.Buffered()) // that many are there
	if err := c.SetDeadline(time.Time{}); err != nil {
		return -1, nil, fmt.Errorf("joining: %w", err)
	}
	fd, err = detach(c.Conn)
	return fd, rest, err
}
