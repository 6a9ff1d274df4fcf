// Package town populates a real relay process with clients over real sockets and judges what they see.
//
// A Process is the relay, built from this tree and run as a child; a Town is its clients: owners that offer
// services and echo what they are asked, callers that follow the catalogue and ask and notify whom they find
// there, and what the tests do to them. Every client writes down what it sent and what it got, so that in
// the end the books can be compared: no answer lost, none twice or to somebody else, notifications in order,
// every gap accounted for, the catalogue everywhere the same.
//
// It exists for the tests of package fuzz; the soak and the fault injection share it.
package town

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Build compiles the relay into a directory, as it is shipped, and returns the path of the program.
func Build(dir string) (string, error) {
	path := filepath.Join(dir, "ahprelay")
	build := exec.Command("go", "build", "-o", path, "github.com/ahprelay/ahprelay/cmd/ahprelay")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the relay: %w\n%s", err, out)
	}
	return path, nil
}

// Process is a running relay.
type Process struct {
	Addr  string // host:port of its listener
	Admin string // host:port of its admin server, "" for none

	cmd    *exec.Cmd
	mu     sync.Mutex
	log    []string
	more   chan struct{} // closed and replaced with every line of the log
	exited chan struct{}
	err    error // how it ended
}

// Launch starts a relay with a configuration file, on the given address ("" for a free port), and waits
// until it accepts connections. limits are shell commands run before it, such as "ulimit -n 100".
func Launch(program, config, addr, limits string) (*Process, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	if limits == "" {
		limits = "true"
	}
	args := []string{"-c", limits + ` && exec "$@"`, "sh", program, "serve", "--config", config, "--listen", "tcp://" + addr, "--admin", "127.0.0.1:0", "--log-format", "json"}
	p := &Process{cmd: exec.Command("sh", args...), more: make(chan struct{}), exited: make(chan struct{})}
	logs, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("a pipe for the relay's log: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the relay: %w", err)
	}
	go p.read(bufio.NewReader(logs))
	listening, err := p.Await(10*time.Second, func(e Entry) bool { return e.Msg == "listening" })
	if err == nil {
		p.Addr = strings.TrimPrefix(listening.URL, "tcp://")
		listening, err = p.Await(10*time.Second, func(e Entry) bool { return e.Msg == "admin listening" })
		p.Admin = strings.Trim(strings.TrimPrefix(listening.URL, "http://"), "/")
	}
	if err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// Entry is a line of the relay's log, as far as anybody asks.
type Entry struct{ Level, Msg, URL, Reason string }

func (p *Process) read(logs *bufio.Reader) {
	for {
		line, err := logs.ReadString('\n')
		if err != nil {
			break
		}
		p.mu.Lock()
		if len(p.log) < 10000 {
			p.log = append(p.log, line)
		}
		close(p.more)
		p.more = make(chan struct{})
		p.mu.Unlock()
	}
	p.err = p.cmd.Wait()
	close(p.exited)
}

// Await waits for a line of the log, from the beginning of the log on.
func (p *Process) Await(patience time.Duration, wanted func(Entry) bool) (Entry, error) {
	end := time.After(patience)
	for seen := 0; ; {
		p.mu.Lock()
		lines, more := p.log[seen:], p.more
		seen = len(p.log)
		p.mu.Unlock()
		for _, line := range lines {
			var e Entry
			if json.Unmarshal([]byte(line), &e) == nil && wanted(e) {
				return e, nil
			}
		}
		select {
		case <-more:
		case <-p.exited:
			return Entry{}, fmt.Errorf("the relay has ended (%v):\n%s", p.err, p.Log())
		case <-end:
			return Entry{}, fmt.Errorf("waited in vain for a line of the log:\n%s", p.Log())
		}
	}
}

// Log is what the relay has logged.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.log, "")
}

// Count counts lines of the log.
func (p *Process) Count(wanted func(Entry) bool) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.log {
		var e Entry
		if json.Unmarshal([]byte(line), &e) == nil && wanted(e) {
			n++
		}
	}
	return n
}

// Signal sends the relay a signal.
func (p *Process) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Kill ends the relay at once and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// Wait waits for the end of the relay and returns its exit code.
func (p *Process) Wait(patience time.Duration) (int, error) {
	select {
	case <-p.exited:
	case <-time.After(patience):
		return 0, fmt.Errorf("the relay does not end:\n%s", p.Log())
	}
	var exit *exec.ExitError
	if errors.As(p.err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, p.err
}

// Alive reports whether the relay runs.
func (p *Process) Alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Resident is the relay's resident memory in bytes.
func (p *Process) Resident() int64 {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if fields := strings.Fields(string(stat)); len(fields) > 1 {
		pages, _ := strconv.ParseInt(fields[1], 10, 64)
		return pages * int64(os.Getpagesize())
	}
	return 0
}

// Processor is the processor time that the relay has used.
func (p *Process) Processor() time.Duration {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// Descriptors is the number of files that the relay has open.
func (p *Process) Descriptors() int {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	return len(entries)
}

// Metrics reads the relay's metrics, without those that have labels.
func (p *Process) Metrics() (map[string]float64, error) {
	client := http.Client{Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	answer, err := client.Get("http://" + p.Admin + "/metrics")
	if err != nil {
		return nil, fmt.Errorf("reading the metrics: %w", err)
	}
	defer answer.Body.Close()
	all := map[string]float64{}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		name, number, _ := strings.Cut(lines.Text(), " ")
		if value, err := strconv.ParseFloat(number, 64); err == nil && !strings.HasPrefix(name, "#") {
			all[name] = value
		}
	}
	return all, lines.Err()
}
