package loop

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ahprelay/ahprelay/relay"
)

// writable tells when descriptors take output again, once for each time they are watched. gnet has no
// such event to offer for bytes that it does not hold itself.
type writable struct {
	epoll int
	wake  [2]int // a pipe: closing its second end ends the watcher
	ready func([]relay.PeerID)
	ended sync.WaitGroup
}

func newWritable(ready func([]relay.PeerID)) (*writable, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	w := &writable{epoll: epoll, ready: ready}
	if err := unix.Pipe2(w.wake[:], unix.O_CLOEXEC); err != nil {
		_ = unix.Close(epoll)
		return nil, os.NewSyscallError("pipe2", err)
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: -1}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, w.wake[0], &event); err != nil {
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	return w, nil
}

// watch asks to be told of one connection; known says that its descriptor is in the set already.
func (w *writable) watch(fd int, id relay.PeerID, known bool) bool {
	event := unix.EpollEvent{Events: unix.EPOLLOUT | unix.EPOLLONESHOT, Fd: int32(uint32(id)), Pad: int32(id >> 32)}
	op := unix.EPOLL_CTL_ADD
	if known {
		op = unix.EPOLL_CTL_MOD
	}
	return unix.EpollCtl(w.epoll, op, fd, &event) == nil
}

// forget takes a descriptor out of the set, before it is closed.
func (w *writable) forget(fd int) { _ = unix.EpollCtl(w.epoll, unix.EPOLL_CTL_DEL, fd, nil) }

// start begins to watch. Whatever ready needs must be there by now.
func (w *writable) start() { w.ended.Go(w.run) }

func (w *writable) run() {
	events := make([]unix.EpollEvent, 128)
	for {
		n, err := unix.EpollWait(w.epoll, events, -1)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		ids := make([]relay.PeerID, 0, n)
		for _, e := range events[:n] {
			if e.Fd == -1 {
				return
			}
			ids = append(ids, relay.PeerID(uint32(e.Pad))<<32|relay.PeerID(uint32(e.Fd)))
		}
		w.ready(ids)
	}
}

func (w *writable) close() {
	_ = unix.Close(w.wake[1])
	w.ended.Wait()
	_ = unix.Close(w.wake[0])
	_ = unix.Close(w.epoll)
}
