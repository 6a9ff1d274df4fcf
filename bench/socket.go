//go:build linux

package bench

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// socket is one non-blocking connection of the generator.
type socket struct {
	fd      int
	poll    *poller
	index   int32 // in poll.sockets
	out     []byte
	blocked bool // the kernel took no more; waiting for it to become writable
	paused  bool // nothing is read
	sink    sink // nil: nothing may arrive
	closed  bool
}

// sink takes what a socket reads. The slice is overwritten by the next read.
type sink interface {
	accept(buf []byte) error
}

// detach takes the descriptor away from conn, which is closed: reads and writes go past Go's poller
// from here on. Nothing may be buffered above conn.
func detach(conn net.Conn) (int, error) {
	sys, ok := conn.(syscall.Conn)
	if !ok {
		return -1, fmt.Errorf("detaching %T: no descriptor", conn)
	}
	raw, err := sys.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("detaching a connection: %w", err)
	}
	fd, dupErr := -1, error(nil)
	err = raw.Control(func(old uintptr) {
		fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err = errors.Join(err, dupErr, conn.Close()); err != nil {
		if fd >= 0 {
			err = errors.Join(err, unix.Close(fd))
		}
		return -1, fmt.Errorf("detaching a connection: %w", err)
	}
	return fd, nil
}

// flush writes what waits in out, as far as the kernel takes it.
func (s *socket) flush() error {
	for len(s.out) > 0 {
		n, err := unix.Write(s.fd, s.out)
		switch {
		case err == nil:
			s.out = s.out[n:]
		case errors.Is(err, unix.EAGAIN):
			return s.block(true)
		case errors.Is(err, unix.EINTR):
		default:
			return fmt.Errorf("writing: %w", err)
		}
	}
	if s.blocked {
		return s.block(false)
	}
	return nil
}

func (s *socket) block(blocked bool) error {
	if s.blocked == blocked {
		return nil
	}
	s.blocked = blocked
	return s.poll.arm(s)
}

// pause stops or resumes reading.
func (s *socket) pause(paused bool) error {
	s.paused = paused
	return s.poll.arm(s)
}

// fill reads once into scratch and hands it to the sink.
func (s *socket) fill(scratch []byte) error {
	n, err := unix.Read(s.fd, scratch)
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
		return nil
	case err != nil:
		return fmt.Errorf("reading: %w", err)
	case n == 0:
		return fmt.Errorf("reading: the server closed the connection: %w", io.ErrUnexpectedEOF)
	case s.sink == nil:
		return fmt.Errorf("reading: unexpected %s", quote(scratch[:n]))
	}
	return s.sink.accept(scratch[:n])
}

// close resets the connection, so that no run leaves thousands of ports in TIME_WAIT.
func (s *socket) close() {
	if s.closed {
		return
	}
	s.closed = true
	// Failures are of no consequence: the descriptor goes away either way.
	_ = unix.SetsockoptLinger(s.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	_ = unix.Close(s.fd)
}

// quote shows the beginning of what was read in an error message.
func quote(b []byte) string {
	const limit = 160
	if len(b) > limit {
		return fmt.Sprintf("%q… (%d bytes)", b[:limit], len(b))
	}
	return fmt.Sprintf("%q", b)
}
