package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/client/rpc"
	"github.com/ahprelay/ahprelay/client/rpc/relaytest"
	"github.com/goccy/go-json"
)

func (b *bench) ticks(n int) {
	for range n {
		b.lab.emitter.tick(b.ctx)
	}
}

// take takes n events and checks that their values and sequences grow from these on.
func take[S any](t *testing.T, ctx context.Context, sub *rpc.Subscription[S, tick], n, value, sequence int) {
	t.Helper()
	for i := range n {
		ev, err := sub.Next(ctx)
		if err != nil || ev.Value.N != value+i || ev.Sequence != uint64(sequence+i) || ev.Dropped != 0 {
			t.Fatalf("got %+v %v, want value %d, sequence %d", ev, err, value+i, sequence+i)
		}
	}
}

func TestEventsInOrder(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.ticks(5)
	sub, err := b.x.Ticks(b.ctx, nil)
	if err != nil || sub.Snapshot() != 5 {
		t.Fatal(err)
	}
	go b.ticks(500)
	take(t, b.ctx, sub, 500, 6, 1)
	odd, err := b.x.Ticks(b.ctx, &tickFilter{Odd: true})
	if err != nil || odd.Snapshot() != 505 {
		t.Fatal(err)
	}
	b.ticks(4)
	for i, want := range []int{507, 509} {
		if ev, err := odd.Next(b.ctx); err != nil || ev.Value.N != want || ev.Sequence != uint64(i+1) {
			t.Fatal(ev, err)
		}
	}
	take(t, b.ctx, sub, 4, 506, 501)
}

func TestEventsIterate(t *testing.T) {
	b := newBench(t, benchOptions{})
	sub, err := b.x.Ticks(b.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.ticks(3)
	n := 0
	for ev := range sub.Events() {
		if n++; ev.Value.N != n {
			t.Error(ev)
		}
		if n == 3 {
			sub.Close()
		}
	}
	if n != 3 || !errors.Is(sub.Err(), client.ErrClosed) {
		t.Error(n, sub.Err())
	}
}

// TestNoGapBetweenSnapshotAndEvents subscribes while the object changes all the time.
func TestNoGapBetweenSnapshotAndEvents(t *testing.T) {
	b := newBench(t, benchOptions{buffer: 1 << 16, user: []rpc.Option{rpc.WithWindow(4096)}})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				b.ticks(1)
				time.Sleep(10 * time.Microsecond)
			}
		}
	})
	defer wg.Wait()
	defer close(stop)
	for range 20 {
		sub, err := b.x.Ticks(b.ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		take(t, b.ctx, sub, 20, sub.Snapshot()+1, 1)
		sub.Close()
	}
}

func TestUnsubscribe(t *testing.T) {
	b := newBench(t, benchOptions{})
	ctx, cancel := context.WithCancel(b.ctx)
	byContext, err := b.x.Ticks(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	byClose, err := b.x.Ticks(b.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	stays, err := b.x.Ticks(b.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.ticks(1)
	take(t, b.ctx, byContext, 1, 1, 1)
	cancel()
	byClose.Close()
	byClose.Close()
	relaytest.Eventually(t, "two watchers are gone", func() bool { return b.lab.emitter.count() == 1 })
	relaytest.Eventually(t, "two subscriptions are gone", func() bool { _, _, _, p := b.host.Holds(); return p == 1 })
	if _, err := byContext.Next(b.ctx); err != context.Canceled || byContext.Err() != context.Canceled {
		t.Error(err)
	}
	if _, err := byClose.Next(b.ctx); !errors.Is(err, client.ErrClosed) { // the event that waits is not delivered
		t.Error(err)
	}
	b.ticks(1)
	take(t, b.ctx, stays, 2, 1, 1)
	if n := b.conn.Receivers(); n != 1 {
		t.Errorf("%d receivers", n)
	}
}

// TestSubscriptionRace ends subscriptions while they are made and while events flow.
func TestSubscriptionRace(t *testing.T) {
	b := newBench(t, benchOptions{buffer: 4})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				b.ticks(1)
				time.Sleep(50 * time.Microsecond)
			}
		}
	})
	var users sync.WaitGroup
	for i := range 8 {
		users.Go(func() {
			for j := range 15 {
				ctx, cancel := context.WithTimeout(b.ctx, time.Duration(i*j)*50*time.Microsecond)
				if sub, err := b.x.Ticks(ctx, nil); err == nil {
					for ev := range sub.Events() {
						if ev.Sequence == uint64(j) {
							sub.Close()
						}
					}
				}
				cancel()
			}
		})
	}
	users.Wait()
	close(stop)
	wg.Wait()
	relaytest.Eventually(t, "all watchers are gone", func() bool { return b.lab.emitter.count() == 0 })
	relaytest.Eventually(t, "all subscriptions are gone", func() bool { _, _, _, p := b.host.Holds(); return p == 0 })
}

