package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/client"
	"go.uber.org/goleak"
)

// programs is where TestMain puts the two binaries that the tests run.
var programs string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	var err error
	if programs, err = os.MkdirTemp("", "git-sidecar-test"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(programs)
	for name, source := range map[string]string{"ahprelay": "../ahprelay", "git-sidecar": "."} {
		build := exec.Command("go", "build", "-o", filepath.Join(programs, name), source)
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building %s: %v\n%s", name, err, out)
			return 1
		}
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// patience bounds every wait of a test; nothing takes that long.
const patience = 20 * time.Second

// program is a running binary whose output the test reads line by line.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	out   *bufio.Reader // what it prints: stderr of a relay, stdout of a sidecar
	other bytes.Buffer  // the other stream; to be read after the end
}

// start runs a binary until the end of the test.
func start(t *testing.T, name string, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(filepath.Join(programs, name), args...)}
	p.cmd.Env = cleanEnvironment()
	pipe, err := p.cmd.StdoutPipe()
	p.cmd.Stderr = &p.other
	if name == "ahprelay" {
		p.cmd.Stdout, p.cmd.Stderr = nil, nil
		pipe, err = p.cmd.StderrPipe()
	}
	check(t, err)
	p.out = bufio.NewReader(pipe)
	check(t, p.cmd.Start())
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			p.cmd.Process.Kill()
			p.cmd.Wait()
		}
	})
	return p
}

// cleanEnvironment is this process's without what would configure the programs.
func cleanEnvironment() []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "AHPRELAY_") && !strings.HasPrefix(pair, "GIT_") {
			env = append(env, pair)
		}
	}
	return env
}

// line returns the next line that begins with prefix.
func (p *program) line(prefix string) string {
	p.t.Helper()
	timer := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer timer.Stop()
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			p.cmd.Wait()
			p.t.Fatalf("%s ended while waiting for %q: %v %s", p.cmd.Path, prefix, err, p.other.String())
		}
		if strings.HasPrefix(line, prefix) {
			return strings.TrimSuffix(line, "\n")
		}
	}
}

// end signals the program and returns its exit code.
func (p *program) end(signal os.Signal) int {
	p.t.Helper()
	check(p.t, p.cmd.Process.Signal(signal))
	timer := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer timer.Stop()
	io.Copy(io.Discard, p.out)
	p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// startRelay runs a relay at address ("127.0.0.1:0" for any) and returns its URL.
func startRelay(t *testing.T, address string, args ...string) (*program, string) {
	t.Helper()
	p := start(t, "ahprelay", append([]string{"serve", "--listen", "tcp://" + address, "--admin", "", "--log-format", "json"}, args...)...)
	for {
		var entry struct{ Msg, URL string }
		if json.Unmarshal([]byte(p.line("{")), &entry) == nil && entry.Msg == "listening" {
			return p, entry.URL
		}
	}
}

// startSidecar runs a sidecar and returns its service's id.
func startSidecar(t *testing.T, url string, args ...string) (*program, string) {
	t.Helper()
	p := start(t, "git-sidecar", append([]string{"--relay", url, "--poll", "20ms"}, args...)...)
	return p, strings.TrimPrefix(p.line("registered "), "registered ")
}

// result is what a command did.
type result struct {
	code     int
	out, err string
}

// run runs git-sidecar to its end.
func run(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "git-sidecar"), args...)
	cmd.Env = cleanEnvironment()
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	cmd.Run()
	return result{cmd.ProcessState.ExitCode(), out.String(), complaint.String()}
}

// explore runs `git-sidecar explore`, which must succeed, and returns what it printed.
func explore(t *testing.T, url string, args ...string) string {
	t.Helper()
	r := run(t, append([]string{"explore", "--relay", url, "--timeout", patience.String()}, args...)...)
	if r.code != 0 {
		t.Errorf("explore %v: exit %d: %s", args, r.code, r.err)
	}
	return r.out
}

// dial connects the test itself.
func dial(t *testing.T, url string) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), url)
	check(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		c.Close(ctx)
	})
	return c
}

// failure returns "code data" of an error answer.
func failure(t *testing.T, err error) string {
	t.Helper()
	answer, ok := err.(*client.Error)
	if !ok {
		t.Fatalf("%v is no error answer", err)
	}
	return fmt.Sprint(int(answer.Code), " ", string(answer.Data))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
