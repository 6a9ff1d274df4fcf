package client

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if shared != nil {
		shared.kill()
	}
	if buildDir != "" {
		os.RemoveAll(buildDir)
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

var buildDir string

// program builds ahprelay once and returns its path.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ahprelay-client-test-")
	if err != nil {
		return "", err
	}
	buildDir = dir
	path := filepath.Join(dir, "ahprelay")
	build := exec.Command("go", "build", "-o", path, "../cmd/ahprelay")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building ahprelay: %w\n%s", err, out)
	}
	return path, nil
})

// process is a running relay.
type process struct {
	cmd *exec.Cmd
	url string
	err error // of starting
}

// launch starts a relay on a free port, or on the one of url, and waits until it accepts connections.
func launch(url string, args ...string) *process {
	path, err := program()
	if err != nil {
		return &process{err: err}
	}
	if url == "" {
		url = "tcp://127.0.0.1:0"
	}
	r := &process{cmd: exec.Command(path, append([]string{"serve", "--listen", url, "--admin", "", "--log-format", "json"}, args...)...)}
	logs, err := r.cmd.StderrPipe()
	if err != nil {
		return &process{err: err}
	}
	if err := r.cmd.Start(); err != nil {
		return &process{err: err}
	}
	in := bufio.NewReader(logs)
	var seen strings.Builder
	for r.url == "" {
		line, err := in.ReadString('\n')
		if err != nil {
			r.kill()
			return &process{err: fmt.Errorf("ahprelay serve: %w\n%s", err, seen.String())}
		}
		seen.WriteString(line)
		var entry struct{ Msg, URL string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "listening" {
			r.url = entry.URL
		}
	}
	go io.Copy(io.Discard, in) // ends with the process
	return r
}

// kill ends the relay at once and waits for it.
func (r *process) kill() {
	if r.cmd != nil && r.cmd.Process != nil {
		r.cmd.Process.Kill()
		r.cmd.Wait()
	}
}

// relayed starts a relay for a test.
func relayed(t testing.TB, args ...string) *process {
	t.Helper()
	r := launch("", args...)
	if r.err != nil {
		t.Fatal(r.err)
	}
	t.Cleanup(r.kill)
	return r
}

// again starts the relay again on the same port after a kill.
func (r *process) again(t testing.TB, args ...string) *process {
	t.Helper()
	next := launch(r.url, args...)
	if next.err != nil {
		t.Fatal(next.err)
	}
	t.Cleanup(next.kill)
	return next
}

// joined connects a client to the relay for a test.
func (r *process) joined(t testing.TB, id string, opts ...Option) *Client {
	t.Helper()
	opts = append([]Option{WithClientID(id), WithReconnect(ReconnectPolicy{Min: time.Millisecond, Max: 50 * time.Millisecond})}, opts...)
	ctx, cancel := timeout()
	defer cancel()
	c, err := Dial(ctx, r.url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { abandon(c) })
	return c
}
