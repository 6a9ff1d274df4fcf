package admin

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/relay"
)

// tapped opens a tap and returns its envelopes.
func (w *world) tapped(q url.Values) <-chan Envelope {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := w.operator()
	envelopes, ended := make(chan Envelope, 100), make(chan error, 1)
	before := w.admin.taps.count()
	go func() {
		ended <- c.Tap(ctx, q, func(e *Envelope, _ []byte) error {
			kept := *e
			kept.Payload = append([]byte(nil), e.Payload...)
			envelopes <- kept
			return nil
		})
	}()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			w.t.Errorf("the tap ended: %v", err)
		}
	})
	until(w.t, "the tap", func() bool { return w.admin.taps.count() > before && w.tapIsOn() })
	return envelopes
}

// tapIsOn reports whether the loop shows envelopes to as many as are counted.
func (w *world) tapIsOn() (on bool) {
	_ = w.relay.Inspect(context.Background(), func(*relay.Core, time.Duration) { on = len(w.admin.taps.active) == w.admin.taps.count() })
	return on
}

// play has a caller notify, call and miss.
func play(t *testing.T, w *world) (service string) {
	t.Helper()
	owner, caller := w.connect("owner"), w.connect("caller")
	s, err := owner.Register(t.Context(), map[string]string{"protocol": "p"}, func(context.Context, *client.Request) (any, error) { return []int{1, 2}, nil })
	if err != nil {
		t.Fatal(err)
	}
	other, err := owner.Register(t.Context(), map[string]string{"protocol": "q"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	service = s.ID()
	_ = caller.Notify(service, "note", map[string]int{"n": 1})
	_ = caller.Notify(other.ID(), "elsewhere", nil)
	if err := caller.Call(t.Context(), service, "ask", "secret", nil); err != nil {
		t.Fatal(err)
	}
	_ = caller.Notify("nobody", "note", nil)
	if err := caller.Call(t.Context(), "nobody", "ask", nil, nil); err == nil {
		t.Fatal("nobody answered")
	}
	if err := caller.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return service
}

func TestTap(t *testing.T) {
	w := newWorld(t, nil)
	all := w.tapped(nil)
	payloads := w.tapped(url.Values{"payload": {"true"}, "kind": {"request,answer"}})
	asked := w.tapped(url.Values{"method": {"ask"}})
	ofQ := w.tapped(url.Values{"service": {"protocol=q"}})
	none := w.tapped(url.Values{"client": {"somebody"}})
	service := play(t, w)

	expect := func(what string, ch <-chan Envelope, want Envelope) {
		t.Helper()
		var got Envelope
		select {
		case got = <-ch:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: nothing came, want %+v", what, want)
		}
		if time.Since(time.UnixMicro(got.Time)).Abs() > time.Minute || got.Kind == "answer" && got.AgeMicros < 0 || (got.RelayID != 0) != (got.Kind == "request" || got.Kind == "answer") {
			t.Errorf("%s: %+v", what, got)
		}
		got.Time, got.AgeMicros, got.RelayID = 0, 0, 0
		if got.Payload = append([]byte(nil), got.Payload...); len(got.Payload) == 0 {
			got.Payload = nil
		}
		if string(got.Payload) != string(want.Payload) {
			t.Errorf("%s: payload %s, want %s", what, got.Payload, want.Payload)
		}
		got.Payload, want.Payload = nil, nil
		if !alike(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", what, got, want)
		}
	}
	p := Envelope{Sender: "caller", Owner: "owner", Service: service, Protocol: "p"}
	note, ask, answered := p, p, p
	note.Kind, note.Method, note.Bytes = "notification", "note", 7
	ask.Kind, ask.Method, ask.Bytes = "request", "ask", 8
	answered.Kind, answered.Method, answered.Word, answered.Bytes = "answer", "ask", "result", 5
	expect("all", all, note)
	elsewhere := <-all
	if elsewhere.Method != "elsewhere" || elsewhere.Protocol != "q" || elsewhere.Payload != nil {
		t.Errorf("%+v", elsewhere)
	}
	expect("all", all, ask)
	expect("all", all, answered)
	expect("all", all, Envelope{Kind: "dropped", Word: "unknownService", Sender: "caller", Method: "note"})
	expect("all", all, Envelope{Kind: "refused", Sender: "caller", Code: -32008})
	expect("asked", asked, ask)
	expect("asked", asked, answered)
	ask.Payload, answered.Payload = []byte(`"secret"`), []byte(`[1,2]`)
	expect("payloads", payloads, ask)
	expect("payloads", payloads, answered)
	if e := <-ofQ; e.Method != "elsewhere" {
		t.Errorf("%+v", e)
	}
	for what, ch := range map[string]<-chan Envelope{"all": all, "asked": asked, "payloads": payloads, "of q": ofQ, "none": none} {
		if len(ch) != 0 {
			t.Errorf("%s: further %+v", what, <-ch)
		}
	}
}

func alike(a, b Envelope) bool {
	return a.Kind == b.Kind && a.Sender == b.Sender && a.Owner == b.Owner && a.Service == b.Service && a.Protocol == b.Protocol && a.Method == b.Method &&
		a.Word == b.Word && a.Code == b.Code && a.Bytes == b.Bytes && a.Missed == b.Missed
}

// TestTapMisses: a reader that does not read costs the relay a bounded buffer, and learns how much it
// missed.
func TestTapMisses(t *testing.T) {
	tp := &tapper{bytesMax: 1000, methods: map[uint64]string{}, wake: make(chan struct{}, 1)}
	e := &relay.Envelope{Kind: relay.EnvelopeNotification, Sender: "s", Method: []byte(`"m"`), Payload: []byte(strings.Repeat("x", 100))}
	for range 50 {
		tp.add(e, e.Method)
	}
	lines, missed := tp.take(nil)
	if n := strings.Count(string(lines), "\n"); n == 0 || uint64(n)+missed != 50 || len(lines) > 1000 {
		t.Errorf("%d lines of %d bytes, %d missed", n, len(lines), missed)
	}
	if lines, missed = tp.take(lines); len(lines) != 0 || missed != 0 {
		t.Errorf("%q, %d missed", lines, missed)
	}
	tp.mu.Lock()
	tp.add(e, e.Method) // must not wait
	tp.mu.Unlock()
	if _, missed = tp.take(nil); missed != 1 {
		t.Errorf("%d missed while the buffer was being taken", missed)
	}
	for id := range uint64(3 * tapRequestsMax) {
		tp.wants(&relay.Envelope{Kind: relay.EnvelopeRequest, RelayID: id + 1, Method: []byte(`"m"`)})
	}
	if len(tp.methods) != tapRequestsMax {
		t.Errorf("%d methods are kept", len(tp.methods))
	}
}

// TestTapStalls: one that never reads at all, with payloads, while a megabyte after the other goes by.
func TestTapStalls(t *testing.T) {
	w := newWorld(t, nil)
	r, err := http.NewRequest("GET", w.admin.URL()+"api/tap?payload=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", w.bearer()[1])
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	owner, caller := w.connect("owner"), w.connect("caller")
	s, err := owner.Register(t.Context(), map[string]string{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("x", 500_000)
	for range 60 {
		if err := caller.Notify(s.ID(), "m", big); err != nil {
			t.Fatal(err)
		}
		if err := caller.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, tp := range w.admin.taps.active {
		tp.mu.Lock()
		if len(tp.buffer) > tapPayloadMax {
			t.Errorf("%d bytes wait", len(tp.buffer))
		}
		tp.mu.Unlock()
	}
	lines, seen, missed := bufio.NewReaderSize(response.Body, 1<<20), 0, uint64(0)
	for seen+int(missed) < 60 {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if e := decode[Envelope](t, line); e.Kind == "missed" {
			missed += e.Missed
		} else if seen++; len(e.Payload) != len(big)+2 {
			t.Errorf("a payload of %d bytes", len(e.Payload))
		}
	}
	if missed == 0 {
		t.Error("nothing was missed")
	}
}

// TestTapsEnd: the core has a tap only while somebody looks; there are only so many; the server's end
// ends them.
func TestTapsEnd(t *testing.T) {
	w := newWorld(t, nil)
	var bodies []io.Closer
	for range tapsMax {
		r, _ := http.NewRequest("GET", w.admin.URL()+"api/tap", nil)
		r.Header.Set("Authorization", w.bearer()[1])
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, response.Body)
	}
	if status, body, _ := w.get("/api/tap", w.bearer()...); status != 503 || body != `{"error":"8 taps are open, which is as many as may be"}`+"\n" {
		t.Errorf("%d %s", status, body)
	}
	if _, text, _ := w.get("/metrics"); !strings.Contains(text, "\nahprelay_taps 8\n") {
		t.Error("the metrics do not know of them")
	}
	for _, b := range bodies[1:] {
		b.Close()
	}
	until(t, "the others to end", func() bool { return w.admin.taps.count() == 1 && w.tapIsOn() })
	ended := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(bodies[0].(io.Reader))
		ended <- err
	}()
	w.admin.Close()
	<-ended
	until(t, "the last to end", func() bool { return w.admin.taps.count() == 0 && w.tapIsOn() })
}
