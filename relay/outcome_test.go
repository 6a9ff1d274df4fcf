package relay

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Every way in which a request can end is counted once, under its own word, with its duration.
func TestOutcomesAreCounted(t *testing.T) {
	config := testConfig()
	uid, other := 1, 2
	all := []string{"*"}
	config.Principals = []Principal{
		{Name: "owner", UID: &uid, ClientIDs: all, Register: all},
		{Name: "caller", UID: &other, ClientIDs: all, Discover: all, Request: []string{"p"}},
	}
	w := newWorld(t, config)
	owner := w.hello("owner", PeerInfo{UID: uid})
	want := Counters{}
	try := func(o Outcome, after time.Duration, end func(e *end, id, relayID string)) {
		t.Helper()
		e := w.hello("caller", PeerInfo{UID: other})
		id := w.register(owner, `{"protocol":"p"}`)
		w.send(e, []byte(`{"jsonrpc":"2.0","id":5,"method":"clientService/request","params":{"serviceId":"`+id+`","method":"m"}}`+"\n"))
		relayID, _, _ := strings.Cut(strings.TrimPrefix(w.one(owner), `{"jsonrpc":"2.0","id":`), ",")
		w.pass(after)
		end(e, id, relayID)
		want.Requests[o]++
		want.observe(after)
		if got := w.core.Counters(); got.Requests != want.Requests || got.DurationBuckets != want.DurationBuckets || got.DurationSum != want.DurationSum {
			t.Errorf("%s after %v: %v %v, want %v %v", o, after, got.Requests, got.DurationBuckets, want.Requests, want.DurationBuckets)
		}
		w.close(e)
		w.send(owner, []byte(`{"jsonrpc":"2.0","id":6,"method":"client/unregisterService","params":{"serviceId":"`+id+`"}}`+"\n"))
		owner.read()
	}
	answer := func(text string) func(*end, string, string) {
		return func(_ *end, _, relayID string) {
			w.send(owner, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", relayID, text))
		}
	}
	try(OutcomeResult, 0, answer(`"result":1`))
	try(OutcomeResult, time.Millisecond, answer(`"x":1`))
	try(OutcomeError, 2*time.Millisecond, answer(`"error":{"code":1,"message":"m"}`))
	try(OutcomeMalformed, 3*time.Millisecond, answer(`"error":5`))
	try(OutcomeMalformed, 40*time.Millisecond, answer(`"error":{"code":-32051,"message":"m"}`))
	try(OutcomeCancelled, time.Second, func(e *end, _, _ string) {
		w.send(e, []byte(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":5}}`+"\n"))
	})
	try(OutcomeUnavailable, 5*time.Second, func(_ *end, id, _ string) {
		w.send(owner, []byte(`{"jsonrpc":"2.0","id":6,"method":"client/unregisterService","params":{"serviceId":"`+id+`"}}`+"\n"))
	})
	try(OutcomeNotAllowed, 11*time.Second, func(_ *end, id, _ string) {
		w.send(owner, []byte(`{"jsonrpc":"2.0","id":6,"method":"client/updateService","params":{"serviceId":"`+id+`","metadata":{}}}`+"\n"))
	})
	try(OutcomeCallerGone, 29*time.Second, func(e *end, _, _ string) { w.close(e) })
	try(OutcomeTimeout, 30*time.Second, func(*end, string, string) {})
	w.finish()
}

// Every word of a counter is its own.
func TestWords(t *testing.T) {
	seen := map[string]bool{}
	for _, word := range []fmt.Stringer{OutcomeResult, OutcomeError, OutcomeMalformed, OutcomeTimeout, OutcomeCancelled, OutcomeUnavailable, OutcomeNotAllowed, OutcomeCallerGone,
		DropMalformed, DropUnauthenticated, DropUnknownService, DropNotAllowed, DropOverload,
		ReasonFrameTooLarge, ReasonProtocolErrors, ReasonHandshakeTimeout, ReasonUnsupportedVersion, ReasonSlowConsumer, ReasonSuperseded, ReasonAuthentication, ReasonConnectionLimit, ReasonIdle, ReasonShutdown} {
		s := fmt.Sprintf("%T %s", word, word)
		if seen[s] || word.String() == "" {
			t.Errorf("%s twice", s)
		}
		seen[s] = true
	}
	if len(seen) != int(outcomes)+int(drops)+int(reasons) {
		t.Errorf("%d words", len(seen))
	}
}

// A closing is counted under the word that the peer is told.
func TestClosingsAreCounted(t *testing.T) {
	w := newWorld(t, testConfig())
	for reason, lines := range map[Reason]string{
		ReasonProtocolErrors:     "x\n",
		ReasonFrameTooLarge:      strings.Repeat("x", 1<<17),
		ReasonUnsupportedVersion: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersions":["2.0.0"],"clientId":"a"}}` + "\n",
	} {
		e := w.open("a", PeerInfo{UID: -1})
		w.send(e, []byte(lines))
		seen := e.read()
		if !strings.Contains(strings.Join(seen, ""), `"reason":"`+reason.String()+`"`) || w.core.Counters().Closed[reason] != 1 {
			t.Errorf("%s: %q, counted %v", reason, seen, w.core.Counters().Closed)
		}
	}
	w.finish()
}
