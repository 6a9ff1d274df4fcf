package reader

import (
	"context"
	"fmt"
	"testing"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/fixture"
)

// leave removes a service from the catalogue.
func (b *bench) leave(id string) {
	delete(b.newest, id)
	b.watchers.apply(client.CatalogEvent{Kind: client.ServiceRemoved, Service: client.ServiceInfo{ID: id}})
}

// watching runs Watch for the length of the test.
func (b *bench) watching() {
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan struct{})
	go func() { b.Watch(ctx); close(done) }()
	b.t.Cleanup(func() { cancel(); <-done })
}

const ok = `{}`

func TestWatchersHearOfChanges(t *testing.T) {
	f := fixture.New(t)
	b := newBench(t, f)
	b.watching()
	b.newest["s1"] = "me"
	b.newest["s2"] = "other"
	b.newest["s3"] = "me"
	watch := func(id string) string { return `{"repo":"work","serviceId":"` + id + `"}` }
	for range 3 {
		b.expect("watchRefs", watch("s1"), ok)
	}
	b.expect("watchRefs", watch("s2"), `-32009 {"serviceId":"s2"}`)
	b.expect("watchRefs", watch("s4"), `-32008 {"serviceId":"s4"}`)
	before := ""
	heard := func(want string) {
		t.Helper()
		got := <-b.notes
		for got == before { // what Git does in two steps may be seen as two changes
			got = <-b.notes
		}
		if before = want; got != want {
			t.Errorf("heard %s, want %s", got, want)
		}
	}
	f.Commit("one")
	heard(`s1 refsChanged {"repo":"work"}`)
	b.expect("watchRefs", watch("s3"), ok)
	b.expect("unwatchRefs", watch("s1"), ok)
	b.expect("unwatchRefs", watch("s1"), ok)
	f.Git("branch", "topic")
	heard(`s3 refsChanged {"repo":"work"}`)
	b.leave("s3")
	if b.ask(t.Context(), "other", "watchRefs", watch("s2")) != ok {
		t.Error("the owner of s2 may not watch")
	}
	b.expect("unwatchRefs", watch("s2"), `-32009 {"serviceId":"s2"}`)
	f.Git("branch", "-D", "topic")
	heard(`s2 refsChanged {"repo":"work"}`)
	b.leave("s2")
	if len(b.watchers.subs)+len(b.watchers.counts) != 0 {
		t.Errorf("left over: %v %v", b.watchers.subs, b.watchers.counts)
	}
}

func TestSnapshotForgetsWhoIsGone(t *testing.T) {
	b := newBench(t, fixture.New(t))
	for _, id := range []string{"s1", "s2"} {
		b.newest[id] = "me"
		b.expect("watchRefs", `{"repo":"work","serviceId":"`+id+`"}`, ok)
	}
	b.newest = map[string]string{"s2": "me", "s9": "you"}
	b.watchers.apply(client.CatalogEvent{Kind: client.CatalogSnapshot})
	if got := b.watchers.of("work"); len(got) != 1 || got[0] != "s2" || b.watchers.counts["me"] != 1 {
		t.Errorf("subscribers %v, counts %v", got, b.watchers.counts)
	}
	b.expect("watchRefs", `{"repo":"work","serviceId":"s1"}`, `-32008 {"serviceId":"s1"}`)
	b.expect("watchRefs", `{"repo":"work","serviceId":"s9"}`, `-32009 {"serviceId":"s9"}`)
}

func TestWatchersAreBounded(t *testing.T) {
	b := newBench(t, fixture.New(t))
	ask := func(client string, n int) string {
		id := fmt.Sprint(client, "-", n)
		b.newest[id] = client
		return b.ask(t.Context(), client, "watchRefs", `{"repo":"work","serviceId":"`+id+`"}`)
	}
	for c := range watchersMax / watchersPerClientMax {
		for n := range watchersPerClientMax {
			if got := ask(fmt.Sprint("c", c), n); got != ok {
				t.Fatalf("client %d, service %d: %s", c, n, got)
			}
		}
		if c == 0 {
			if got := ask("c0", watchersPerClientMax); got != `-32020 {"limit":"watchersPerClient","max":64}` {
				t.Error(got)
			}
		}
	}
	if got := ask("last", 0); got != `-32020 {"limit":"watchers","max":1024}` {
		t.Error(got)
	}
	clear(b.newest)
	b.watchers.apply(client.CatalogEvent{Kind: client.CatalogSnapshot})
	if got := ask("last", 1); got != ok {
		t.Error(got)
	}
}

func TestLookerRestsWithoutSubscribers(t *testing.T) {
	f := fixture.New(t)
	b := newBench(t, f)
	b.watching()
	b.newest["s1"] = "me"
	l := b.watchers.looker["work"]
	for range 3 {
		b.expect("watchRefs", `{"repo":"work","serviceId":"s1"}`, ok)
		f.Commit("next")
		<-b.notes
		b.expect("unwatchRefs", `{"repo":"work","serviceId":"s1"}`, ok)
		for resting := false; !resting; {
			l.mu.Lock()
			resting = l.tracker == nil
			l.mu.Unlock()
		}
	}
}
