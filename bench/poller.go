//go:build linux

package bench

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// poller is a level-triggered epoll set over the sockets of one engine.
type poller struct {
	fd      int
	sockets []*socket
	events  [256]unix.EpollEvent
}

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making an epoll set: %w", err)
	}
	return &poller{fd: fd}, nil
}

// add takes over the descriptor.
func (p *poller) add(fd int) (*socket, error) {
	s := &socket{fd: fd, poll: p, index: int32(len(p.sockets))}
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: s.index}
	if err := unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return nil, errors.Join(fmt.Errorf("watching a socket: %w", err), unix.Close(fd))
	}
	p.sockets = append(p.sockets, s)
	return s, nil
}

// arm asks for writability while s is blocked, and for input unless it is paused.
func (p *poller) arm(s *socket) error {
	ev := unix.EpollEvent{Fd: s.index}
	if !s.paused {
		ev.Events |= unix.EPOLLIN
	}
	if s.blocked {
		ev.Events |= unix.EPOLLOUT
	}
	if err := unix.EpollCtl(p.fd, unix.EPOLL_CTL_MOD, s.fd, &ev); err != nil {
		return fmt.Errorf("watching a socket: %w", err)
	}
	return nil
}

// wait returns the events that are there, after at most timeout. The slice is reused.
func (p *poller) wait(timeout time.Duration) ([]unix.EpollEvent, error) {
	ms := int(timeout / time.Millisecond)
	if timeout > 0 && ms == 0 {
		ms = 1
	}
	n, err := unix.EpollWait(p.fd, p.events[:], ms)
	if errors.Is(err, unix.EINTR) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("waiting for sockets: %w", err)
	}
	return p.events[:n], nil
}

func (p *poller) close() {
	for _, s := range p.sockets {
		s.close()
	}
	_ = unix.Close(p.fd) // nothing to do about it
}
