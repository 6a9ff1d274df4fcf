package rpc_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/client/rpc"
	"github.com/ahprelay/ahprelay/client/rpc/relaytest"
)

func sharedURL(t *testing.T) string {
	t.Helper()
	url, err := relaytest.Shared()
	if err != nil {
		t.Fatal(err)
	}
	return url
}

var soon = client.WithReconnect(client.ReconnectPolicy{Min: time.Millisecond, Max: 20 * time.Millisecond})

func TestOneCancellationDoesNotTouchAnother(t *testing.T) {
	b := newBench(t, benchOptions{})
	const calls = 10
	cancels := map[int]context.CancelFunc{}
	done := make([]chan error, calls)
	for i := range calls {
		ctx, cancel := context.WithCancel(b.ctx)
		defer cancel()
		cancels[i], done[i] = cancel, make(chan error, 1)
		go func() { done[i] <- b.x.Wait(ctx, "w") }()
	}
	for range calls {
		<-b.lab.waits
	}
	for i := range calls {
		cancels[i]()
		if err := <-done[i]; err != context.Canceled {
			t.Error(err)
		}
		if cause := <-b.lab.ended; !errors.Is(cause, client.ErrCancelled) {
			t.Error(cause)
		}
		if _, err := b.x.Add(b.ctx, 1, 1); err != nil {
			t.Error(err)
		}
		if n := len(b.lab.ended); n != 0 {
			t.Errorf("%d other calls ended", n)
		}
	}
}

func TestDeadlineReachesTheHost(t *testing.T) {
	b := newBench(t, benchOptions{})
	ctx, cancel := context.WithTimeout(b.ctx, 50*time.Millisecond)
	defer cancel()
	if err := b.x.Wait(ctx, "w"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	<-b.lab.waits
	<-b.lab.ended
}

func TestCallerDisconnectEndsEverything(t *testing.T) {
	line := relaytest.NewLine(t, sharedURL(t))
	b := newBench(t, benchOptions{userURL: line.URL, userClient: []client.Option{soon}})
	s, err := b.x.Shelf(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	sub, err := b.x.Ticks(b.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- b.x.Wait(b.ctx, "w") }()
	<-b.lab.waits
	b.holds(1, 1, 1, 1)
	line.Cut()
	if err := <-done; !errors.Is(err, client.ErrDisconnected) {
		t.Error(err)
	}
	<-b.lab.ended
	if _, err := sub.Next(b.ctx); !errors.Is(err, client.ErrDisconnected) || !errors.Is(sub.Err(), client.ErrDisconnected) {
		t.Error(err)
	}
	relaytest.Eventually(t, "the host holds nothing", func() bool {
		s, o, r, p := b.host.Holds()
		return s+o+r+p+b.lab.emitter.count() == 0
	})
	if _, err := s.Name(b.ctx); !errors.Is(err, rpc.ErrSession) || !errors.Is(err, client.ErrDisconnected) {
		t.Error(err)
	}
	if err := s.Release(b.ctx); err != nil {
		t.Error(err)
	}
	relaytest.Eventually(t, "the root can be used again", func() bool { _, err := b.x.Add(b.ctx, 1, 2); return err == nil })
	again, err := b.x.Shelf(b.ctx)
	if err != nil || again == s {
		t.Fatal(again, err)
	}
	if name, err := again.Name(b.ctx); name != "upper" || err != nil {
		t.Error(name, err)
	}
	services, err := b.user.FindAll(b.ctx, "protocol=rpc-session")
	if err != nil {
		t.Fatal(err)
	}
	mine := 0
	for _, s := range services {
		if s.ClientID == b.user.ClientID() {
			mine++
		}
	}
	if mine != 1 {
		t.Errorf("%d session services, of which one is used", mine)
	}
}

func TestHostDisconnectEndsEverything(t *testing.T) {
	line := relaytest.NewLine(t, sharedURL(t))
	b := newBench(t, benchOptions{hostURL: line.URL, hostClient: []client.Option{soon}})
	s, err := b.x.Shelf(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	sub, err := b.x.Ticks(b.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- b.x.Wait(b.ctx, "w") }()
	<-b.lab.waits
	old := b.host.Service().ID()
	line.Cut()
	if err := <-done; !errors.Is(err, client.ErrUnavailable) {
		t.Error(err)
	}
	<-b.lab.ended
	if _, err := sub.Next(b.ctx); !errors.Is(err, client.ErrUnavailable) {
		t.Error(err)
	}
	relaytest.Eventually(t, "the host holds nothing", func() bool {
		s, o, r, p := b.host.Holds()
		return s+o+r+p+b.lab.emitter.count() == 0
	})
	if _, err := s.Name(b.ctx); err == nil {
		t.Error("the reference can be used")
	}
	relaytest.Eventually(t, "the host is back", func() bool { return b.host.Service().ID() != old })
	conn, x := b.connect(b.user)
	defer conn.Close(b.ctx)
	relaytest.Eventually(t, "the session is over", func() bool { return b.conn.SessionID() == "" })
	if again, err := x.Shelf(b.ctx); err != nil || again == s {
		t.Error(again, err)
	}
}

func TestCloseOfTheHostEndsEverything(t *testing.T) {
	b := newBench(t, benchOptions{})
	sub, err := b.x.Ticks(b.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.host.Close(b.ctx); err != nil {
		t.Fatal(err)
	}
	if n := b.lab.emitter.count(); n != 0 {
		t.Errorf("%d watchers are left", n)
	}
	if _, err := sub.Next(b.ctx); !errors.Is(err, client.ErrUnavailable) {
		t.Error(err)
	}
	if _, err := b.x.Add(b.ctx, 1, 2); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
}

func TestCloseOfTheClientsIsEnough(t *testing.T) {
	b := newBench(t, benchOptions{})
	sub, err := b.x.Ticks(b.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.user.Close(b.ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := sub.Next(b.ctx); !errors.Is(err, client.ErrClosed) {
		t.Error(err)
	}
	if err := b.owner.Close(b.ctx); err != nil {
		t.Fatal(err)
	}
	relaytest.Eventually(t, "the watcher is gone", func() bool { return b.lab.emitter.count() == 0 })
}

func TestNothingIsLeftWhenAllIsOver(t *testing.T) {
	b := newBench(t, benchOptions{})
	for range 3 {
		if _, err := b.x.Box(b.ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := b.x.Ticks(b.ctx, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := b.x.Strict(b.ctx); err != nil {
			t.Fatal(err)
		}
	}
	b.holds(1, 4, 12, 6)
	if n := b.conn.Receivers(); n != 6 {
		t.Errorf("%d receivers", n)
	}
	if err := b.conn.Close(b.ctx); err != nil {
		t.Fatal(err)
	}
	if n := b.conn.Receivers(); n != 0 {
		t.Errorf("%d receivers are left", n)
	}
	relaytest.Eventually(t, "the host holds nothing", func() bool {
		s, o, r, p := b.host.Holds()
		return s+o+r+p+b.lab.emitter.count() == 0
	})
	if _, err := b.x.Shelf(b.ctx); !errors.Is(err, client.ErrClosed) {
		t.Error(err)
	}
	if n, err := b.x.Add(b.ctx, 1, 2); n != 3 || err != nil { // needs no session
		t.Error(n, err)
	}
}
