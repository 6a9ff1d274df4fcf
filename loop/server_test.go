package loop

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// patience is how long a test waits for what must come. Nothing is asserted about how long it takes.
const patience = 30 * time.Second

// journal keeps what is logged.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func journalLogger(j *journal) *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// server is a Server under test.
type server struct {
	*Server
	t      testing.TB
	addr   string // of the first listener
	served chan error
	ended  bool
}

// run runs a server on a free port until the test ends. By then every client is gone, and the core must
// have got back everything that it had lent.
func run(t testing.TB, change func(*Config)) *server {
	t.Helper()
	config := Config{Listen: []string{listenURL(t)}, Relay: relay.DefaultConfig(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if scheme := schemeOf(t); scheme == "tls" || scheme == "wss" {
		config.Certificates = authority().certificates(t, "relay", false)
	}
	if change != nil {
		change(&config)
	}
	s, err := Listen(config)
	if err != nil {
		t.Fatal(err)
	}
	r := &server{Server: s, t: t, addr: s.Addrs()[0].String(), served: make(chan error, 1)}
	go func() { r.served <- s.Serve() }()
	t.Cleanup(func() {
		if !r.ended {
			if !t.Failed() {
				r.empty()
			}
			r.stop()
		}
	})
	return r
}

// serve is run for tests that need only the address.
func serve(t testing.TB, change func(*Config)) (*Server, string) {
	t.Helper()
	r := run(t, change)
	return r.Server, r.addr
}

// stop ends the server and waits for it.
func (s *server) stop() {
	s.t.Helper()
	s.Stop()
	s.wait()
}

// wait waits for Serve to return nil.
func (s *server) wait() {
	s.t.Helper()
	s.ended = true
	select {
	case err := <-s.served:
		if err != nil {
			s.t.Errorf("Serve: %v", err)
		}
	case <-time.After(patience):
		s.t.Fatal("Serve does not return")
	}
}

// inspect reads the core.
func (s *server) inspect(f func(core *relay.Core)) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Inspect(ctx, func(core *relay.Core, _ time.Duration) { f(core) }); err != nil {
		s.t.Fatal("inspecting the core: ", err)
	}
}

func (s *server) gauges() (g relay.Gauges) {
	s.t.Helper()
	s.inspect(func(core *relay.Core) { g = core.Gauges() })
	return g
}

func (s *server) counters() (k relay.Counters) {
	s.t.Helper()
	s.inspect(func(core *relay.Core) { k = *core.Counters() })
	return k
}

// until waits for something that the relay will do on its own.
func (s *server) until(what string, done func(core *relay.Core) bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		ok := false
		s.inspect(func(core *relay.Core) { ok = done(core) })
		if ok {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("waited in vain until %s: %+v", what, s.gauges())
		}
	}
}

// empty waits until the last connection is gone and asserts that nothing is held for anybody any more.
func (s *server) empty() {
	s.t.Helper()
	s.until("every connection is gone", func(core *relay.Core) bool { return core.Peers() == 0 })
	g := s.gauges()
	if g.Services+g.Observers+g.Inflight+g.Ghosts+g.CatalogBytes != 0 || g.QueueBytes != 0 || g.Memory != int64(g.ReplayBytes) {
		s.t.Errorf("nobody is there, but the core holds %+v", g)
	}
	held := 0
	s.inspect(func(*relay.Core) {
		for _, c := range s.reactor.conns {
			if c != nil {
				held++
			}
		}
	})
	if held != 0 {
		s.t.Errorf("the loop still knows %d connections", held)
	}
}
