package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	handleHead = `{"jsonrpc":"2.0","id":%d,"method":"clientService/handleRequest","params":{"channel":"ahp-client-services://","serviceId":"s1","senderClientId":"you",`
	noteHead   = `{"jsonrpc":"2.0","method":"clientService/notification","params":{"channel":"ahp-client-services://","serviceId":"s1","senderClientId":"%s",`
)

// handle is the line of an incoming request.
func handle(id int, rest string) string { return fmt.Sprintf(handleHead, id) + rest + "}}" }

// note is the line of an incoming notification.
func note(sender, rest string) string { return fmt.Sprintf(noteHead, sender) + rest + "}}" }

func TestHandlerAnswers(t *testing.T) {
	for _, tt := range []struct {
		name string
		h    Handler
		want string
	}{
		{"value", func(context.Context, *Request) (any, error) { return map[string]int{"a": 1}, nil }, `"result":{"a":1}`},
		{"nil", func(context.Context, *Request) (any, error) { return nil, nil }, `"result":null`},
		{"raw", func(_ context.Context, r *Request) (any, error) { return r.Params, nil }, `"result":{ "k":1e2 }`},
		{"raw lines", func(context.Context, *Request) (any, error) { return json.RawMessage("[\n]"), nil }, `"result":[ ]`},
		{"error", func(context.Context, *Request) (any, error) { return nil, errors.New("bad \"luck\"") }, `"error":{"code":-32000,"message":"bad \"luck\""}`},
		{"own error", func(context.Context, *Request) (any, error) {
			return nil, fmt.Errorf("wrapped: %w", &Error{Code: 42, Message: "m", Data: json.RawMessage(`{"d": 1}`)})
		}, `"error":{"code":42,"message":"m","data":{"d": 1}}`},
		{"the relay's code", func(context.Context, *Request) (any, error) { return nil, ErrUnavailable }, `"error":{"code":-32000,"message":"service unavailable"}`},
		{"invalid data", func(context.Context, *Request) (any, error) { return nil, &Error{Code: 1, Data: json.RawMessage(`{`)} }, `"error":{"code":1,"message":"error"}`},
		{"panic", func(context.Context, *Request) (any, error) { panic("secret") }, `"error":{"code":-32603,"message":"the service's handler panicked"}`},
		{"panic in the error", func(context.Context, *Request) (any, error) { return nil, (*Error)(nil) }, `"error":{"code":-32603,"message":"the service's handler panicked"}`},
		{"no JSON", func(context.Context, *Request) (any, error) { return make(chan int), nil }, `"error":{"code":-32603,"message":"the service's result is no JSON value"}`},
		{"too long", func(context.Context, *Request) (any, error) { return strings.Repeat("x", 4096), nil }, `"error":{"code":-32603,"message":"the service's result of 4098 bytes exceeds the relay's frameBytes"}`},
		{"long error", func(context.Context, *Request) (any, error) { return nil, errors.New(strings.Repeat("x", 5000)) }, `"error":{"code":-32000,"message":"` + strings.Repeat("x", 320) + `"}`},
		{"invalid params", func(_ context.Context, r *Request) (any, error) {
			var n int
			return nil, r.Decode(&n)
		}, `"error":{"code":-32602,`},
		{"no handler", nil, `"error":{"code":-32601,"message":"method not found","data":{"delivered":"never"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, p, _ := dialed(t)
			s := registered(t, c, p, 2, tt.h)
			if s.ID() != "s1" {
				t.Fatal(s.ID())
			}
			p.send(handle(9007199254740991, `"method":"m","params":{ "k":1e2 },"timeoutMs":1000`))
			got, want := p.read(), `{"jsonrpc":"2.0","id":9007199254740991,`+tt.want
			if !strings.HasSuffix(want, ",") {
				want += "}"
			}
			if !strings.HasPrefix(got, want) || !strings.HasSuffix(want, ",") && got != want {
				t.Fatalf("answered %s\nwant     %s", got, want)
			}
		})
	}
}

func TestRequestFields(t *testing.T) {
	c, p, _ := dialed(t)
	got := make(chan Request, 1)
	s := registered(t, c, p, 2, func(ctx context.Context, r *Request) (any, error) {
		if d, ok := ctx.Deadline(); !ok || time.Until(d) > time.Hour || time.Until(d) < 59*time.Minute {
			t.Errorf("deadline %v %v", d, ok)
		}
		got <- *r
		return nil, nil
	})
	p.send(handle(5, `"senderPrincipal":"P","method":"a\u0062","timeoutMs":3600000`))
	r := <-got
	if r.Service != s || r.Method != "ab" || string(r.Params) != "null" || r.Sender != "you" || r.SenderPrincipal != "P" {
		t.Fatalf("%+v", r)
	}
	p.want(`{"jsonrpc":"2.0","id":5,"result":null}`)
	p.send(`{"jsonrpc":"2.0","id":6,"method":"clientService/handleRequest","params":{"serviceId":"other","method":"m"}}`)
	p.want(`{"jsonrpc":"2.0","id":6,"error":{"code":-32008,"message":"not found","data":{"delivered":"never"}}}`)
	p.send(`{"jsonrpc":"2.0","id":7,"method":"workspace/ask","params":{}}`)
	p.want(`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"method not found","data":{"delivered":"never"}}}`)
}

func TestHandlerCancelled(t *testing.T) {
	c, p, _ := dialed(t, WithConcurrency(1))
	started := make(chan struct{}, 3)
	registered(t, c, p, 2, func(ctx context.Context, r *Request) (any, error) {
		started <- struct{}{}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	// The second waits for the only handler; it is cancelled before it was started.
	p.send(handle(5, `"method":"m"`), handle(6, `"method":"m"`))
	<-started
	p.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"channel":"ahp-client-services://","id":6}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"channel":"ahp-client-services://","id":99}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"channel":"ahp-client-services://","id":5}}`)
	p.want(`{"jsonrpc":"2.0","id":5,"error":{"code":-32800,"message":"request cancelled"}}`)
	p.want(`{"jsonrpc":"2.0","id":6,"error":{"code":-32800,"message":"request cancelled"}}`)
	p.send(handle(7, `"method":"m","timeoutMs":1`))
	p.want(`{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"context deadline exceeded"}}`)
	if len(started) != 1 {
		t.Fatal("a cancelled request was handled")
	}
}

