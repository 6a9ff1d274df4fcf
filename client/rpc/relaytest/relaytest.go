// Package relaytest runs a real relay, as a process of its own, for the tests of what stands above it.
package relaytest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/client"
	"github.com/goccy/go-json"
	"go.uber.org/goleak"
)

// patience is far more than anything in a test takes.
const patience = 20 * time.Second

var (
	mu   sync.Mutex
	dir  string // of what was built; removed by Main
	done []func()
)

// Main runs the tests of a package, ends the relay that they shared and reports goroutines left behind.
func Main(m *testing.M) {
	code := m.Run()
	mu.Lock()
	for _, f := range done {
		f()
	}
	if dir != "" {
		os.RemoveAll(dir)
	}
	mu.Unlock()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// Build builds the program in a package of this module, such as "cmd/ahprelay", and returns its path.
func Build(pkg string) (string, error) {
	mu.Lock()
	defer mu.Unlock()
	if dir == "" {
		made, err := os.MkdirTemp("", "ahprelay-rpc-test-")
		if err != nil {
			return "", err
		}
		dir = made
	}
	path := filepath.Join(dir, filepath.Base(pkg))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "github.com/ahprelay/ahprelay/"+pkg)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return path, nil
}

// Start starts a relay on a free port and returns its URL and the function that kills it.
func Start() (url string, kill func(), err error) {
	path, err := Build("cmd/ahprelay")
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(path, "serve", "--listen", "tcp://127.0.0.1:0", "--admin", "", "--log-format", "json")
	logs, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	kill = func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	in := bufio.NewReader(logs)
	var seen strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			kill()
			return "", nil, fmt.Errorf("ahprelay serve: %w\n%s", err, seen.String())
		}
		seen.WriteString(line)
		var entry struct{ Msg, URL string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "listening" {
			go io.Copy(io.Discard, in) // ends with the process
			return entry.URL, kill, nil
		}
	}
}

var shared = sync.OnceValues(func() (string, error) {
	url, kill, err := Start()
	if err == nil {
		mu.Lock()
		done = append(done, kill)
		mu.Unlock()
	}
	return url, err
})

// Shared returns the URL of the relay that the tests of a package share. It runs until Main ends it.
func Shared() (string, error) { return shared() }

// Dial connects a client to the relay at url until the test ends. Its id is unique.
func Dial(t testing.TB, url, name string, opts ...client.Option) *client.Client {
	t.Helper()
	id := fmt.Sprintf("%s-%d", name, time.Now().UnixNano())
	c, err := client.Dial(Context(t), url, append([]client.Option{client.WithClientID(id)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		c.Close(ctx)
	})
	return c
}

// Joined connects a client to the shared relay until the test ends.
func Joined(t testing.TB, name string, opts ...client.Option) *client.Client {
	t.Helper()
	url, err := Shared()
	if err != nil {
		t.Fatal(err)
	}
	return Dial(t, url, name, opts...)
}

// Context returns a context that ends with the test, or when it hangs.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// Eventually waits until f holds.
func Eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}
