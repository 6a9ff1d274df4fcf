package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const (
	wantSubscribe   = `{"jsonrpc":"2.0","id":%d,"method":"subscribe","params":{"channel":"ahp-client-services://"}}`
	wantUnsubscribe = `{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"ahp-client-services://"}}`
)

// snapshot is the answer to a subscribe.
func snapshot(id, seq int, services ...string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"snapshot":{"resource":"ahp-client-services://","state":{"services":[%s]},"fromSeq":%d}}}`, id, strings.Join(services, ","), seq)
}

func entry(id, protocol string) string {
	return fmt.Sprintf(`{"serviceId":"%s","clientId":"c-%s","metadata":{"protocol":"%s"}}`, id, id, protocol)
}

func set(seq int, service string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-client-services://","action":{"type":"clientService/set","service":%s},"serverSeq":%d}}`, service, seq)
}

func removed(seq int, id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-client-services://","action":{"type":"clientService/removed","serviceId":"%s"},"serverSeq":%d}}`, id, seq)
}

// brief spells an event: S[a b]@7, +a, -a, the metadata where it matters.
func brief(ev CatalogEvent) string {
	switch ev.Kind {
	case ServiceSet:
		return fmt.Sprintf("+%s%s@%d", ev.Service.ID, ev.Service.Metadata, ev.Seq)
	case ServiceRemoved:
		return fmt.Sprintf("-%s@%d", ev.Service.ID, ev.Seq)
	}
	return fmt.Sprintf("S%v@%d", ids(ev.Services), ev.Seq)
}

func ids(services []ServiceInfo) []string {
	out := []string{}
	for _, s := range services {
		out = append(out, s.ID)
	}
	return out
}

// watched starts a watch over the given snapshot.
func watched(t *testing.T, c *Client, p *peer, id, seq int, services ...string) *Catalog {
	t.Helper()
	var w *Catalog
	wait := async(t, func() (err error) {
		w, err = c.Watch(context.Background())
		return err
	})
	p.want(fmt.Sprintf(wantSubscribe, id))
	p.send(snapshot(id, seq, services...))
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	return w
}

// events reads n events.
func readEvents(t *testing.T, w *Catalog, n int) (out []string) {
	t.Helper()
	err := async(t, func() error {
		for ev := range w.Events() {
			if out = append(out, brief(ev)); len(out) == n {
				return nil
			}
		}
		return fmt.Errorf("ended after %v: %w", out, w.Err())
	})()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestServices(t *testing.T) {
	c, p, _ := dialed(t)
	var got []ServiceInfo
	wait := async(t, func() (err error) {
		got, err = c.Services(context.Background())
		return err
	})
	p.want(fmt.Sprintf(wantSubscribe, 2))
	p.send(snapshot(2, 7, entry("b", "x"), entry("a", "y")), set(8, entry("c", "z")))
	p.want(wantUnsubscribe)
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprint(ids(got)); s != "[b a]" || got[1].ClientID != "c-a" || string(got[1].Metadata) != `{"protocol":"y"}` {
		t.Fatal(got)
	}
	wait = async(t, func() (err error) {
		got, err = c.FindAll(context.Background(), "protocol=y")
		return err
	})
	p.want(fmt.Sprintf(wantSubscribe, 3))
	p.send(snapshot(3, 7, entry("b", "x"), entry("a", "y")))
	p.want(wantUnsubscribe)
	if err := wait(); err != nil || len(got) != 1 || got[0].ID != "a" {
		t.Fatal(got, err)
	}
}

func TestWatch(t *testing.T) {
	c, p, _ := dialed(t)
	w := watched(t, c, p, 2, 7, entry("a", "1"), entry("b", "1"))
	if s := readEvents(t, w, 1)[0]; s != "S[a b]@7" {
		t.Fatal(s)
	}
	p.send(set(9, entry("c", "1")), set(10, entry("a", "2")), removed(12, "b"), removed(13, "unknown"), set(14, entry("b", "3")))
	got := strings.Join(readEvents(t, w, 4), " ")
	if want := `+c{"protocol":"1"}@9 +a{"protocol":"2"}@10 -b@12 +b{"protocol":"3"}@14`; got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	if s := fmt.Sprint(ids(w.State())); s != "[a c b]" {
		t.Fatal(s)
	}
	// A second watcher shares the subscription; it begins with the present state.
	ctx, cancel := context.WithCancel(context.Background())
	other, err := c.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if s := readEvents(t, other, 1)[0]; s != "S[a c b]@14" {
		t.Fatal(s)
	}
	w.Close()
	for range w.Events() {
		t.Fatal("an event after Close")
	}
	if err := w.Err(); err != ErrClosed {
		t.Fatal(err)
	}
	p.send(removed(15, "a"))
	if s := readEvents(t, other, 1)[0]; s != "-a@15" {
		t.Fatal(s)
	}
	cancel() // the last watcher leaves: so does the subscription
	p.want(wantUnsubscribe)
	for range other.Events() {
		t.Fatal("an event after the end of ctx")
	}
	if err := other.Err(); err != context.Canceled {
		t.Fatal(err)
	}
	w = watched(t, c, p, 3, 20, entry("z", "1"))
	if s := readEvents(t, w, 1)[0]; s != "S[z]@20" {
		t.Fatal(s)
	}
}

func TestWatchSlow(t *testing.T) {
	c, p, _ := dialed(t)
	w := watched(t, c, p, 2, 7)
	readEvents(t, w, 1)
	var lines []string
	for i := range changesMax + 1 {
		lines = append(lines, set(8+i, entry("a", fmt.Sprint(i))))
	}
	p.send(lines...)
	flush(t, c, p, 3)
	if s, want := readEvents(t, w, 1)[0], fmt.Sprintf("S[a]@%d", 8+changesMax); s != want {
		t.Fatalf("%s, want %s", s, want)
	}
}

// flush makes sure that the client has read everything sent before.
func flush(t *testing.T, c *Client, p *peer, id int) {
	t.Helper()
	wait := async(t, func() error { return c.Flush(deadline(t)) })
	p.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"channel":"ahp-root://"}}`, id))
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":null}`, id))
	if err := wait(); err != nil {
		t.Fatal(err)
	}
}