func TestCancelledWhileSubscribing(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.lab.slow = true
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	go func() {
		_, err := b.x.Ticks(ctx, nil)
		done <- err
	}()
	<-b.lab.waits
	cancel()
	if err := <-done; err != context.Canceled {
		t.Error(err)
	}
	relaytest.Eventually(t, "the host has given up", func() bool {
		_, _, _, p := b.host.Holds()
		return p+b.lab.emitter.count() == 0
	})
	short, cancel := context.WithTimeout(b.ctx, time.Millisecond)
	defer cancel()
	if _, err := b.x.Ticks(short, nil); !errors.Is(err, context.DeadlineExceeded) { // by whoever's clock
		t.Error(err)
	}
}

// handSubscriber subscribes by hand, to acknowledge as it likes.
type handSubscriber struct {
	b      *bench
	c      *client.Client
	id     string
	events chan string
	ends   chan string
	asked  chan uint64 // $rpc/sync
	state  chan uint64 // what to answer it with
}

func (b *bench) subscribeByHand(member string, window int) *handSubscriber {
	b.t.Helper()
	h := &handSubscriber{b: b, c: relaytest.Joined(b.t, "hand"), events: make(chan string, 1024), ends: make(chan string, 8)}
	h.asked, h.state = make(chan uint64, 64), make(chan uint64, 64)
	s, err := h.c.Register(b.ctx, nil, func(ctx context.Context, r *client.Request) (any, error) {
		if r.Method == "$rpc/end" {
			h.ends <- string(r.Params)
			return nil, nil
		}
		var p struct{ Sequence uint64 }
		if err := r.Decode(&p); err != nil || r.Method != "$rpc/sync" {
			return nil, client.ErrMethodNotFound
		}
		h.asked <- p.Sequence
		select {
		case n := <-h.state:
			return map[string]any{"subscriptionId": h.id, "sequence": n}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}, client.OnNotify(func(_ context.Context, n *client.Notification) { h.events <- string(n.Params) }))
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.raw(h.c, "$rpc/open", `{"session":`+quoted(s.ID())+`}`); err != nil {
		b.t.Fatal(err)
	}
	raw, err := b.raw(h.c, "$rpc/subscribe", fmt.Sprintf(`{"member":%q,"window":%d}`, member, window))
	if err != nil {
		b.t.Fatal(err)
	}
	var answer struct {
		SubscriptionID string `json:"subscriptionId"`
	}
	if err := json.Unmarshal([]byte(raw), &answer); err != nil {
		b.t.Fatal(raw, err)
	}
	h.id = answer.SubscriptionID
	b.t.Cleanup(func() { s.Unregister(relaytest.Context(b.t)) })
	return h
}

func (h *handSubscriber) start() {
	h.b.t.Helper()
	if _, err := h.b.raw(h.c, "$rpc/start", `{"subscriptionId":`+quoted(h.id)+`}`); err != nil {
		h.b.t.Fatal(err)
	}
}

func (h *handSubscriber) ack(c *client.Client, sequence int) {
	h.b.t.Helper()
	params := fmt.Sprintf(`{"subscriptionId":%q,"sequence":%d}`, h.id, sequence)
	if err := c.Notify(h.b.host.Service().ID(), "$rpc/ack", json.RawMessage(params)); err != nil {
		h.b.t.Fatal(err)
	}
}

// want checks the next events, and that there are no more.
func (h *handSubscriber) want(events ...string) {
	h.b.t.Helper()
	for _, want := range events {
		want = `{"subscriptionId":` + quoted(h.id) + `,` + want + `}`
		select {
		case got := <-h.events:
			if got != want {
				h.b.t.Fatalf("got %s, want %s", got, want)
			}
		case <-h.b.ctx.Done():
			h.b.t.Fatalf("never got %s", want)
		}
	}
	h.settle()
	if len(h.events) > 0 {
		h.b.t.Fatalf("more than expected: %s", <-h.events)
	}
}

// settle waits until what the host had to do by now has arrived.
func (h *handSubscriber) settle() {
	h.b.t.Helper()
	if err := h.c.Flush(h.b.ctx); err != nil {
		h.b.t.Fatal(err)
	}
	if _, err := h.b.raw(h.c, "add", `{"args":[1,1]}`); err != nil { // goes the same way as acknowledgements
		h.b.t.Fatal(err)
	}
	time.Sleep(5 * time.Millisecond) // whatever is too much needs no more
	if err := h.c.Flush(h.b.ctx); err != nil {
		h.b.t.Fatal(err)
	}
}

func TestWindowHoldsEventsBack(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.ticks(1)
	h := b.subscribeByHand("ticks", 2)
	b.ticks(3)
	h.want() // not started
	h.start()
	h.want(`"sequence":1,"value":{"n":2}`, `"sequence":2,"value":{"n":3}`)
	h.ack(h.c, 1)
	h.want(`"sequence":3,"value":{"n":4}`)
	b.ticks(3)
	h.want()
	h.ack(h.c, 7)    // was never sent
	h.ack(h.c, 1)    // again
	h.ack(b.user, 3) // not the subscriber's
	h.want()
	h.ack(h.c, 3) // cumulative: the one for 2 was lost
	h.want(`"sequence":4,"value":{"n":5}`, `"sequence":5,"value":{"n":6}`)
	h.ack(h.c, 5)
	h.want(`"sequence":6,"value":{"n":7}`)
}

func TestOverflowDropsTheOldest(t *testing.T) {
	b := newBench(t, benchOptions{buffer: 3})
	h := b.subscribeByHand("ticks", 1)
	b.ticks(5) // before it starts
	h.start()
	h.want(`"sequence":1,"dropped":2,"value":{"n":3}`)
	b.ticks(3) // 4 and 5 wait, then 6, 7, 8
	h.ack(h.c, 1)
	h.want(`"sequence":2,"dropped":2,"value":{"n":6}`)
	h.ack(h.c, 2)
	h.want(`"sequence":3,"value":{"n":7}`)
}

func TestOverflowIsToldToTheReader(t *testing.T) {
	b := newBench(t, benchOptions{buffer: 2, user: []rpc.Option{rpc.WithWindow(2)}})
	sub, err := b.x.Ticks(b.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.ticks(2)
	take(t, b.ctx, sub, 1, 1, 1) // 2 was sent as well
	b.ticks(10)
	total, dropped := 1, 0
	for total+dropped < 12 {
		ev, err := sub.Next(b.ctx)
		if err != nil || ev.Sequence != uint64(total+1) {
			t.Fatal(ev, err)
		}
		total++
		dropped += int(ev.Dropped)
		if ev.Value.N != total+dropped {
			t.Fatalf("%+v after %d and %d dropped", ev, total, dropped)
		}
	}
	if dropped == 0 {
		t.Error("nothing was dropped")
	}
}

func TestOverflowEndsTheSubscription(t *testing.T) {
	b := newBench(t, benchOptions{buffer: 2, user: []rpc.Option{rpc.WithWindow(1)}})
	sub, err := b.x.Strict(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	h := b.subscribeByHand("strict", 1)
	h.start()
	b.ticks(1)
	h.want(`"sequence":1,"value":{"n":1}`)
	b.ticks(3)
	want := `{"subscriptionId":` + quoted(h.id) + `,"reason":"overflow","message":"the subscriber is too slow"}`
	if got := <-h.ends; got != want {
		t.Error(got)
	}
	relaytest.Eventually(t, "the watchers are gone", func() bool { return b.lab.emitter.count() == 0 })
	relaytest.Eventually(t, "the reader is told", func() bool { return b.conn.Receivers() == 0 })
	take(t, b.ctx, sub, 1, 1, 1) // what had arrived is delivered
	if _, err := sub.Next(b.ctx); !errors.Is(err, rpc.ErrOverflow) || !errors.Is(sub.Err(), rpc.ErrOverflow) {
		t.Error(err)
	}
	relaytest.Eventually(t, "the subscriptions are gone", func() bool { _, _, _, p := b.host.Holds(); return p == 0 })
}

func TestOverflowBeforeTheStart(t *testing.T) {
	b := newBench(t, benchOptions{buffer: 2})
	h := b.subscribeByHand("strict", 1)
	b.ticks(3)
	relaytest.Eventually(t, "the watcher is gone", func() bool { return b.lab.emitter.count() == 0 })
	_, err := b.raw(h.c, "$rpc/start", `{"subscriptionId":`+quoted(h.id)+`}`)
	var e *client.Error
	if !errors.As(err, &e) || string(e.Data) != `{"$rpc":{"error":"overflow"}}` {
		t.Error(err)
	}
	b.holds(1, 0, 0, 0)
}

func TestLargeEventsFillTheWindowBySize(t *testing.T) {
	b := newBench(t, benchOptions{})
	h := b.subscribeByHand("ticks", 64)
	h.start()
	large := strings.Repeat("x", 400<<10)
	for range 3 {
		b.lab.emitter.send(b.ctx, tick{S: large})
	}
	want := func(sequence int) string { return fmt.Sprintf(`"sequence":%d,"value":{"n":0,"s":%q}`, sequence, large) }
	h.want(want(1), want(2))
	h.ack(h.c, 1)
	h.want(want(3))
	h.ack(h.c, 3)
	for range 60 { // the buffer holds 40 of them
		b.lab.emitter.send(b.ctx, tick{S: large})
	}
	for range 2 {
		<-h.events
	}
	h.ack(h.c, 5)
	if got := <-h.events; !strings.Contains(got, `"sequence":6,"dropped":`) {
		t.Error(got[:100])
	}
}

func TestBackpressureReachesTheHost(t *testing.T) {
	b := newBench(t, benchOptions{buffer: 10})
	h := b.subscribeByHand("strict", 2)
	h.start()
	b.ticks(2)
	h.want(`"sequence":1,"value":{"n":1}`, `"sequence":2,"value":{"n":2}`)
	b.ticks(10) // as many as the buffer holds, while the subscriber takes nothing
	h.want()
	h.ack(h.c, 2)
	h.want(`"sequence":3,"value":{"n":3}`, `"sequence":4,"value":{"n":4}`)
	b.ticks(2) // there is room again
	h.want()
	if b.lab.emitter.count() != 1 {
		t.Error("the subscription has ended")
	}
	b.ticks(1)
	relaytest.Eventually(t, "the subscription ends", func() bool { return b.lab.emitter.count() == 0 })
}

func TestLostAcknowledgementHeals(t *testing.T) {
	b := newBench(t, benchOptions{host: []rpc.Option{rpc.WithProbe(time.Millisecond)}})
	h := b.subscribeByHand("ticks", 1)
	h.start()
	b.ticks(3)
	first := func(want uint64) {
		t.Helper()
		if n := <-h.asked; n != want {
			t.Fatalf("asked for %d, want %d", n, want)
		}
	}
	first(1)
	h.state <- 0 // nothing taken yet: it asks again
	first(1)
	h.state <- 1 // taken, but the acknowledgement was lost
	first(2)
	h.state <- 2
	first(3)
	h.state <- 3
	for i := 1; i <= 3; i++ {
		if got, want := <-h.events, fmt.Sprintf(`{"subscriptionId":%q,"sequence":%d,"value":{"n":%d}}`, h.id, i, i); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	h.settle()
	if len(h.asked) != 0 {
		t.Error("it asks although nothing is missing")
	}
}

func TestSlowReaderIsAskedAndGoesOn(t *testing.T) {
	b := newBench(t, benchOptions{host: []rpc.Option{rpc.WithProbe(time.Millisecond)}, user: []rpc.Option{rpc.WithWindow(2)}})
	sub, err := b.x.Ticks(b.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.ticks(6)
	time.Sleep(20 * time.Millisecond) // it is asked a few times
	take(t, b.ctx, sub, 6, 1, 1)
	b.ticks(1)
	take(t, b.ctx, sub, 1, 7, 7)
}

func TestUnsendableEventEndsTheSubscription(t *testing.T) {
	b := newBench(t, benchOptions{})
	sub, err := b.x.Strict(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	b.ticks(1)
	b.lab.emitter.send(b.ctx, tick{F: math.NaN()})
	b.ticks(1)
	relaytest.Eventually(t, "the watcher is gone", func() bool { return b.lab.emitter.count() == 0 })
	relaytest.Eventually(t, "the reader is told", func() bool { return b.conn.Receivers() == 0 })
	for err == nil {
		_, err = sub.Next(b.ctx)
	}
	if !errors.Is(err, rpc.ErrValue) || !strings.Contains(err.Error(), "event.f: NaN is no JSON number") {
		t.Error(err)
	}
}

func TestNextWaitsNoLongerThanAsked(t *testing.T) {
	b := newBench(t, benchOptions{})
	sub, err := b.x.Ticks(b.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.ctx, time.Millisecond)
	defer cancel()
	if _, err := sub.Next(ctx); err != context.DeadlineExceeded || sub.Err() != nil {
		t.Error(err)
	}
	b.ticks(1)
	take(t, b.ctx, sub, 1, 1, 1)
}

func TestGapIsAnError(t *testing.T) {
	h := byHand(t, nil)
	ctx := relaytest.Context(t)
	sub, err := h.lab().Ticks(ctx, nil)
	if err != nil || sub.Snapshot() != 7 {
		t.Fatal(err)
	}
	h.event(h.client, 1)
	h.event(h.client, 3)
	h.event(h.client, 2)
	take(t, ctx, sub, 1, 1, 1)
	if _, err := sub.Next(ctx); !errors.Is(err, rpc.ErrGap) || !strings.Contains(err.Error(), "want sequence 2, got 3") || !errors.Is(sub.Err(), rpc.ErrGap) {
		t.Error(err)
	}
	h.want(`$rpc/open{"session":` + quoted(h.sessionID()) + `}`)
	h.want(`$rpc/subscribe{"member":"ticks","window":64,"key":"k1"}`)
	h.want(`$rpc/start{"subscriptionId":"s"}`)
	h.want(`$rpc/unsubscribe{"subscriptionId":"s"}`)
}

func TestGapAtTheEndIsAnError(t *testing.T) {
	h := byHand(t, nil)
	ctx := relaytest.Context(t)
	sub, err := h.lab().Ticks(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	sync := func(sequence int) (string, error) {
		raw, err := client.Call[json.RawMessage](ctx, h.client, h.sessionID(), "$rpc/sync", map[string]any{"subscriptionId": "s", "sequence": sequence})
		return string(raw), err
	}
	h.event(h.client, 1)
	if got, err := sync(1); got != `{"subscriptionId":"s","sequence":0}` || err != nil {
		t.Error(got, err)
	}
	take(t, ctx, sub, 1, 1, 1)
	if got, err := sync(1); got != `{"subscriptionId":"s","sequence":1}` || err != nil {
		t.Error(got, err)
	}
	var e *client.Error
	if _, err := sync(2); !errors.As(err, &e) || string(e.Data) != `{"$rpc":{"error":"gap"}}` { // the second event was lost
		t.Error(err)
	}
	if _, err := sub.Next(ctx); !errors.Is(err, rpc.ErrGap) {
		t.Error(err)
	}
	if _, err := sync(1); !errors.As(err, &e) || string(e.Data) != `{"$rpc":{"error":"target"}}` {
		t.Error(err)
	}
}

func TestForeignSendersAreIgnored(t *testing.T) {
	h := byHand(t, nil)
	ctx := relaytest.Context(t)
	sub, err := h.lab().Ticks(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	other := relaytest.Joined(t, "other")
	h.event(other, 1)
	h.event(h.user, 5)
	for _, c := range []*client.Client{other, h.user} {
		if err := c.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{"$rpc/end", "$rpc/sync"} {
			err := c.Call(ctx, h.sessionID(), method, map[string]any{"subscriptionId": "s", "sequence": 1}, nil)
			if !errors.Is(err, client.ErrPermissionDenied) {
				t.Error(method, err)
			}
		}
	}
	h.event(h.client, 1)
	take(t, ctx, sub, 1, 1, 1)
	// Nor does the host get far with what is no event, or of another subscription.
	for _, params := range []string{`7`, `{}`, `{"subscriptionId":"x","sequence":1}`, `{"subscriptionId":"s","sequence":0}`, `{"subscriptionId":"s"}`} {
		if err := h.client.Notify(h.sessionID(), "$rpc/event", json.RawMessage(params)); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.client.Notify(h.sessionID(), "else", nil); err != nil {
		t.Fatal(err)
	}
	h.event(h.client, 2)
	take(t, ctx, sub, 1, 2, 2)
}

func TestHostThatIgnoresTheWindow(t *testing.T) {
	h := byHand(t, nil, rpc.WithWindow(2))
	ctx := relaytest.Context(t)
	sub, err := h.lab().Ticks(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		h.event(h.client, i+1)
	}
	relaytest.Eventually(t, "the subscription ends", func() bool { return h.conn.Receivers() == 0 })
	take(t, ctx, sub, 2, 1, 1)
	if _, err := sub.Next(ctx); !errors.Is(err, rpc.ErrOverflow) {
		t.Error(err)
	}
}

func TestEventOfTheWrongTypeEndsTheSubscription(t *testing.T) {
	h := byHand(t, nil)
	ctx := relaytest.Context(t)
	sub, err := h.lab().Ticks(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	params := `{"subscriptionId":"s","sequence":1,"value":{"n":"x"}}`
	if err := h.client.Notify(h.sessionID(), "$rpc/event", json.RawMessage(params)); err != nil {
		t.Fatal(err)
	}
	_, err = sub.Next(ctx)
	wantValue(t, err, "event.n", "want int, not a string")
	wantValue(t, sub.Err(), "event.n", "want int, not a string")
}

func TestAcknowledgementsAreCumulative(t *testing.T) {
	h := byHand(t, nil, rpc.WithWindow(4))
	ctx := relaytest.Context(t)
	sub, err := h.lab().Ticks(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		h.event(h.client, i+1)
	}
	if err := h.client.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	err = h.client.Call(ctx, h.sessionID(), "$rpc/sync", map[string]any{"subscriptionId": "s", "sequence": 4}, nil) // all have arrived
	if err != nil {
		t.Fatal(err)
	}
	take(t, ctx, sub, 4, 1, 1)
	for _, want := range []uint64{3, 4} { // half of the window and more, then the last
		if got := <-h.acks; got != want {
			t.Errorf("acknowledged %d, want %d", got, want)
		}
	}
}
