package relay

import (
	"slices"
	"testing"
	"time"
)

const (
	pingOnce = `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
	pongOnce = `{"jsonrpc":"2.0","id":1,"result":null}`
)

// take is what the core wants of a transport that holds something, or nothing.
func (w *world) take(e *end, holds bool) (string, Step) {
	take := w.core.Take
	if holds {
		take = w.core.TakeHeld
	}
	out, step := take(e.id)
	w.core.Wrote(w.now, e.id, len(out))
	return string(out), step
}

func (w *world) wants(e *end, holds bool, want Step) {
	w.t.Helper()
	if out, step := w.take(e, holds); out != "" || step != want {
		w.t.Fatalf("the core gives %q and wants %d, not %d", out, step, want)
	}
}

// The sending side is shut down, and the connection closed, only when nothing is held any more.
func TestHeldOutputDelaysTheEnd(t *testing.T) {
	w := newWorld(t, DefaultConfig())
	half, closing := w.hello("half", PeerInfo{}), w.hello("closing", PeerInfo{})
	w.core.Receive(w.now, half.id, []byte(pingOnce))
	if out, _ := w.take(half, false); out != pongOnce+"\n" {
		t.Fatal(out)
	}
	w.core.HalfClosedHeld(w.now, half.id)
	w.wants(half, true, Wait)
	w.core.HalfClosedHeld(w.now, half.id) // once is enough
	w.wants(half, true, Wait)
	w.wants(half, false, Close)

	w.core.Violate(w.now, closing.id, "a binary message")
	if out, _ := w.take(closing, true); out != `{"jsonrpc":"2.0","method":"x-relay/closing","params":{"channel":"ahp-root://","reason":"protocolErrors","message":"a binary message"}}`+"\n" {
		t.Fatal(out)
	}
	w.wants(closing, true, Wait)
	w.wants(closing, false, Shut)
	w.core.HalfClosedHeld(w.now, closing.id)
	w.wants(closing, true, Close)
	w.finish()
}

// What is held does not keep a connection for ever.
func TestHeldOutputIsGivenUp(t *testing.T) {
	w := newWorld(t, DefaultConfig())
	half, closing := w.hello("half", PeerInfo{}), w.hello("closing", PeerInfo{})
	w.core.HalfClosedHeld(w.now, half.id)
	w.core.Violate(w.now, closing.id, "")
	w.take(closing, true)
	w.now += w.core.limits.StallTimeout
	w.core.Tick(w.now)
	w.wants(half, true, Close)
	w.wants(closing, true, Close)
	w.finish()
}

// A transport that does not get rid of what it holds is stalled, though nothing waits in the core.
func TestStuckTransportIsStalled(t *testing.T) {
	w := newWorld(t, DefaultConfig())
	moving, stuck := w.hello("moving", PeerInfo{}), w.hello("stuck", PeerInfo{})
	began := w.now
	w.now += 10 * time.Second
	for _, e := range []*end{moving, stuck} {
		w.core.Stuck(w.now, began, e.id)
	}
	w.now = began + w.core.limits.StallTimeout - time.Second
	w.core.Moving(w.now, moving.id)
	w.pass(time.Second)
	want := []string{`{"jsonrpc":"2.0","method":"x-relay/closing","params":{"channel":"ahp-root://","reason":"slowConsumer","message":"no output was taken for 30s"}}`, "shut"}
	if got := stuck.read(); !slices.Equal(got, want) {
		t.Fatal(got)
	}
	w.pass(time.Hour)
	if got := moving.read(); len(got) != 0 {
		t.Fatal(got)
	}
	w.finish()
}

// The certificate of a connection makes its principal before the first byte, with the quota of that one.
func TestCertify(t *testing.T) {
	config := DefaultConfig()
	config.Principals = []Principal{
		{Name: "anonymous", ClientIDs: []string{"*"}, Connections: 1},
		{Name: "git", ClientCert: "git.example", ClientIDs: []string{"*"}, Connections: 2},
	}
	config.SurplusMax = 3
	w := newWorld(t, config)
	certify := func(name string, names ...string) *end {
		e := w.open(name, PeerInfo{})
		w.core.Certify(w.now, e.id, names)
		w.drain()
		return e
	}
	principal := func(e *end) (string, state) {
		p := w.core.peer(e.id)
		return w.core.policy.principals[p.principal].name, p.state
	}
	check := func(e *end, name string, s state) {
		t.Helper()
		if gotName, got := principal(e); gotName != name || got != s {
			t.Fatalf("%s is %s in state %d", e.name, gotName, got)
		}
		if err := w.core.Check(); err != nil {
			t.Fatal(err)
		}
	}
	check(certify("none"), "anonymous", stateNew)
	check(certify("unknown", "other.example"), "anonymous", stateSurplus)
	first := certify("first", "other.example", "git.example") // was a surplus of the anonymous
	check(first, "git", stateNew)
	check(certify("second", "git.example"), "git", stateNew)
	third := certify("third", "git.example")
	check(third, "git", stateSurplus)
	w.close(first)
	w.core.Certify(w.now, third.id, []string{"git.example"})
	check(third, "git", stateNew)
	w.send(third, []byte(pingOnce))
	if got := w.one(third); got != pongOnce {
		t.Error(got)
	}
	w.core.Certify(w.now, first.id, []string{"git.example"}) // gone
	w.finish()
}

// Whose certificate makes it one too many is closed when no more of them may wait.
func TestCertifySurplus(t *testing.T) {
	config := DefaultConfig()
	config.Principals = []Principal{
		{Name: "anonymous", ClientIDs: []string{"*"}},
		{Name: "git", ClientCert: "git.example", ClientIDs: []string{"*"}, Connections: 1},
	}
	config.SurplusMax = 1
	w := newWorld(t, config)
	var all []*end
	for range 3 {
		e := w.open("git", PeerInfo{})
		w.core.Certify(w.now, e.id, []string{"git.example"})
		w.drain()
		all = append(all, e)
	}
	if got := all[2].read(); len(got) != 1 || got[0] != "eof" {
		t.Errorf("the third gets %q", got)
	}
	if !all[0].open || !all[1].open || w.core.Counters().Refused != 1 {
		t.Errorf("%+v", w.core.Counters())
	}
	w.finish()
}
