//go:build linux

package fuzz

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/fuzz/town"
)

// program builds the relay once for all tests that run it as a process.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ahprelay-fuzz-")
	if err != nil {
		return "", err
	}
	built = dir
	return town.Build(dir)
})

var built string

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// shaken is the configuration of the relay in the fault tests: limits that chaos can reach.
const shaken = `
[limits]
request_timeout = "1500ms"
request_timeout_max = "1500ms"
stall_timeout = "1s"
handshake_timeout = "1s"
catalog_bytes_max = 1048576
frame_bytes_max = 65536
queue_bytes_soft = 65536
queue_bytes_hard = 4194304
memory_bytes_max = 67108864
catalog_changes_per_second_max = 0
`

// site is a relay process with its configuration file and its clients.
type site struct {
	t      *testing.T
	path   string // of the configuration
	limits string
	*town.Process
	*town.Town
	ctx   context.Context
	leave context.CancelFunc
}

func newSite(t *testing.T, config, limits string) *site {
	t.Helper()
	s := &site{t: t, path: filepath.Join(t.TempDir(), "ahprelay.toml"), limits: limits}
	s.configure(config)
	s.launch("")
	s.Town = town.New(s.Process.Addr)
	s.ctx, s.leave = context.WithCancel(context.Background())
	t.Cleanup(func() {
		s.leave()
		s.Kill()
		s.Leave()
		if t.Failed() {
			t.Logf("the relay's log:\n%s\n…\n%s", s.Log()[:min(len(s.Log()), 3000)], last(s.Log(), 3000))
		}
	})
	return s
}

func last(text string, n int) string { return text[max(0, len(text)-n):] }

