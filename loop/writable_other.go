//go:build !linux

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
	queue int
	wake  [2]int // a pipe: closing its second end ends the watcher
	ready func([]relay.PeerID)
	ended sync.WaitGroup

	mu  sync.Mutex
	ids map[int]relay.PeerID
}

func newWritable(ready func([]relay.PeerID)) (*writable, error) {
	queue, err := unix.Kqueue()
	if err != nil {
		return nil, os.NewSyscallError("kqueue", err)
	}
	w := &writable{queue: queue, ready: ready, ids: map[int]relay.PeerID{}}
	if err := unix.Pipe(w.wake[:]); err != nil {
		_ = unix.Close(queue)
		return nil, os.NewSyscallError("pipe", err)
	}
	if err := w.change(w.wake[0], unix.EVFILT_READ, unix.EV_ADD); err != nil {
		return nil, os.NewSyscallError("kevent", err)
	}
	return w, nil
}

func (w *writable) change(fd, filter, flags int) error {
	var event unix.Kevent_t
	unix.SetKevent(&event, fd, filter, flags)
	_, err := unix.Kevent(w.queue, []unix.Kevent_t{event}, nil, nil)
	return err
}

// watch asks to be told of one connection.
func (w *writable) watch(fd int, id relay.PeerID, _ bool) bool {
	w.mu.Lock()
	w.ids[fd] = id
	w.mu.Unlock()
	return w.change(fd, unix.EVFILT_WRITE, unix.EV_ADD|unix.EV_ONESHOT) == nil
}

// forget takes a descriptor out of the set, before it is closed.
func (w *writable) forget(fd int) {
	w.mu.Lock()
	delete(w.ids, fd)
	w.mu.Unlock()
	_ = w.change(fd, unix.EVFILT_WRITE, unix.EV_DELETE)
}

// start begins to watch. Whatever ready needs must be there by now.
func (w *writable) start() { w.ended.Go(w.run) }

func (w *writable) run() {
	events := make([]unix.Kevent_t, 128)
	for {
		n, err := unix.Kevent(w.queue, nil, events, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		var ids []relay.PeerID
		w.mu.Lock()
		for _, e := range events[:n] {
			fd := int(e.Ident)
			if fd == w.wake[0] {
				w.mu.Unlock()
				return
			}
			if id, ok := w.ids[fd]; ok {
				ids = append(ids, id)
			}
		}
		w.mu.Unlock()
		w.ready(ids)
	}
}

func (w *writable) close() {
	_ = unix.Close(w.wake[1])
	w.ended.Wait()
	_ = unix.Close(w.wake[0])
	_ = unix.Close(w.queue)
}
