package loop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// A dead TCP peer is noticed within a minute: probes after 15 s of silence, three of them 10 s apart.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 10 * time.Second, Count: 3}

// userTimeout is how long sent data may stay unacknowledged.
const userTimeout = 45 * time.Second

const (
	acceptPauseMin = 5 * time.Millisecond
	acceptPauseMax = time.Second
	unixMode       = 0o600
)

type listener struct {
	net.Listener
	scheme string
	spare  *os.File // a descriptor to give up when there is none left
}

// listen binds one listener by its URL.
func listen(raw string, mode os.FileMode) (*listener, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("listen %q: %w", raw, err)
	}
	l := &listener{scheme: u.Scheme}
	switch u.Scheme {
	case "tcp", "ws", "tls", "wss":
		config := net.ListenConfig{KeepAliveConfig: keepAlive}
		l.Listener, err = config.Listen(context.Background(), "tcp", u.Host)
	case "unix":
		l.Listener, err = listenUnix(filepath.Join(u.Host, u.Path), mode)
	default:
		return nil, fmt.Errorf("listen %q: scheme must be tcp, unix, ws, tls or wss", raw)
	}
	if err != nil {
		return nil, fmt.Errorf("listen %q: %w", raw, err)
	}
	l.spare, _ = os.Open(os.DevNull)
	return l, nil
}

// listenUnix binds a Unix socket with the given mode from the first moment. A socket that nobody listens
// on any more is replaced; anything else at the path is left alone.
func listenUnix(path string, mode os.FileMode) (net.Listener, error) {
	if mode == 0 {
		mode = unixMode
	}
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSocket == 0:
		return nil, fmt.Errorf("%s exists and is not a socket", path)
	default:
		conn, err := net.DialTimeout("unix", path, time.Second)
		if err == nil {
			_ = conn.Close()
			return nil, syscall.EADDRINUSE
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("looking for who listens there: %w", err)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("removing the stale socket: %w", err)
		}
	}
	// The socket is bound in a directory that is ours alone and moved into place once it has its mode.
	dir, err := os.MkdirTemp(filepath.Dir(path), ".ahprelay-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	temporary := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: temporary, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	own, err := os.Lstat(temporary)
	if err := errors.Join(err, os.Chmod(temporary, mode), os.Rename(temporary, path)); err != nil {
		_ = l.Close()
		return nil, err
	}
	return &unixListener{UnixListener: l, path: path, own: own}, nil
}

// unixListener removes its socket when it is closed, if it is still its own.
type unixListener struct {
	*net.UnixListener
	path string
	own  fs.FileInfo
}

func (l *unixListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

func (l *unixListener) Close() error {
	err := l.UnixListener.Close()
	if info, gone := os.Lstat(l.path); err == nil && gone == nil && os.SameFile(info, l.own) {
		_ = os.Remove(l.path)
	}
	return err
}

// URL names the listener as a client would.
func (l *listener) URL() string { return l.scheme + "://" + l.Addr().String() }

// secure reports whether its connections are encrypted.
func (l *listener) secure() bool { return l.scheme == "tls" || l.scheme == "wss" }

// Close stops the listener. It may be called again.
func (l *listener) Close() error { return l.Listener.Close() }

// accept feeds the loop with a listener's connections until that is closed.
func (s *Server) accept(l *listener) {
	defer func() { _ = l.spare.Close() }()
	pause := acceptPauseMin
	for {
		nc, err := l.Accept()
		if err == nil {
			pause = acceptPauseMin
			s.enroll(l, nc)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			l.shedOne()
		}
		s.log.Warn("accepting failed", "url", l.URL(), "error", err)
		select {
		case <-s.done:
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, acceptPauseMax)
	}
}

// shedOne closes one waiting connection with the help of the spare descriptor, so that its peer does not
// wait for nothing.
func (l *listener) shedOne() {
	if l.spare == nil {
		return
	}
	_ = l.spare.Close()
	if d, ok := l.Listener.(interface{ SetDeadline(time.Time) error }); ok {
		_ = d.SetDeadline(time.Now().Add(10 * time.Millisecond))
		if nc, err := l.Accept(); err == nil {
			_ = nc.Close()
		}
		_ = d.SetDeadline(time.Time{})
	}
	l.spare, _ = os.Open(os.DevNull)
}

// enroll hands a connection to the loop.
func (s *Server) enroll(l *listener, nc net.Conn) {
	info := relay.PeerInfo{Transport: l.scheme, Remote: nc.RemoteAddr().String(), UID: -1}
	if uc, ok := nc.(*net.UnixConn); ok {
		info.UID = peerUID(uc)
		info.Remote = fmt.Sprintf("unix uid %d", info.UID)
	}
	if tc, ok := nc.(*net.TCPConn); ok {
		setUserTimeout(tc, userTimeout)
		if l.scheme != "tcp" {
			s.admit(l, tc, info)
			return
		}
	}
	if _, err := s.client.EnrollContext(nc, &conn{info: info}); err != nil {
		s.log.Warn("a connection could not be taken over", "remote", info.Remote, "error", err)
	}
}