func (s *site) configure(text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) launch(addr string) {
	s.t.Helper()
	path, err := program()
	if err == nil {
		s.Process, err = town.Launch(path, s.path, addr, s.limits)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// populate lets owners and callers settle.
func (s *site) populate(owners, callers int, burst int, pause time.Duration) {
	for i := range owners {
		s.Settle(s.ctx, fmt.Sprintf("owner-%d", i), 1+i%3, 0, 0)
	}
	for i := range callers {
		s.Settle(s.ctx, fmt.Sprintf("caller-%d", i), 0, burst, pause)
	}
}

func (s *site) audit(when string) {
	s.t.Helper()
	if err := s.Audit(); err != nil {
		s.t.Fatalf("%s: %v", when, err)
	}
}

// empty waits until the relay holds nothing for anybody.
func (s *site) empty() {
	s.t.Helper()
	var m map[string]float64
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var err error
		if m, err = s.Metrics(); err != nil {
			s.t.Fatal(err)
		}
		if m["ahprelay_connections"]+m["ahprelay_services"]+m["ahprelay_subscriptions"]+m["ahprelay_inflight_requests"]+m["ahprelay_abandoned_requests"]+m["ahprelay_queue_bytes"]+m["ahprelay_catalog_bytes"] == 0 {
			return
		}
	}
	s.t.Fatalf("nobody is there, but the relay holds %v connections, %v services, %v requests, %v bytes", m["ahprelay_connections"], m["ahprelay_services"], m["ahprelay_inflight_requests"], m["ahprelay_queue_bytes"])
}

// TestChaos has a town live through everything that clients, networks and operators do to a relay.
func TestChaos(t *testing.T) {
	s := newSite(t, shaken, "ulimit -n 160")
	s.populate(6, 10, 20, time.Millisecond)
	s.audit("before anything was done to it")
	atRest := s.Resident()

	var wg sync.WaitGroup
	ctx, cancel := context.WithTimeout(s.ctx, chaosTime)
	for _, trouble := range []func(){s.trouble, s.strangers, s.crowd, s.reloads, s.jumps} {
		wg.Go(func() {
			for ctx.Err() == nil {
				trouble()
			}
		})
	}
	wg.Wait()
	cancel()
	s.configure(shaken)
	s.Signal(syscall.SIGHUP)
	s.audit("after the chaos")
	t.Logf("%d notifications and %d requests sent, %d answers, %d echoes, %d messages received, %d reconnects", s.Sent.Load(), s.Asked.Load(), s.Answered.Load(), s.Echoed.Load(), s.Got.Load(), s.Reconnects.Load())

	for range chaosKills { // the relay itself dies; its successor on the same port knows nothing
		s.Kill()
		s.launch(s.Process.Addr)
		s.audit("after a kill -9")
	}

	s.Signal(syscall.SIGTERM)
	if code, err := s.Wait(20 * time.Second); err != nil || code != 0 {
		t.Fatalf("after SIGTERM: exit %d, %v", code, err)
	}
	s.launch(s.Process.Addr)
	s.audit("after a restart")
	if grown := s.Resident() - atRest; grown > 64<<20 {
		t.Errorf("resident memory has grown by %d bytes", grown)
	}
	s.leave()
	s.Leave()
	s.empty()
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
}

// trouble does something to one of the people.
func (s *site) trouble() {
	time.Sleep(time.Duration(5+rand.IntN(60)) * time.Millisecond)
	c := s.Someone(one("owner", "caller", "caller"))
	if c == nil {
		return
	}
	switch rand.IntN(6) {
	case 0:
		c.Reset()
	case 1:
		c.Close()
	case 2:
		c.Half()
	case 3, 4:
		c.Stall(time.Duration(rand.IntN(2500)) * time.Millisecond)
	case 5: // a line that does not end, then nothing
		c.Abuse()
		_ = c.Write([]byte(`{"jsonrpc":"2.0","method":"clientService/not`))
		c.Reset()
	}
}

func one(values ...string) string { return values[rand.IntN(len(values))] }

// strangers connect and behave badly in ways that no client would.
func (s *site) strangers() {
	time.Sleep(time.Duration(20+rand.IntN(80)) * time.Millisecond)
	c, err := s.Dial(fmt.Sprintf("stranger-%d", rand.IntN(1000000)), rand.IntN(2) == 0, nil)
	if err != nil {
		return
	}
	c.Abuse()
	defer c.Close()
	switch rand.IntN(5) {
	case 0: // an oversized line
		_ = c.Write([]byte(strings.Repeat("x", 200<<10)))
	case 1: // a flood of what is no message
		_ = c.Write([]byte(strings.Repeat("{]\n", 3000)))
	case 2: // a flood of requests by somebody who does not read
		c.Stall(2 * time.Second)
		_ = c.Write([]byte(strings.Repeat(`{"jsonrpc":"2.0","method":"clientService/request","id":"x","params":{"serviceId":"none","method":"m"}}`+"\n", 20000)))
		time.Sleep(500 * time.Millisecond)
	case 3: // services by the dozen, then gone
		for range 40 {
			_ = c.Write([]byte(`{"jsonrpc":"2.0","method":"client/registerService","id":"r","params":{"metadata":{"pad":"` + strings.Repeat("x", 200) + `"}}}` + "\n"))
		}
		c.Reset()
	case 4: // byte by byte, and never a whole line
		for _, b := range []byte(`{"jsonrpc":"2.0","method":"cl`) {
			_ = c.Write([]byte{b})
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// crowd takes more connections than the relay has descriptors, and holds them for a while.
func (s *site) crowd() {
	time.Sleep(time.Duration(300+rand.IntN(300)) * time.Millisecond)
	idle := town.Crowd(s.Town.Addr(), 220)
	time.Sleep(200 * time.Millisecond)
	for _, c := range idle {
		_ = c.Close()
	}
}

// reloads are good and bad, more often than any operator would.
func (s *site) reloads() {
	text := shaken
	switch rand.IntN(5) {
	case 0:
		text = "this is no configuration"
	case 1:
		text += "queue_bytes_hardly = 5\n"
	case 2:
		text += "id_bytes_max = 256\n"
	case 3:
		text = strings.Replace(text, "[limits]", "default_directory = \"file:///srv\"\n[limits]", 1)
	}
	_ = os.WriteFile(s.path, []byte(text), 0o600)
	for range 1 + rand.IntN(5) {
		s.Signal(syscall.SIGHUP)
	}
	time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
}

// jumps stop the relay's clock, as far as it can tell.
func (s *site) jumps() {
	time.Sleep(time.Duration(400+rand.IntN(800)) * time.Millisecond)
	s.Signal(syscall.SIGSTOP)
	time.Sleep(time.Duration(100+rand.IntN(300)) * time.Millisecond)
	s.Signal(syscall.SIGCONT)
}

// TestMemoryLimit: with little address space and readers that do not read, the relay stays within what it may
// use, and those who read notice nothing.
func TestMemoryLimit(t *testing.T) {
	s := newSite(t, strings.Replace(shaken, "memory_bytes_max = 67108864", "memory_bytes_max = 16777216", 1), "ulimit -v 2000000")
	s.populate(3, 4, 10, 2*time.Millisecond)
	s.audit("before the flood")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 4 {
				c, err := s.Dial(fmt.Sprintf("glutton-%d-%d", i, n), true, nil)
				if err != nil {
					continue
				}
				c.Stall(time.Minute)
				_ = c.Write([]byte(strings.Repeat(`{"jsonrpc":"2.0","method":"ping","id":"`+strings.Repeat("x", 100)+`"}`+"\n", 40000)))
				c.Close()
			}
		})
	}
	wg.Wait()
	if m, err := s.Metrics(); err != nil || m["ahprelay_memory_bytes"] > 16777216 {
		t.Errorf("the relay holds %v bytes (%v)", m["ahprelay_memory_bytes"], err)
	}
	if r := s.Resident(); r > 300<<20 {
		t.Errorf("resident memory is %d bytes", r)
	}
	s.audit("after the flood")
	s.leave()
	s.Leave()
	s.empty()
}