func TestWatchEndsWithClient(t *testing.T) {
	c, p, _ := dialed(t, WithoutReconnect())
	w := watched(t, c, p, 2, 7)
	readEvents(t, w, 1)
	wait := async(t, func() error {
		for range w.Events() {
		}
		return w.Err()
	})
	p.conn.Close()
	if err := wait(); !errors.Is(err, ErrDisconnected) {
		t.Fatal(err)
	}
}

func TestWatchRefused(t *testing.T) {
	c, p, _ := dialed(t)
	wait := async(t, func() error {
		_, err := c.Watch(context.Background())
		return err
	})
	p.read()
	p.send(`{"jsonrpc":"2.0","id":2,"error":{"code":-32007,"message":"who are you","data":{"resources":[]}}}`)
	if err := wait(); !errors.Is(err, ErrAuthRequired) {
		t.Fatal(err)
	}
	p.want(wantUnsubscribe)
}

func TestFind(t *testing.T) {
	c, p, _ := dialed(t)
	var got ServiceInfo
	wait := async(t, func() (err error) {
		got, err = c.Find(context.Background(), "protocol=y")
		return err
	})
	p.want(fmt.Sprintf(wantSubscribe, 2))
	p.send(snapshot(2, 7, entry("b", "x")), set(8, entry("d", "w")), set(9, entry("c", "y")))
	p.want(wantUnsubscribe)
	if err := wait(); err != nil || got.ID != "c" {
		t.Fatal(got, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	wait = async(t, func() (err error) {
		_, err = c.Find(ctx, "protocol=none")
		return err
	})
	p.want(fmt.Sprintf(wantSubscribe, 3))
	p.send(snapshot(3, 9, entry("b", "x")))
	flush(t, c, p, 4)
	cancel()
	p.want(wantUnsubscribe)
	if err := wait(); err != context.Canceled {
		t.Fatal(err)
	}
	if _, err := c.Find(context.Background(), "=y"); err == nil {
		t.Fatal("an empty key was accepted")
	}
}

func TestMatcher(t *testing.T) {
	s := ServiceInfo{ID: "s1", Metadata: []byte(`{"protocol":"git-\u0061","version":1,"list":["a"],"nil":null,"version":2}`)}
	for match, want := range map[string]bool{
		"protocol=git-a": true, "protocol=git": false, "version=1": true, "version=2": false, `version="1"`: false,
		`list=["a"]`: true, "nil=null": true, "absent=": false, "s1": true, "s2": false, "protocol=git-a,version=1": true,
		"protocol=git-a,version=3": false, "": false,
	} {
		m, err := NewMatcher(strings.Split(match, ",")...)
		if got := err == nil && m.Match(s); got != want {
			t.Errorf("%q: %v", match, got)
		}
	}
	if m, _ := NewMatcher(); !m.Match(s) {
		t.Error("the empty matcher does not match")
	}
}
