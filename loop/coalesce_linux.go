package loop

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// What makes a sender one that writes message by message: so many reads in a row, each so small and so
// soon after the one before, with nothing delivered to it in between. A sender stops being one when a
// read is large, when it is silent for a while, when it gets something, or when waiting does not pay.
const (
	coalesceStreak  = 16
	coalesceSmall   = 2 << 10
	coalesceLarge   = 64 << 10
	coalesceSoon    = 50 * time.Microsecond
	coalesceSilence = time.Millisecond
	coalesceUnpaid  = 8   // pauses in a row after which a read brought no more than before
	coalesceRest    = 256 // reads without a further try after pauses that did not pay
)

// chatter is what the loop remembers of a connection's recent reads.
type chatter struct {
	streak    int
	rest      int
	hot       bool // reads from it are put off
	delivered bool // it was sent something since the last read
	last      time.Duration
	usual     int // bytes of a read before it was hot, a running mean
	unpaid    int
}

// coalescer puts off reading from a sender that writes one message at a time, so that the kernel merges
// what it has written: most of the cost of such a message is the read. What there is to deliver is
// delivered first; anything that any other connection sends ends the pause.
type coalescer struct {
	pause time.Duration
	epoll int // every connection that is not hot
}

func newCoalescer(pause time.Duration) (*coalescer, error) {
	if pause == 0 {
		return nil, nil
	}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	return &coalescer{pause: pause, epoll: epoll}, nil
}

func (k *coalescer) close() {
	if k != nil {
		_ = unix.Close(k.epoll)
	}
}

// add puts a connection among those whose traffic ends a pause.
func (k *coalescer) add(fd int) {
	if k == nil {
		return
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(fd)}
	_ = unix.EpollCtl(k.epoll, unix.EPOLL_CTL_ADD, fd, &event)
}

func (k *coalescer) remove(fd int) {
	if k != nil {
		_ = unix.EpollCtl(k.epoll, unix.EPOLL_CTL_DEL, fd, nil)
	}
}

// read judges a read of n bytes at now, whose consequences have been delivered, and waits if that is
// worth while.
func (k *coalescer) read(c *conn, n int, now time.Duration) {
	if k == nil {
		return
	}
	h := &c.chatter
	gap, delivered := now-h.last, h.delivered
	h.last, h.delivered = now, false
	if !h.hot {
		k.warm(c, n, n < coalesceSmall && gap < coalesceSoon && !delivered)
		return
	}
	if delivered || n >= coalesceLarge || gap > coalesceSilence+k.pause {
		k.cool(c, 0)
		return
	}
	if n > h.usual+h.usual/2 {
		h.unpaid = 0
	} else if h.unpaid++; h.unpaid >= coalesceUnpaid {
		k.cool(c, coalesceRest)
		return
	}
	k.wait()
}

// warm counts small reads until the connection is hot.
func (k *coalescer) warm(c *conn, n int, chatty bool) {
	h := &c.chatter
	switch {
	case h.rest > 0:
		h.rest--
	case !chatty:
		h.streak = 0
	default:
		if h.streak == 0 {
			h.usual = n
		}
		h.usual += (n - h.usual) / 4
		if h.streak++; h.streak >= coalesceStreak {
			h.hot, h.unpaid = true, 0
			k.remove(c.fd)
			k.wait()
		}
	}
}

func (k *coalescer) cool(c *conn, rest int) {
	c.chatter = chatter{rest: rest, last: c.chatter.last}
	k.add(c.fd)
}

// wait lets the pause pass, or less when another connection has something to say.
func (k *coalescer) wait() {
	timeout := unix.NsecToTimespec(int64(k.pause))
	fds := [1]unix.PollFd{{Fd: int32(k.epoll), Events: unix.POLLIN}}
	_, _ = unix.Ppoll(fds[:], &timeout, nil)
}
