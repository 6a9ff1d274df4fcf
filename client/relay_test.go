package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The tests in this file use the real relay, as a process of its own.

// offer registers a service that answers with its params, blocks, or fails, by the method.
func offer(t testing.TB, c *Client, protocol string, opts ...ServiceOption) *Service {
	t.Helper()
	s, err := c.Register(deadline(t), map[string]string{"protocol": protocol}, func(ctx context.Context, r *Request) (any, error) {
		switch r.Method {
		case "echo":
			return r.Params, nil
		case "whoami":
			return r.Sender, nil
		case "block":
			<-ctx.Done()
			return nil, context.Cause(ctx)
		case "fail":
			return nil, &Error{Code: 99, Message: "as asked", Data: json.RawMessage(`{ "n": 1.50 }`)}
		}
		return nil, ErrMethodNotFound
	}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRelayCall(t *testing.T) {
	r := relayed(t)
	a, b := r.joined(t, "a"), r.joined(t, "b")
	offer(t, a, "echo")
	found, err := b.Find(deadline(t), "protocol=echo")
	if err != nil || found.ClientID != "a" || string(found.Metadata) != `{"protocol":"echo"}` {
		t.Fatal(found, err)
	}
	params := json.RawMessage(`{ "a":1e3, "a":9007199254740993, "s":"\u0041\ud800" }`)
	got, err := Call[json.RawMessage](deadline(t), b, found.ID, "echo", params)
	if err != nil || string(got) != string(params) {
		t.Fatal(string(got), err)
	}
	if who, err := Call[string](deadline(t), b, found.ID, "whoami", nil); err != nil || who != "b" {
		t.Fatal(who, err)
	}
	var e *Error
	if err := b.Call(deadline(t), found.ID, "fail", nil, nil); !errors.As(err, &e) || e.Code != 99 || e.Message != "as asked" || string(e.Data) != `{ "n": 1.50 }` {
		t.Fatal(err)
	}
	if err := b.Call(deadline(t), found.ID, "none", nil, nil); !errors.Is(err, ErrMethodNotFound) {
		t.Fatal(err)
	}
	if err := b.Call(deadline(t), "no-such-id", "echo", nil, nil); !errors.Is(err, ErrNotFound) || Delivered(err) != "never" {
		t.Fatal(err)
	}
	if err := b.Call(deadline(t), found.ID, strings.Repeat("m", 257), nil, nil); !errors.Is(err, ErrInvalidParams) {
		t.Fatal(err)
	}
	if l := b.Limits(); l.FrameBytes != 1<<20 || l.MetadataBytes != 16<<10 || l.RequestTimeoutMs != 30000 || l.DeliveredBytes <= l.FrameBytes || l.SnapshotBytes <= l.CatalogBytes {
		t.Fatalf("%+v", l)
	}
	if s := b.ServerInfo(); s.Name != "ahprelay" || s.ProtocolVersion != "1.0.0" {
		t.Fatalf("%+v", s)
	}
	// A client may call its own services, and the largest frame goes through.
	large := strings.Repeat("x", b.Limits().FrameBytes-512)
	if got, err := Call[string](deadline(t), a, found.ID, "echo", large); err != nil || got != large {
		t.Fatal(len(got), err)
	}
}

func TestRelayClientIDInUse(t *testing.T) {
	r := relayed(t)
	r.joined(t, "a")
	if _, err := Dial(deadline(t), r.url, WithClientID("a")); !errors.Is(err, ErrAlreadyExists) {
		t.Fatal(err)
	}
	if _, err := Dial(deadline(t), r.url, WithProtocolVersions("2.0.0")); !errors.Is(err, ErrUnsupportedVersion) {
		t.Fatal(err)
	}
}

func TestRelayCancelAndTimeout(t *testing.T) {
	r := relayed(t)
	a, b := r.joined(t, "a"), r.joined(t, "b")
	// causes is unbuffered: the handler answers only when the test has seen the caller's side.
	started, causes, patience := make(chan struct{}, 1), make(chan error), deadline(t)
	s, err := a.Register(deadline(t), nil, func(ctx context.Context, r *Request) (any, error) {
		started <- struct{}{}
		<-ctx.Done()
		select {
		case causes <- context.Cause(ctx):
		case <-patience.Done():
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	wait := async(t, func() error { return b.Call(ctx, s.ID(), "m", nil, nil) })
	<-started
	cancel()
	if err := wait(); err != context.Canceled {
		t.Fatal(err)
	}
	if cause := <-causes; !errors.Is(cause, ErrCancelled) {
		t.Fatal(cause)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := b.Call(ctx, s.ID(), "m", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	<-started
	if cause := <-causes; !errors.Is(cause, context.DeadlineExceeded) && !errors.Is(cause, ErrCancelled) {
		t.Fatal(cause)
	}
	// The caller leaves: the handler is told.
	wait = async(t, func() error { return b.Call(context.Background(), s.ID(), "m", nil, nil) })
	<-started
	abandon(b)
	if err := wait(); err != ErrClosed {
		t.Fatal(err)
	}
	if cause := <-causes; !errors.Is(cause, ErrCancelled) {
		t.Fatal(cause)
	}
}

func TestRelayOwnerLeaves(t *testing.T) {
	r := relayed(t)
	a, b := r.joined(t, "a"), r.joined(t, "b")
	s := offer(t, a, "x")
	wait := async(t, func() error { return b.Call(context.Background(), s.ID(), "block", nil, nil) })
	for a.link.Load().running.count() == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := s.Unregister(deadline(t)); err != nil {
		t.Fatal(err)
	}
	if err := wait(); !errors.Is(err, ErrUnavailable) || Delivered(err) != "maybe" {
		t.Fatal(err)
	}
	if err := b.Call(deadline(t), s.ID(), "echo", nil, nil); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
}

// count returns how many requests are in hand.
func (js *jobs) count() int {
	js.mu.Lock()
	defer js.mu.Unlock()
	return len(js.byID)
}

func TestRelayOrder(t *testing.T) {
	const each = 2000
	r := relayed(t)
	owner := r.joined(t, "owner")
	var mu sync.Mutex
	next := map[string]int{}
	bad := 0
	check := func(sender string, params json.RawMessage) {
		mu.Lock()
		defer mu.Unlock()
		if string(params) != fmt.Sprint(next[sender]) {
			bad++
		}
		next[sender]++
	}
	s, err := owner.Register(deadline(t), nil, func(ctx context.Context, r *Request) (any, error) {
		check(r.Sender, r.Params)
		return nil, nil
	}, Ordered(), OnNotify(func(ctx context.Context, n *Notification) { check(n.Sender, n.Params) }))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 3 {
		c := r.joined(t, fmt.Sprint("sender-", i))
		all.Go(func() {
			for n := range each {
				if n%10 != 9 {
					if err := c.Notify(s.ID(), "n", n); err != nil {
						t.Error(err)
					}
					continue
				}
				if err := c.Call(deadline(t), s.ID(), "r", n, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if bad != 0 || next["sender-0"] != each || next["sender-1"] != each || next["sender-2"] != each {
		t.Fatal(bad, next)
	}
}

func TestRelayCatalog(t *testing.T) {
	r := relayed(t, "--catalog-changes-per-second-max", "0")
	watcher, churner := r.joined(t, "watcher"), r.joined(t, "churner")
	w, err := watcher.Watch(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	// One goroutine follows the events, while services come, change and go.
	seen := map[string]string{}
	followed := async(t, func() error { return follow(w, seen) })
	var kept []*Service
	for i := range 500 {
		s := offer(t, churner, fmt.Sprint("p", i))
		if err := s.Update(deadline(t), json.RawMessage(fmt.Sprintf(`{"protocol": "q%d"}`, i))); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			kept = append(kept, s)
			continue
		}
		if err := s.Unregister(deadline(t)); err != nil {
			t.Fatal(err)
		}
	}
	last := offer(t, churner, "last")
	if err := followed(); err != nil {
		t.Fatal(err)
	}
	all, err := watcher.Services(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{}
	for _, s := range append(kept, last) {
		want = append(want, s.ID())
	}
	if !slices.Equal(ids(all), want) || !slices.Equal(ids(w.State()), want) || len(seen) != len(want) {
		t.Fatalf("fetched %v\nmirrored %v\nfollowed %v\nregistered %v", ids(all), ids(w.State()), seen, want)
	}
	for _, s := range all {
		if seen[s.ID] != string(s.Metadata) {
			t.Fatalf("%s: %s, followed %s", s.ID, s.Metadata, seen[s.ID])
		}
	}
	abandon(churner)
	for ev := range w.Events() {
		if len(w.State()) == 0 {
			break
		}
		_ = ev
	}
}

// follow keeps seen, metadata by id, up to date until a service of the protocol "last" appears.
func follow(w *Catalog, seen map[string]string) error {
	for ev := range w.Events() {
		switch ev.Kind {
		case CatalogSnapshot:
			clear(seen)
			for _, s := range ev.Services {
				seen[s.ID] = string(s.Metadata)
			}
		case ServiceSet:
			seen[ev.Service.ID] = string(ev.Service.Metadata)
		case ServiceRemoved:
			if _, ok := seen[ev.Service.ID]; !ok {
				return fmt.Errorf("%s removed but never seen", ev.Service.ID)
			}
			delete(seen, ev.Service.ID)
		}
		for _, metadata := range seen {
			if strings.Contains(metadata, "last") {
				return nil
			}
		}
	}
	return w.Err()
}

func TestRelayShutdown(t *testing.T) {
	r := relayed(t)
	events := make(recorder, 10)
	a, b := r.joined(t, "a", events.option()), r.joined(t, "b", WithoutReconnect())
	release, started := make(chan struct{}), make(chan struct{})
	s, err := a.Register(deadline(t), nil, func(ctx context.Context, r *Request) (any, error) {
		close(started)
		<-release
		return "finished", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got string
	wait := async(t, func() (err error) {
		got, err = Call[string](context.Background(), b, s.ID(), "m", nil)
		return err
	})
	<-started
	r.cmd.Process.Signal(os.Interrupt)
	e, ok := events.next(t).(Closing)
	if !ok || e.Reason != "shutdown" || e.Grace <= 0 || e.ReconnectAfter <= 0 {
		t.Fatal(e)
	}
	close(release)
	if err := wait(); err != nil || got != "finished" {
		t.Fatal(got, err)
	}
	<-b.Closed()
	var closing *ClosingError
	if !errors.As(b.Err(), &closing) || closing.Reason != "shutdown" {
		t.Fatal(b.Err())
	}
	if err := r.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestRelayToken(t *testing.T) {
	config := filepath.Join(t.TempDir(), "relay.toml")
	// The SHA-256 of "sesame".
	err := os.WriteFile(config, []byte(`
[auth]
required = true
resource = "https://relay.example"
[[principal]]
name = "opener"
token_sha256 = "d0c04f4b1951e4aeaaec8223ed2039e542f3aae805a6fa7f6d794e5afff5d272"
client_ids = ["o-*"]
register = ["x"]
discover = ["*"]
notify = ["*"]
request = ["*"]
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	r := relayed(t, "--config", config)
	// Without a token one may connect, and is told what is missing.
	nobody := r.joined(t, "nobody")
	if _, err := nobody.Register(deadline(t), nil, nil); !errors.Is(err, ErrAuthRequired) || len(resourcesOf(err)) != 1 {
		t.Fatal(err)
	}
	if _, err := nobody.Watch(deadline(t)); !errors.Is(err, ErrAuthRequired) {
		t.Fatal(err)
	}
	if _, err := Dial(deadline(t), r.url, WithClientID("o-1"), WithToken("wrong"), WithResource("https://relay.example")); !errors.Is(err, ErrAuthRequired) {
		t.Fatal(err)
	}
	if _, err := Dial(deadline(t), r.url, WithClientID("else"), WithToken("sesame"), WithResource("https://relay.example")); !errors.Is(err, ErrPermissionDenied) {
		t.Fatal(err)
	}
	known := r.joined(t, "o-1", WithToken("sesame"), WithResource("https://relay.example"))
	learned := r.joined(t, "o-2", WithToken("sesame"))
	s := offer(t, known, "x")
	if _, err := known.Register(deadline(t), map[string]string{"protocol": "y"}, nil); !errors.Is(err, ErrPermissionDenied) {
		t.Fatal(err)
	}
	if who, err := Call[string](deadline(t), learned, s.ID(), "whoami", nil); err != nil || who != "o-2" {
		t.Fatal(who, err)
	}
}
