package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/goccy/go-json"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/codec"
)

// pipeGrace is how long a command's output is read on after it exited: a child that it left behind may
// hold the pipe open for ever.
const pipeGrace = 500 * time.Millisecond

// timeoutLag is how long the answer to a request that ran out of time is held back: the caller is to
// hear of it from the relay, with the code of a timeout, and both clocks ring at once.
const timeoutLag = 250 * time.Millisecond

// commands answers requests by running a shell command for each.
type commands struct {
	p              *Program
	line           string
	outputBytesMax int
	running        sync.WaitGroup
}

func newCommands(p *Program, line string) *commands {
	return &commands{p: p, line: line, outputBytesMax: 1 << 20}
}

// wait returns when no command runs.
func (c *commands) wait() { c.running.Wait() }

// answer runs the command for one request. When ctx ends its whole process group is killed.
func (c *commands) answer(ctx context.Context, r *client.Request) (any, error) {
	c.running.Add(1)
	defer c.running.Done()
	if strings.ContainsRune(r.Method+r.Sender, 0) {
		return nil, &client.Error{Code: codec.CodeInvalidParams, Message: "a method or sender with a NUL character cannot be passed to a command"}
	}
	output := &head{max: c.outputBytesMax}
	complaint := &lastLine{}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", c.line)
	cmd.Env = append(slices.Clone(c.p.Environ), "AHP_METHOD="+r.Method, "AHP_SENDER="+r.Sender)
	cmd.Stdin = io.MultiReader(bytes.NewReader(r.Params), strings.NewReader("\n"))
	cmd.Stdout = output
	cmd.Stderr = io.MultiWriter(complaint, c.p.Err)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = pipeGrace
	err := cmd.Run()
	if ctx.Err() != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			time.Sleep(timeoutLag)
		}
		return nil, ctx.Err()
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, failure(err, complaint.text())
	}
	return output.result()
}

// failure is the error answer for a command that failed, complaint being its last words.
func failure(err error, complaint string) error {
	e := &client.Error{Code: client.CodeServiceError, Message: complaint}
	if e.Message == "" {
		e.Message = "the command failed: " + err.Error()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 0 {
		e.Data = json.RawMessage(fmt.Sprintf(`{"exitCode":%d}`, exit.ExitCode()))
	}
	return e
}

// head keeps the first max bytes that are written to it, and knows whether there were more.
type head struct {
	max  int
	kept []byte
	over bool
}

func (h *head) Write(b []byte) (int, error) {
	room := min(len(b), h.max-len(h.kept))
	h.kept = append(h.kept, b[:room]...)
	h.over = h.over || room < len(b)
	return len(b), nil
}

// result is what was written, as an answer.
func (h *head) result() (any, error) {
	if h.over {
		return nil, &client.Error{Code: codec.CodeInternal, Message: fmt.Sprintf("the command printed more than %d bytes", h.max)}
	}
	result, err := checkJSON(bytes.TrimSpace(h.kept), "what the command printed")
	if err != nil {
		return nil, &client.Error{Code: codec.CodeInternal, Message: "what the command printed is no JSON value"}
	}
	return result, nil
}

// lastLine keeps the last line with text in it, up to 1 KiB, of what is written to it.
type lastLine struct {
	line []byte // complete, or growing when open
	open bool
}

func (l *lastLine) Write(b []byte) (int, error) {
	for part := range bytes.Lines(b) {
		if !l.open && len(bytes.TrimSpace(part)) == 0 {
			continue
		}
		if !l.open {
			l.line = l.line[:0]
		}
		l.open = part[len(part)-1] != '\n'
		l.line = append(l.line, part[:min(len(part), max(0, 1024-len(l.line)))]...)
	}
	return len(b), nil
}

func (l *lastLine) text() string {
	return strings.ToValidUTF8(string(bytes.TrimSpace(l.line)), "\ufffd")
}
