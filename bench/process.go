//go:build linux

package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	startTimeout = 10 * time.Second
	stopTimeout  = 3 * time.Second
)

// Process is a server that runs as a child.
type Process struct {
	name   string
	cmd    *exec.Cmd
	said   *lastWords
	exited chan struct{}
}

// Launch starts cmd bound to cpus and waits until addr accepts connections.
func Launch(ctx context.Context, cmd *exec.Cmd, cpus []int, addr string) (*Process, error) {
	p := &Process{name: cmd.Args[0], cmd: cmd, said: &lastWords{}, exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.said, p.said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := withAffinity(cpus, cmd.Start); err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.name, err)
	}
	go func() {
		_ = cmd.Wait() // how it ended does not matter: that it ended does, and what it said
		close(p.exited)
	}()
	if err := p.await(ctx, addr); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", p.name, err), p.Stop())
	}
	return p, nil
}

// await tries to connect until it works.
func (p *Process) await(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		conn, err := Dial(addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-p.exited:
			return fmt.Errorf("it exited: %s", p.said)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w: %s", ctx.Err(), err, p.said)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// PID is the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop asks the child to end and kills it when it does not. An error says that it had ended before.
func (p *Process) Stop() error {
	select {
	case <-p.exited:
		return fmt.Errorf("%s exited during the run: %s", p.name, p.said)
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only when it ended meanwhile
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
	return nil
}

// Said is the end of what the child printed.
func (p *Process) Said() string { return p.said.String() }

// FreePort returns a loopback TCP port that nobody listens on at the moment.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// lastWords keeps the last 4 KiB written to it.
type lastWords struct {
	mu  sync.Mutex
	buf []byte
}

func (w *lastWords) Write(b []byte) (int, error) {
	const keep = 4096
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, b...)
	if n := len(w.buf) - keep; n > 0 {
		w.buf = append(w.buf[:0], w.buf[n:]...)
	}
	return len(b), nil
}

func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(bytes.TrimSpace(w.buf))
}

// tempDir makes an empty directory and returns what removes it.
func tempDir() (dir string, remove func() error, err error) {
	dir, err = os.MkdirTemp("", "ahprelay-bench-")
	if err != nil {
		return "", nil, fmt.Errorf("making a directory for a server: %w", err)
	}
	return dir, func() error { return os.RemoveAll(dir) }, nil
}
