package admin

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/loop"
	"github.com/ahprelay/ahprelay/relay"
)

// world is a relay with its admin server.
type world struct {
	t     testing.TB
	relay *loop.Server
	url   string
	admin *Server
	dir   string // of the token
}

// getenv makes the token be written below dir.
func getenv(dir string) func(string) string {
	return func(name string) string {
		if name == "RUNTIME_DIRECTORY" {
			return dir
		}
		return ""
	}
}

func newWorld(t testing.TB, change func(*Config)) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	server, err := loop.Listen(loop.Config{Listen: []string{"tcp://127.0.0.1:0"}, Relay: relay.DefaultConfig(), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	w.relay, w.url = server, "tcp://"+server.Addrs()[0].String()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve() }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	c := Config{Addr: "127.0.0.1:0", Getenv: getenv(w.dir), Version: "1.2.3", Commit: "abc", Logger: quiet}
	if change != nil {
		change(&c)
	}
	if w.admin, err = Listen(c, server); err != nil {
		t.Fatal(err)
	}
	go w.admin.Serve()
	w.admin.Ready()
	t.Cleanup(func() {
		w.admin.Close()
		w.admin.Wait()
	})
	return w
}

// connect returns an SDK client.
func (w *world) connect(id string) *client.Client {
	w.t.Helper()
	c, err := client.Dial(context.Background(), w.url, client.WithClientID(id), client.WithClientInfo("test", "9"), client.WithoutReconnect())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

// operator returns a client of the admin server with its token.
func (w *world) operator() *Client {
	w.t.Helper()
	addr := w.admin.listener.Addr().String()
	if w.admin.unix {
		addr = w.admin.URL()
	}
	c, err := NewClient(addr, "", getenv(w.dir))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	return c
}

// get sends a plain request; headers come in pairs.
func (w *world) get(path string, headers ...string) (status int, body string, header http.Header) {
	w.t.Helper()
	r, err := http.NewRequest("GET", strings.TrimSuffix(w.admin.URL(), "/")+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response.StatusCode, string(text), response.Header
}

// bearer is the header that lets one in.
func (w *world) bearer() []string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, tokenName(w.admin.listener.Addr().String())))
	if err != nil {
		w.t.Fatal(err)
	}
	return []string{"Authorization", "Bearer " + strings.TrimSpace(string(text))}
}

// until asks again until ok, for a while.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("gave up waiting for %s", what)
		}
	}
}

func decode[T any](t testing.TB, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}