func TestHandlerDisconnected(t *testing.T) {
	c, p, _ := dialed(t, WithoutReconnect())
	started, cause := make(chan struct{}), make(chan error)
	registered(t, c, p, 2, func(ctx context.Context, r *Request) (any, error) {
		close(started)
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return nil, nil
	})
	p.send(handle(5, `"method":"m"`))
	<-started
	p.conn.Close()
	if err := <-cause; !errors.Is(err, ErrDisconnected) {
		t.Fatal(err)
	}
	<-c.Closed()
}

func TestConcurrencyBound(t *testing.T) {
	c, p, _ := dialed(t, WithConcurrency(2))
	started, release := make(chan string), make(chan struct{})
	registered(t, c, p, 2, func(ctx context.Context, r *Request) (any, error) {
		started <- r.Method
		<-release
		return r.Method, nil
	})
	lines := make([]string, 0, waitingMax+3)
	for i := range cap(lines) {
		lines = append(lines, handle(i+1, `"method":"m"`))
	}
	p.send(lines...)
	<-started
	<-started
	// Two run and waitingMax wait: the last one is refused.
	p.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32000,"message":"the service's client is too busy, or closing","data":{"delivered":"never"}}}`, waitingMax+3))
	select {
	case <-started:
		t.Fatal("three handlers at once")
	default:
	}
	go func() {
		for range waitingMax {
			<-started
		}
	}()
	close(release)
	for range waitingMax + 2 {
		p.read()
	}
}

func TestNotifications(t *testing.T) {
	c, p, _ := dialed(t)
	got := make(chan string, 10)
	registered(t, c, p, 2, nil,
		OnNotify(func(ctx context.Context, n *Notification) {
			got <- fmt.Sprintf("%s %s %s %s", n.Method, n.Params, n.Sender, n.SenderPrincipal)
			if n.Method == "panic" {
				panic("contained")
			}
		}),
		OnDropped(func(n uint64) { got <- fmt.Sprint("dropped ", n) }))
	p.send(
		note("a", `"method":"one","params":{ "x": 1.0 }`),
		note("b", `"senderPrincipal":"B","method":"panic"`),
		`{"jsonrpc":"2.0","method":"x-relay/dropped","params":{"channel":"ahp-client-services://","serviceId":"s1","count":3}}`,
		note("a", `"method":"two","params":null`),
		`{"jsonrpc":"2.0","method":"clientService/notification","params":{"serviceId":"other","method":"m"}}`,
		`{"jsonrpc":"2.0","method":"x-relay/later","params":{}}`,
		`{"jsonrpc":"2.0","method":"clientService/notification","params":{"params":{"senderClientId":"no"},"method":"odd","senderPrincipal":"B","serviceId":"s1","senderClientId":"o\u0064d"}}`,
		`{"jsonrpc":"2.0","method":"clientService/notification","params":{"serviceId":"s1","senderClientId":"\"q\"","senderPrincipal":"\\","method":"odd"}}`,
		note("a", `"method":"three","params":[]`),
	)
	for _, want := range []string{`one { "x": 1.0 } a `, `panic null b B`, `dropped 3`, `two null a `, `odd {"senderClientId":"no"} odd B`, `odd null "q" \`, `three [] a `} {
		if s := <-got; s != want {
			t.Fatalf("got %q, want %q", s, want)
		}
	}
}

// A handler that is too slow loses notifications, learns how many, and holds up nothing else.
func TestNotificationsDropped(t *testing.T) {
	c, p, _ := dialed(t)
	release, got := make(chan struct{}), make(chan string, notesMax+10)
	first := make(chan struct{}, 1)
	registered(t, c, p, 2, func(context.Context, *Request) (any, error) { return nil, nil },
		OnNotify(func(ctx context.Context, n *Notification) {
			select {
			case first <- struct{}{}:
			default:
			}
			<-release
			got <- n.Method
		}),
		OnDropped(func(n uint64) { got <- fmt.Sprint("dropped ", n) }))
	p.send(note("a", `"method":"m"`))
	<-first
	var lines []string
	for range notesMax + 5 {
		lines = append(lines, note("a", `"method":"m"`))
	}
	p.send(lines...)
	p.send(handle(1, `"method":"m"`))
	p.want(`{"jsonrpc":"2.0","id":1,"result":null}`)
	close(release)
	for range notesMax + 1 {
		if s := <-got; s != "m" {
			t.Fatal(s)
		}
	}
	if s := <-got; s != "dropped 5" {
		t.Fatal(s)
	}
}

func TestOrdered(t *testing.T) {
	c, p, _ := dialed(t)
	var order = map[string]string{}
	release := make(chan struct{})
	done := make(chan struct{})
	registered(t, c, p, 2, func(ctx context.Context, r *Request) (any, error) {
		if r.Sender == "you" && r.Method == "1" {
			<-release // everything else of this sender waits, other senders do not
		}
		order[r.Sender] += r.Method
		return nil, nil
	}, Ordered(), OnNotify(func(ctx context.Context, n *Notification) {
		if n.Sender == "b" {
			close(release)
			return
		}
		order[n.Sender] += n.Method
		if n.Method == "4" {
			close(done)
		}
	}))
	p.send(handle(1, `"method":"1"`), note("you", `"method":"2"`), handle(2, `"method":"3"`), note("you", `"method":"4"`), note("b", `"method":"go"`))
	<-done
	if order["you"] != "1234" {
		t.Fatal(order)
	}
	p.want(`{"jsonrpc":"2.0","id":1,"result":null}`)
	p.want(`{"jsonrpc":"2.0","id":2,"result":null}`)
}

func TestUpdateAndUnregister(t *testing.T) {
	c, p, _ := dialed(t)
	s := registered(t, c, p, 2, nil)
	wait := async(t, func() error { return s.Update(context.Background(), json.RawMessage(`{"v": 2}`)) })
	p.want(`{"jsonrpc":"2.0","id":3,"method":"client/updateService","params":{"channel":"ahp-client-services://","serviceId":"s1","metadata":{"v": 2}}}`)
	p.send(`{"jsonrpc":"2.0","id":3,"result":{}}`)
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	wait = async(t, func() error { return s.Update(context.Background(), 5) })
	p.read()
	p.send(`{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"metadata"}}`)
	if err := wait(); !errors.Is(err, ErrInvalidParams) {
		t.Fatal(err)
	}
	wait = async(t, func() error { return s.Unregister(context.Background()) })
	p.want(`{"jsonrpc":"2.0","id":5,"method":"client/unregisterService","params":{"channel":"ahp-client-services://","serviceId":"s1"}}`)
	p.send(`{"jsonrpc":"2.0","id":5,"result":{}}`)
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if err := s.Unregister(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(context.Background(), nil); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	p.send(handle(9, `"method":"m"`))
	p.want(`{"jsonrpc":"2.0","id":9,"error":{"code":-32008,"message":"not found","data":{"delivered":"never"}}}`)
}

func TestRegisterRefused(t *testing.T) {
	c, p, _ := dialed(t)
	wait := async(t, func() error {
		_, err := c.Register(context.Background(), nil, nil)
		return err
	})
	p.want(`{"jsonrpc":"2.0","id":2,"method":"client/registerService","params":{"channel":"ahp-client-services://","metadata":{}}}`)
	p.send(`{"jsonrpc":"2.0","id":2,"error":{"code":-32009,"message":"no"}}`)
	if err := wait(); !errors.Is(err, ErrPermissionDenied) {
		t.Fatal(err)
	}
	if n := len(c.registered()); n != 0 {
		t.Fatal(n)
	}
}

// A registration that succeeds after its caller gave up is undone.
func TestRegisterGivenUp(t *testing.T) {
	c, p, _ := dialed(t)
	ctx, cancel := context.WithCancel(context.Background())
	wait := async(t, func() error {
		_, err := c.Register(ctx, nil, nil)
		return err
	})
	p.read()
	cancel()
	if err := wait(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	p.send(`{"jsonrpc":"2.0","id":2,"result":{"serviceId":"s1"}}`)
	p.want(`{"jsonrpc":"2.0","id":3,"method":"client/unregisterService","params":{"channel":"ahp-client-services://","serviceId":"s1"}}`)
	p.send(`{"jsonrpc":"2.0","id":3,"result":{}}`)
	if n := len(c.registered()); n != 0 {
		t.Fatal(n)
	}
	flush(t, c, p, 4)
}

// Close finishes what runs before it takes the services away.
func TestCloseGraceful(t *testing.T) {
	c, p, _ := dialed(t)
	started, release := make(chan struct{}), make(chan struct{})
	registered(t, c, p, 2, func(context.Context, *Request) (any, error) {
		close(started)
		<-release
		return "done", nil
	})
	p.send(handle(5, `"method":"m"`))
	<-started
	wait := async(t, func() error { return c.Close(deadline(t)) })
	for !c.isClosing() || !c.pool.isClosed() {
		time.Sleep(time.Millisecond)
	}
	p.send(handle(6, `"method":"m"`))
	p.want(`{"jsonrpc":"2.0","id":6,"error":{"code":-32000,"message":"the service's client is too busy, or closing","data":{"delivered":"never"}}}`)
	again := async(t, func() error { return c.Close(deadline(t)) }) // waits for the first, does not cut it short
	close(release)
	p.want(`{"jsonrpc":"2.0","id":5,"result":"done"}`)
	p.want(`{"jsonrpc":"2.0","id":3,"method":"client/unregisterService","params":{"channel":"ahp-client-services://","serviceId":"s1"}}`)
	p.send(`{"jsonrpc":"2.0","id":3,"result":{}}`)
	p.want(`{"jsonrpc":"2.0","id":4,"method":"ping","params":{"channel":"ahp-root://"}}`)
	p.send(`{"jsonrpc":"2.0","id":4,"result":null}`)
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if err := again(); err != nil {
		t.Fatal(err)
	}
	if err := c.Err(); err != ErrClosed {
		t.Fatal(err)
	}
	if err := c.Call(context.Background(), "s", "m", nil, nil); err != ErrClosed {
		t.Fatal(err)
	}
	if err := c.Notify("s", "m", nil); err != ErrClosed {
		t.Fatal(err)
	}
	if _, err := c.Register(context.Background(), nil, nil); err != ErrClosed {
		t.Fatal(err)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestCloseCutShort(t *testing.T) {
	c, p, _ := dialed(t)
	started, cause := make(chan struct{}), make(chan error, 1)
	registered(t, c, p, 2, func(ctx context.Context, r *Request) (any, error) {
		close(started)
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return nil, nil
	})
	p.send(handle(5, `"method":"m"`))
	<-started
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := c.Close(ctx); err != context.DeadlineExceeded {
		t.Fatal(err)
	}
	if err := <-cause; !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

func (p *pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}
