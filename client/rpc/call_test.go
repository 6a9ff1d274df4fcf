package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/client/rpc"
	"github.com/ahprelay/ahprelay/client/rpc/relaytest"
	"github.com/ahprelay/ahprelay/codec"
)

// wire collects what a client sends.
type wire struct {
	mu    sync.Mutex
	lines []string
}

func (w *wire) option() client.Option {
	return client.WithTrace(func(dir string, line []byte) {
		if dir == ">" {
			w.mu.Lock()
			w.lines = append(w.lines, string(line))
			w.mu.Unlock()
		}
	})
}

// with returns the lines that contain text.
func (w *wire) with(text string) (found []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range w.lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

func TestOrdinaryCalls(t *testing.T) {
	b := newBench(t, benchOptions{})
	if n, err := b.x.Add(b.ctx, 20, 22); n != 42 || err != nil {
		t.Error(n, err)
	}
	if n, err := b.x.Items(b.ctx, []item{{Name: "a", Next: &item{}}, {}}); n != 2 || err != nil {
		t.Error(n, err)
	}
	if s, err := b.x.Bare("no context"); s != "no context!" || err != nil {
		t.Error(s, err)
	}
	var e *client.Error
	if err := b.x.Fail(b.ctx, "coded"); !errors.As(err, &e) || e.Code != 17 || e.Message != "no luck" || string(e.Data) != `{"tries":3}` {
		t.Error(err)
	}
	if err := b.x.Fail(b.ctx, "plain"); !errors.As(err, &e) || e.Code != client.CodeServiceError || e.Message != "plain" {
		t.Error(err)
	}
	// An object cannot pass an error off as one of the protocol.
	if err := b.x.Fail(b.ctx, "forged"); !errors.Is(err, client.ErrNotFound) || errors.Is(err, rpc.ErrTarget) {
		t.Error(err)
	}
	if err := b.x.Fail(b.ctx, "panic"); !errors.Is(err, client.ErrInternal) {
		t.Error(err)
	}
	if b.conn.SessionID() != "" {
		t.Error("calls without references opened a session")
	}
}

func TestContextIsRemovedAndRebuilt(t *testing.T) {
	var sent wire
	b := newBench(t, benchOptions{userClient: []client.Option{sent.option()}})
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	go func() { done <- b.x.Wait(ctx, "here") }()
	<-b.lab.waits // the method has a context of its own
	cancel()
	if err := <-done; err != context.Canceled {
		t.Error(err)
	}
	if cause := <-b.lab.ended; !errors.Is(cause, client.ErrCancelled) {
		t.Error(cause)
	}
	calls := sent.with(`"method":"wait"`)
	if len(calls) != 1 || !strings.Contains(calls[0], `"params":{"args":["here"]}`) {
		t.Error(calls)
	}
}

func TestOmittedOptionals(t *testing.T) {
	var sent wire
	b := newBench(t, benchOptions{userClient: []client.Option{sent.option()}})
	two := 2
	for _, c := range []struct {
		times *int
		more  []string
		want  string
		args  string
	}{
		{nil, nil, "ab", `["ab"]`},
		{&two, nil, "abab", `["ab",2]`},
		{nil, []string{"c"}, "abc", `["ab",null,"c"]`},
		{&two, []string{"c", "d"}, "ababcd", `["ab",2,"c","d"]`},
	} {
		if got, err := b.x.Join(b.ctx, "ab", c.times, c.more...); got != c.want || err != nil {
			t.Error(got, err)
		}
		calls := sent.with(`"method":"join"`)
		if last := calls[len(calls)-1]; !strings.Contains(last, `"params":{"args":`+c.args+`}`) {
			t.Error(last)
		}
	}
	for args, want := range map[string]string{`["x"]`: `"x"`, `["x",null]`: `"x"`, `["x",3]`: `"xxx"`} {
		if got, err := b.raw(b.user, "join", `{"args":`+args+`}`); got != want || err != nil {
			t.Error(args, got, err)
		}
	}
}

func TestLongestTimeoutWithoutNearerDeadline(t *testing.T) {
	var sent wire
	b := newBench(t, benchOptions{userClient: []client.Option{sent.option()}})
	if _, err := b.x.Bare("x"); err != nil {
		t.Fatal(err)
	}
	timeout := func(method string) (ms int) {
		t.Helper()
		calls := sent.with(`"method":"` + method + `"`)
		_, text, found := strings.Cut(calls[0], `"timeoutMs":`)
		if _, err := fmt.Sscanf(text, "%d}}", &ms); len(calls) != 1 || !found || err != nil {
			t.Error(calls, err)
		}
		return ms
	}
	if ms := timeout("bare"); ms < 599_000 || ms > 600_000 { // what is left of ten minutes
		t.Error(ms)
	}
	if _, err := b.x.Add(b.ctx, 1, 2); err != nil { // b.ctx has a nearer one
		t.Fatal(err)
	}
	if ms := timeout("add"); ms > 20_000 {
		t.Error(ms)
	}
}

func TestDoneContextSendsNothing(t *testing.T) {
	var sent wire
	b := newBench(t, benchOptions{userClient: []client.Option{sent.option()}})
	if err := b.user.Flush(b.ctx); err != nil {
		t.Fatal(err)
	}
	before := len(sent.with(""))
	done, cancel := context.WithCancel(b.ctx)
	cancel()
	if _, err := b.x.Add(done, 1, 2); err != context.Canceled {
		t.Error(err)
	}
	if _, err := b.x.Shelf(done); err != context.Canceled {
		t.Error(err)
	}
	if _, err := b.x.Ticks(done, nil); err != context.Canceled {
		t.Error(err)
	}
	if after := len(sent.with("")); after != before {
		t.Errorf("sent: %q", sent.with("")[before:])
	}
	if b.lab.calls.get() != 0 || b.conn.SessionID() != "" {
		t.Error("something was done")
	}
}

func TestMalformedEnvelopesAndUnknownMembersRejected(t *testing.T) {
	b := newBench(t, benchOptions{})
	if _, err := b.x.Shelf(b.ctx); err != nil { // a session for the protocol's own methods
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, params string
		code           codec.Code
		reason, text   string
	}{
		{"nothing", `{"args":[]}`, codec.CodeMethodNotFound, "member", `Lab has no method "nothing"`},
		{"secret", `{"args":[]}`, codec.CodeMethodNotFound, "member", `Lab has no method "secret"`},
		{"Add", `{"args":[1,2]}`, codec.CodeMethodNotFound, "member", `Lab has no method "Add"`},
		{"release", `{"args":[]}`, codec.CodeMethodNotFound, "member", "no method"},
		{"identity", `{"args":[]}`, codec.CodeMethodNotFound, "member", "no method"},
		{"ticks", `{"args":[]}`, codec.CodeMethodNotFound, "member", "no method"},
		{"room", `{"args":[1,"x"]}`, codec.CodeMethodNotFound, "member", "no method"},
		{"$rpc/else", `{}`, codec.CodeMethodNotFound, "member", "no method"},
		{"add", `null`, codec.CodeInvalidParams, "envelope", "want an object, not null"},
		{"add", `[1,2]`, codec.CodeInvalidParams, "envelope", "want an object, not an array"},
		{"add", `{"args":[1,2],"args":[1,2]}`, codec.CodeInvalidParams, "envelope", `the member "args" is there twice`},
		{"add", `{"args":{"a":1}}`, codec.CodeInvalidParams, "envelope", "args is no array"},
		{"add", `{"target":"root","args":[1,2]}`, codec.CodeInvalidParams, "envelope", "want an object, not a string"},
		{"add", `{"target":{"interface":"Lab"},"args":[1,2]}`, codec.CodeInvalidParams, "envelope", "an id or a selector"},
		{"add", `{"target":{"id":7,"interface":"Lab"},"args":[1,2]}`, codec.CodeInvalidParams, "envelope", "an id or a selector"},
		{"add", `{"target":{"id":"x"},"args":[1,2]}`, codec.CodeInvalidParams, "envelope", "needs an interface"},
		{"add", `{"target":{"id":"x","interface":"Lab","more":1},"args":[1,2]}`, codec.CodeInvalidParams, "envelope", "needs an interface"},
		{"add", `{"target":{"id":"x","interface":"Lab"},"args":[1,2]}`, codec.CodeNotFound, "target", `the session has no Lab "x"`},
		{"name", `{"target":{"selector":{"floor":1},"interface":"Shelf"}}`, codec.CodeNotFound, "target", "no selector of this kind"},
		{"name", `{"target":{"selector":{"floor":1,"name":"a"},"interface":"Lab"}}`, codec.CodeNotFound, "target", "no selector of this kind"},
		{"name", `{"target":{"selector":{"floor":-1,"name":"a"},"interface":"Shelf"}}`, codec.CodeNotFound, "target", "nothing is selected by room"},
		{"name", `{"target":{"selector":{"floor":"a","name":"a"},"interface":"Shelf"}}`, codec.CodeInvalidParams, "value", "target.selector.floor: want int"},
		{"$rpc/open", `{"session":7}`, codec.CodeInvalidParams, "envelope", "session is no string"},
		{"$rpc/release", `{}`, codec.CodeInvalidParams, "envelope", "id is no string"},
		{"$rpc/release", `{"id":"x"}`, codec.CodeNotFound, "target", `no object "x"`},
		{"$rpc/subscribe", `{"window":1}`, codec.CodeInvalidParams, "envelope", "member is no string"},
		{"$rpc/subscribe", `{"member":"ticks"}`, codec.CodeInvalidParams, "envelope", "window"},
		{"$rpc/subscribe", `{"member":"ticks","window":0}`, codec.CodeInvalidParams, "envelope", "window"},
		{"$rpc/subscribe", `{"member":"add","window":1}`, codec.CodeMethodNotFound, "member", `no subscription "add"`},
		{"$rpc/subscribe", `{"member":"ticks","window":1,"filter":{"odd":1}}`, codec.CodeInvalidParams, "value", "filter.odd: want bool"},
		{"$rpc/subscribe", `{"member":"strict","window":1,"filter":{}}`, codec.CodeInvalidParams, "value", "filter: there is none"},
		{"$rpc/start", `{"subscriptionId":"x"}`, codec.CodeNotFound, "target", `no subscription "x"`},
		{"$rpc/unsubscribe", `{"subscriptionId":"x"}`, codec.CodeNotFound, "target", `no subscription "x"`},
	} {
		_, err := b.raw(b.user, c.method, c.params)
		var e *client.Error
		if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(string(e.Data), `"error":"`+c.reason+`"`) || !strings.Contains(e.Message, c.text) {
			t.Errorf("%s %s: %v", c.method, c.params, err)
		}
	}
	if b.lab.calls.get() != 0 {
		t.Error("a method was called")
	}
}

func TestUnknownMembersOfTheEnvelopeAreIgnored(t *testing.T) {
	b := newBench(t, benchOptions{})
	if got, err := b.raw(b.user, "add", `{"args":[1,2],"_meta":{"x":1},"trace":7}`); got != "3" || err != nil {
		t.Error(got, err)
	}
	if got, err := b.raw(b.user, "fail", `{"args":["x"],"target":{"selector":{},"interface":"Lab"}}`); err == nil {
		t.Error(got, "the root has no selector")
	}
}

func TestVoidResults(t *testing.T) {
	host := byHand(t, func(string) (any, error) { return nil, nil })
	lab := host.lab()
	if err := lab.Fail(relaytest.Context(t), "not"); err != nil { // an absent result is accepted as null
		t.Error(err)
	}
	_, err := lab.Add(relaytest.Context(t), 1, 2)
	wantValue(t, err, "result", "want int, not null")
	host = byHand(t, func(string) (any, error) { return 7, nil })
	wantValue(t, host.lab().Fail(relaytest.Context(t), "not"), "result", "want null, not a number")
	_, err = host.lab().Shelf(relaytest.Context(t))
	wantValue(t, err, "result", "want an object, not a number")
}
