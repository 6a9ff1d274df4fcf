package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestRelayRestart(t *testing.T) {
	r := relayed(t)
	events := make(recorder, 10)
	a, b := r.joined(t, "a", events.option()), r.joined(t, "b")
	s := offer(t, a, "x")
	old := s.ID()
	w, err := b.Watch(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if s := readEvents(t, w, 1)[0]; !strings.HasPrefix(s, "S["+old+"]") {
		t.Fatal(s)
	}
	wait := async(t, func() error { return b.Call(context.Background(), old, "block", nil, nil) })
	for a.link.Load().running.count() == 0 {
		time.Sleep(time.Millisecond)
	}
	r.kill()
	if err := wait(); !errors.Is(err, ErrDisconnected) || Delivered(err) != "maybe" {
		t.Fatal(err)
	}
	r.again(t)
	if e, ok := events.next(t).(Disconnected); !ok || !e.Reconnecting {
		t.Fatal(e)
	}
	e, ok := events.next(t).(Reconnected)
	if !ok || e.Services[old] != s.ID() || s.ID() == old {
		t.Fatal(e, s.ID())
	}
	for ev := range w.Events() {
		if now := ids(w.State()); len(now) == 1 && now[0] == s.ID() {
			break
		}
		_ = ev
	}
	if err := b.Call(deadline(t), old, "echo", nil, nil); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	if got, err := Call[string](deadline(t), b, s.ID(), "echo", "hi"); err != nil || got != "hi" {
		t.Fatal(got, err)
	}
}

// A connection that breaks while the relay lives is resumed: the watcher gets what it missed as changes.
func TestRelayResume(t *testing.T) {
	r := relayed(t)
	a := r.joined(t, "a")
	offer(t, a, strings.Repeat("long", 1000)) // a replay of the few changes below is smaller than the catalogue
	first := offer(t, a, "first")
	events := make(recorder, 10)
	b := r.joined(t, "b", events.option(), WithReconnect(ReconnectPolicy{Min: 200 * time.Millisecond}))
	w, err := b.Watch(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	readEvents(t, w, 1)
	b.link.Load().tr.Close()
	events.next(t)
	second := offer(t, a, "second")
	if err := first.Unregister(deadline(t)); err != nil {
		t.Fatal(err)
	}
	if e, ok := events.next(t).(Reconnected); !ok {
		t.Fatal(e)
	}
	got := readEvents(t, w, 2)
	if !strings.HasPrefix(got[0], "+"+second.ID()+"{") || !strings.HasPrefix(got[1], "-"+first.ID()+"@") {
		t.Fatal(got)
	}
	third := offer(t, a, "third")
	if got := readEvents(t, w, 1); !strings.HasPrefix(got[0], "+"+third.ID()+"{") {
		t.Fatal(got)
	}
}

// The relay is killed again and again while clients call, notify, watch and register; when it stays up,
// everything is consistent again.
func TestRelayRestartsUnderLoad(t *testing.T) {
	r := relayed(t)
	const clients = 4
	var all []*Client
	for i := range clients {
		c := r.joined(t, fmt.Sprint("c", i))
		offer(t, c, fmt.Sprint("p", i), Ordered(), OnNotify(func(context.Context, *Notification) {}))
		all = append(all, c)
	}
	w, err := all[0].Watch(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	stop, workers := make(chan struct{}), sync.WaitGroup{}
	for i, c := range all {
		workers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				s, ok := newest(w, fmt.Sprint("p", (i+1)%clients))
				if !ok {
					continue
				}
				if got, err := Call[int](deadline(t), c, s.ID, "echo", n); err == nil && got != n {
					t.Errorf("got %d for %d", got, n)
				} else if err != nil && !errors.Is(err, ErrDisconnected) && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrUnavailable) {
					t.Error(err)
				}
				c.Notify(s.ID, "n", n)
			}
		})
	}
	for range 3 {
		time.Sleep(50 * time.Millisecond)
		r.kill()
		r = r.again(t)
	}
	close(stop)
	workers.Wait()
	for i, c := range all {
		for err := ErrDisconnected; err != nil; { // until the client has noticed the last restart
			s, found := c.Find(deadline(t), fmt.Sprintf("protocol=p%d", (i+1)%clients))
			if found != nil {
				t.Fatal(found)
			}
			_, err = Call[int](deadline(t), c, s.ID, "echo", 1)
			if err != nil && !errors.Is(err, ErrDisconnected) && !errors.Is(err, ErrNotFound) {
				t.Fatal(err)
			}
		}
	}
	for range w.Events() {
		if len(w.State()) == clients {
			break
		}
	}
}

// newest returns the newest service of a protocol.
func newest(w *Catalog, protocol string) (ServiceInfo, bool) {
	m, _ := NewMatcher("protocol=" + protocol)
	for _, s := range slices.Backward(w.State()) {
		if m.Match(s) {
			return s, true
		}
	}
	return ServiceInfo{}, false
}
