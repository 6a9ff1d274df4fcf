package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/url"
	"testing"

	"github.com/ahprelay/ahprelay/codec"
)

// scripted is a transport whose other side has said everything already.
type scripted struct {
	rest   []byte
	framer codec.Framer
	sent   bytes.Buffer // of the writer; read after the link has ended
}

func (s *scripted) Read(limit int) ([]byte, error) {
	line, rest, status := s.framer.Next(s.rest, limit)
	s.rest = rest
	switch status {
	case codec.FrameLine:
		return line, nil
	case codec.FrameTooLong:
		return nil, protocolError("a frame of more than %d bytes", limit)
	}
	return nil, io.EOF
}

func (s *scripted) Write(batch []byte) error {
	s.sent.Write(batch)
	return nil
}

func (s *scripted) Close() error { return nil }

// FuzzReceive lets a hostile relay say anything: it may lose the connection and nothing else, and every
// line that it is answered with is one JSON-RPC message.
func FuzzReceive(f *testing.F) {
	for _, seed := range []string{
		initialized,
		handle(1, `"method":"m","params":[1],"timeoutMs":5`) + "\n" + `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`,
		note("a", `"senderPrincipal":"p","method":"m","params":{}`),
		set(8, entry("a", "1")) + "\n" + removed(9, "a"),
		`{"jsonrpc":"2.0","method":"x-relay/closing","params":{"reason":"shutdown","message":"","graceMs":1,"reconnectAfterMs":1e300}}`,
		`{"jsonrpc":"2.0","method":"x-relay/dropped","params":{"serviceId":"s1","count":2}}`,
		`{"jsonrpc":"2.0","method":"auth/required","params":{"resource":"r","reason":"expired"}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"m","data":{"delivered":"never"}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"type":"replay","actions":[{"channel":"ahp-client-services://","action":{"type":"clientService/removed","serviceId":"s"},"serverSeq":8}],"missing":[],"clientServices":{"limits":{}}}}`,
	} {
		f.Add([]byte(seed + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &Client{url: &url.URL{Scheme: "tcp"}, opt: defaults(), changed: make(chan struct{})}
		c.stop, c.cancel = context.WithCancelCause(context.Background())
		c.pool.init(4, &c.wg)
		c.cat.init(c)
		c.ev.init(c)
		w := &Catalog{m: &c.cat, ctx: c.stop, wake: make(chan struct{}, 1), whole: true}
		c.cat.watchers[w] = struct{}{}
		tr := &scripted{rest: data}
		start := make(chan struct{})
		l := newLink(c, gate{tr, start}, 1<<16)
		s := &Service{
			c: c, change: make(chan struct{}, 1), lanes: map[string]*lane{}, id: "s1",
			handler:  func(_ context.Context, r *Request) (any, error) { return r.Params, nil },
			onNotify: func(context.Context, *Notification) {},
		}
		l.services["s1"] = s
		c.cat.l = l
		c.link.Store(l)
		p := &pendingCall{sink: func(raw []byte) error {
			r, err := l.accept(raw)
			if err != nil {
				return err
			}
			return c.cat.resumed(l, r)
		}, done: make(chan struct{})}
		if _, err := l.enter(p); err != nil {
			t.Fatal(err)
		}
		close(start)
		<-l.done
		c.wg.Wait()
		if err := l.cause(); err == nil {
			t.Fatal("the link has not ended")
		}
		var e *Error
		if <-p.done; p.err != nil && errors.As(p.err, &e) {
			_ = e.Delivered()
			_ = e.Error()
		}
		_ = w.State()
		for line := range bytes.Lines(tr.sent.Bytes()) {
			var m codec.Message
			if !codec.Parse(bytes.TrimSuffix(line, []byte("\n")), depthMax, &m) || m.Kind != codec.KindAnswer || !m.Version {
				t.Fatalf("sent %q", line)
			}
		}
	})
}

// gate is a transport that is not read before start.
type gate struct {
	transport
	start chan struct{}
}

func (g gate) Read(limit int) ([]byte, error) {
	<-g.start
	return g.transport.Read(limit)
}

// FuzzOutgoing: whatever the application hands over leaves as exactly one frame.
func FuzzOutgoing(f *testing.F) {
	f.Add("s1", "m", []byte(`{"a": 1}`))
	f.Add("\"\n", "\xff\x00", []byte("[\n1\r\n]"))
	f.Fuzz(func(t *testing.T, id, method string, params []byte) {
		raw, err := rawJSON(params)
		if err != nil {
			return
		}
		for _, line := range [][]byte{appendNotify(nil, id, method, raw), appendCall(nil, 7, id, method, raw, 9)} {
			var m codec.Message
			body, end := line[:len(line)-1], line[len(line)-1]
			if end != '\n' || bytes.IndexByte(body, '\n') >= 0 || !codec.Parse(body, depthMax+2, &m) || m.Duplicates != 0 {
				t.Fatalf("%q", line)
			}
			if len(line) > len(id)*6+len(method)*6+len(raw)+envelopeSlop {
				t.Fatalf("%d bytes around %q %q %q", len(line), id, method, raw)
			}
		}
	})
}
