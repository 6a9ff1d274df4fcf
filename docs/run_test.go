package docs_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-json"

	"github.com/ahprelay/ahprelay/client"
)

// defaultAddr is where the commands and programs of the README expect the relay.
const defaultAddr = "127.0.0.1:7420"

// patience is far more than anything here takes.
const patience = time.Minute

// TestGoBlocks compiles and vets every Go program that is shown. Fragments are shown by docs/sdk.md
// alone, whose own test in package client finds each of them in an example that is compiled and run.
func TestGoBlocks(t *testing.T) {
	t.Parallel()
	programs := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			switch lang, _, _ := strings.Cut(b.info, " "); {
			case lang != "go":
			case strings.HasPrefix(b.code, "package "):
				programs++
				if out, err := goTool(t, "vet", program(t, b.code)).CombinedOutput(); err != nil {
					t.Errorf("%s:%d: %v\n%s", d.name, b.line, err, out)
				}
			case d.name != "docs/sdk.md":
				t.Errorf("%s:%d: a Go block that is no whole program", d.name, b.line)
			}
		}
	}
	if programs == 0 {
		t.Error("no Go program is shown")
	}
}

// TestReadmeRuns does what the README tells its reader to do, against a relay on a port of its own.
// Blocks marked "sh run" are run line by line, each background command being given the time that a
// person would give it: until it says that it is there. Blocks marked "go run" are built and run while
// that relay is up. A comment "prints X" says what must come out.
func TestReadmeRuns(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	build := goTool(t, "build", "-ldflags=-s -w", "-o", bin+string(filepath.Separator), "./cmd/ahprelay")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := &shell{t: t, addr: freeAddr(t), bin: bin}
	defer s.stop()
	ran := map[string]int{}
	for _, b := range find(t, documents(t), "README.md").blocks {
		switch b.info {
		case "sh run":
			for line := range strings.Lines(b.code) {
				s.run(strings.TrimSuffix(line, "\n"))
				ran[b.info]++
			}
		case "go run":
			s.runProgram(b.code)
			ran[b.info]++
		}
	}
	if ran["sh run"] == 0 || ran["go run"] == 0 {
		t.Errorf("nothing was run: %v", ran)
	}
	s.compareLimits()
}

// goTool returns a command of the go tool in the repository.
func goTool(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience) // nothing may be built yet
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	return cmd
}

// program writes a program to a file of its own.
func program(t *testing.T, code string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// shell runs commands as the reader would, with the built programs first in the path.
type shell struct {
	t          *testing.T
	addr, bin  string
	background []*job
}

// job is a command in the background.
type job struct {
	line  string
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // once ended
}

var (
	backgroundForm = regexp.MustCompile(`^(.*\S)\s+&\s*(?:#.*)?$`)
	printsForm     = regexp.MustCompile(`(?m)(?:#|//) prints (.*)$`)
)

func (s *shell) command(name string, args ...string) (*exec.Cmd, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = root
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "AHPRELAY_") })
	cmd.Env = append(cmd.Env, "PATH="+s.bin+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"AHPRELAY_LISTEN=tcp://"+s.addr, "AHPRELAY_RELAY=tcp://"+s.addr, "AHPRELAY_ADMIN=")
	return cmd, cancel
}

// run runs one line and waits for it: for its end, or in the background for a sign of life.
func (s *shell) run(line string) {
	s.t.Helper()
	if m := backgroundForm.FindStringSubmatch(line); m != nil {
		s.start(m[1])
		return
	}
	cmd, cancel := s.command("sh", "-c", line)
	defer cancel()
	s.expect(line, cmd)
}

// expect runs a command to its end and compares what it prints with what text says.
func (s *shell) expect(text string, cmd *exec.Cmd) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%s\n%v\n%s%s", text, err, &stdout, &stderr)
	}
	if m := printsForm.FindStringSubmatch(text); m != nil && strings.TrimSpace(stdout.String()) != m[1] {
		s.t.Errorf("%s\nprinted %s", text, &stdout)
	}
}

// start runs a command in the background and waits until it has printed a line, or logged that it listens.
func (s *shell) start(line string) {
	s.t.Helper()
	cmd, cancel := s.command("sh", "-c", "exec "+line)
	s.t.Cleanup(cancel)
	ready := make(chan struct{}, 2)
	stdout, stderr := &signalled{sign: "\n", seen: ready}, &signalled{sign: "listening", seen: ready}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		s.t.Fatalf("%s\n%v", line, err)
	}
	j := &job{line: line, cmd: cmd, ended: make(chan struct{})}
	go func() {
		j.err = cmd.Wait()
		close(j.ended)
	}()
	s.background = append(s.background, j)
	select {
	case <-ready:
	case <-j.ended:
		s.t.Fatalf("%s\nended: %v\n%s%s", line, j.err, stdout, stderr)
	case <-time.After(patience):
		s.t.Fatalf("%s\ngave no sign of life\n%s%s", line, stdout, stderr)
	}
}

// stop interrupts what runs in the background, the latest first, which must end well.
func (s *shell) stop() {
	for _, j := range slices.Backward(s.background) {
		_ = j.cmd.Process.Signal(os.Interrupt)
		<-j.ended // its context ends it if need be
		if j.err != nil {
			s.t.Errorf("%s\nended: %v", j.line, j.err)
		}
	}
}

// runProgram builds and runs a Go program against the relay.
func (s *shell) runProgram(code string) {
	s.t.Helper()
	file := program(s.t, strings.ReplaceAll(code, defaultAddr, s.addr))
	binary := filepath.Join(filepath.Dir(file), "program")
	if out, err := goTool(s.t, "build", "-ldflags=-s -w", "-o", binary, file).CombinedOutput(); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
	cmd, cancel := s.command(binary)
	defer cancel()
	s.expect(code, cmd)
}

// compareLimits looks in docs/protocol.md for every limit that the running relay announces.
func (s *shell) compareLimits() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := client.Dial(ctx, "tcp://"+s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close(ctx)
	var announced map[string]json.RawMessage
	if err := json.Unmarshal(c.Limits().All, &announced); err != nil || len(announced) == 0 {
		s.t.Fatalf("limits %s: %v", c.Limits().All, err)
	}
	named := find(s.t, documents(s.t), "docs/protocol.md").spans()
	for name := range announced {
		if !slices.Contains(named, name) {
			s.t.Errorf("docs/protocol.md lacks the limit %s", name)
		}
	}
}

// signalled collects what is written to it and tells once when it holds a sign.
type signalled struct {
	sign string
	seen chan<- struct{}

	mu   sync.Mutex
	text bytes.Buffer
	told bool
}

// Write takes more output.
func (w *signalled) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(b)
	if !w.told && bytes.Contains(w.text.Bytes(), []byte(w.sign)) {
		w.told = true
		w.seen <- struct{}{}
	}
	return len(b), nil
}

// String returns what was written.
func (w *signalled) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
