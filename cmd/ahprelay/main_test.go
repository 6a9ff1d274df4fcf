package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These tests use the program as a user does: the test binary becomes it when this variable is set.
const become = "BECOME_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(become) != "" {
		main()
	}
	os.Exit(m.Run())
}

// deadline is when a process that does not end is killed, which fails its test.
const deadline = 30 * time.Second

func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "AHPRELAY_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	// The race detector's runtime sleeps a second before each exit unless told not to.
	cmd.Env = append(append(cmd.Env, become+"=1", "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE")), env...)
	return cmd
}

// result is how a command ended.
type result struct {
	out, err string
	code     int
}

// run runs the program to its end with stdin as standard input.
func run(t *testing.T, stdin string, env []string, args ...string) result {
	t.Helper()
	cmd := command(t, env, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	return result{code: exitCode(t, cmd.Run()), out: out.String(), err: errs.String()}
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

// process is a running command, whose output is read line by line.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err *lines
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	return startWith(t, nil, args...)
}

func startWith(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: command(t, env, args...)}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.out, p.err = readLines(out), readLines(errs)
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		p.out.drain()
		p.err.drain()
		_ = p.cmd.Wait()
	})
	return p
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait returns the exit code.
func (p *process) wait() int {
	p.t.Helper()
	p.out.drain()
	p.err.drain()
	return exitCode(p.t, p.cmd.Wait())
}

// lines are the lines of a pipe as they come.
type lines struct {
	ch   chan string
	seen []string
}

func readLines(r io.Reader) *lines {
	l := &lines{ch: make(chan string, 1024)}
	go func() {
		defer close(l.ch)
		for s := bufio.NewScanner(r); s.Scan(); {
			l.ch <- s.Text()
		}
	}()
	return l
}

func (l *lines) next(t *testing.T) string {
	t.Helper()
	line, ok := <-l.ch
	if !ok {
		t.Fatalf("the output ended after %q", l.seen)
	}
	l.seen = append(l.seen, line)
	return line
}

// until returns the next line that contains text.
func (l *lines) until(t *testing.T, text string) string {
	t.Helper()
	for {
		if line := l.next(t); strings.Contains(line, text) {
			return line
		}
	}
}

func (l *lines) drain() {
	for range l.ch { // until the pipe is closed
	}
}

// entry is a line of a JSON log.
type entry struct {
	Level, Msg, URL, Error, Warning, Keys string
	TokenFile                             string `json:"token_file"`
}

func parseEntry(t *testing.T, line string) entry {
	t.Helper()
	var e entry
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return e
}

// relay starts a relay on a free port and returns it with its URL.
func relay(t *testing.T, args ...string) (*process, string) {
	t.Helper()
	p := start(t, append([]string{"serve", "--listen", "tcp://127.0.0.1:0", "--admin", ""}, args...)...)
	return p, parseEntry(t, p.err.until(t, `"listening"`)).URL
}

func (r result) is(t *testing.T, want result) {
	t.Helper()
	if r != want {
		t.Errorf("\ngot  %+v\nwant %+v", r, want)
	}
}
