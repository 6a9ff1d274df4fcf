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
	wantReconnect = `{"jsonrpc":"2.0","id":1,"method":"reconnect","params":{"channel":"ahp-root://","clientId":"me","lastSeenServerSeq":%d,"subscriptions":[%s],"_meta":{"ahprelay.resumeToken":"%s"}}}`
	helloTail     = `"clientServices":{"channel":"ahp-client-services://","limits":{"frameBytes":4096}},"_meta":{"ahprelay.resumeToken":"second"}}}`
	catalogName   = `"ahp-client-services://"`
)

// recorder collects events.
type recorder chan Event

func (r recorder) option() Option { return WithOnEvent(func(e Event) { r <- e }) }

func (r recorder) next(t *testing.T) Event {
	t.Helper()
	select {
	case e := <-r:
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("no event")
		return nil
	}
}

func TestReconnect(t *testing.T) {
	events := make(recorder, 10)
	c, p, f := dialed(t, events.option())
	s := registered(t, c, p, 2, func(context.Context, *Request) (any, error) { return 1, nil })
	wait := async(t, func() error { return c.Call(context.Background(), "s9", "m", nil, nil) })
	p.read()
	p.conn.Close()
	if err := wait(); !errors.Is(err, ErrDisconnected) || Delivered(err) != "maybe" {
		t.Fatal(err)
	}
	if e, ok := events.next(t).(Disconnected); !ok || !e.Reconnecting || e.Err == nil {
		t.Fatal(e)
	}
	p = f.accept()
	p.want(fmt.Sprintf(wantReconnect, 100, "", "secret"))
	p.send(`{"jsonrpc":"2.0","id":1,"result":{"type":"replay","actions":[],"missing":[],"protocolVersion":"1.0.0",` + helloTail)
	p.want(`{"jsonrpc":"2.0","id":2,"method":"client/registerService","params":{"channel":"ahp-client-services://","metadata":{"protocol":"x"}}}`)
	// A request for the new id is right behind the answer.
	p.send(`{"jsonrpc":"2.0","id":2,"result":{"serviceId":"s2"}}`,
		strings.ReplaceAll(handle(1, `"method":"m"`), `"s1"`, `"s2"`))
	p.want(`{"jsonrpc":"2.0","id":1,"result":1}`)
	if e, ok := events.next(t).(Reconnected); !ok || len(e.Services) != 1 || e.Services["s1"] != "s2" || len(e.Failed) != 0 {
		t.Fatal(e)
	}
	if s.ID() != "s2" || c.ServerInfo().Name != "fake" || c.ServerInfo().ProtocolVersion != "1.0.0" {
		t.Fatal(s.ID(), c.ServerInfo())
	}
	// Again, with the new token; this time the relay does not want the service back.
	p.conn.Close()
	events.next(t)
	p = f.accept()
	p.want(fmt.Sprintf(wantReconnect, 100, "", "second"))
	p.send(`{"jsonrpc":"2.0","id":1,"result":{"type":"snapshot","snapshots":[],` + helloTail)
	p.read()
	p.send(`{"jsonrpc":"2.0","id":2,"error":{"code":-32009,"message":"no"}}`)
	if e, ok := events.next(t).(Reconnected); !ok || len(e.Services) != 0 || !errors.Is(e.Failed["s2"], ErrPermissionDenied) {
		t.Fatal(e)
	}
	if err := s.Update(context.Background(), nil); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
}

func TestReconnectCatalog(t *testing.T) {
	c, p, f := dialed(t)
	w := watched(t, c, p, 2, 107, entry("a", "1"))
	readEvents(t, w, 1)
	p.send(set(110, entry("b", "1")))
	readEvents(t, w, 1)
	p.conn.Close()
	p = f.accept()
	p.want(fmt.Sprintf(wantReconnect, 110, catalogName, "secret"))
	// The replay comes as envelopes; what follows on the wire continues it.
	p.send(`{"jsonrpc":"2.0","id":1,"result":{"type":"replay","actions":[`+params(set(112, entry("c", "1")))+`,`+params(removed(113, "a"))+`],"missing":[],`+helloTail,
		set(120, entry("d", "1")))
	if s := strings.Join(readEvents(t, w, 3), " "); s != `+c{"protocol":"1"}@112 -a@113 +d{"protocol":"1"}@120` {
		t.Fatal(s)
	}
	p.conn.Close()
	p = f.accept()
	p.want(fmt.Sprintf(wantReconnect, 120, catalogName, "second"))
	p.send(`{"jsonrpc":"2.0","id":1,"result":{"type":"snapshot","snapshots":[{"resource":"ahp-client-services://","state":{"services":[`+entry("x", "1")+`]},"fromSeq":5000}],`+helloTail,
		removed(5001, "x"))
	if s := strings.Join(readEvents(t, w, 1), " "); s != "S[x]@5000" && s != "S[]@5001" {
		t.Fatal(s)
	}
	// Refused: the relay does not reconnect; a fresh handshake subscribes too.
	p.conn.Close()
	p = f.accept()
	p.read()
	p.send(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found"}}`)
	p.want(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":"me","clientInfo":{"name":"test","version":"7"},"initialSubscriptions":["ahp-client-services://"]}}`)
	p.send(`{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"1.0.0","serverSeq":9000,"snapshots":[{"resource":"ahp-client-services://","state":{"services":[]},"fromSeq":9000}],` + helloTail)
	for ev := range w.Events() {
		if brief(ev) == "S[]@9000" {
			break
		}
	}
}

// params returns the params of a notification.
func params(line string) string {
	_, rest, _ := strings.Cut(line, `"params":`)
	return rest[:len(rest)-1]
}

// Find goes on over a lost connection.
func TestReconnectFind(t *testing.T) {
	c, p, f := dialed(t)
	var got ServiceInfo
	wait := async(t, func() (err error) {
		got, err = c.Find(context.Background(), "protocol=y")
		return err
	})
	p.read()
	p.conn.Close() // before the snapshot: nothing to resume
	p = f.accept()
	p.want(fmt.Sprintf(wantReconnect, 100, "", "secret"))
	p.send(`{"jsonrpc":"2.0","id":1,"result":{"type":"replay","actions":[],"missing":[],` + helloTail)
	p.want(fmt.Sprintf(wantSubscribe, 2))
	p.send(snapshot(2, 7, entry("b", "y")))
	if err := wait(); err != nil || got.ID != "b" {
		t.Fatal(got, err)
	}
}

func TestClosingAnnounced(t *testing.T) {
	events := make(recorder, 10)
	c, p, f := dialed(t, events.option())
	p.send(`{"jsonrpc":"2.0","method":"x-relay/closing","params":{"channel":"ahp-root://","reason":"shutdown","message":"bye","graceMs":10,"reconnectAfterMs":30}}`)
	p.conn.Close()
	want := Closing{Reason: "shutdown", Message: "bye", Grace: 10 * time.Millisecond, ReconnectAfter: 30 * time.Millisecond}
	if e := events.next(t); e != want {
		t.Fatal(e)
	}
	e := events.next(t).(Disconnected)
	var closing *ClosingError
	if !errors.As(e.Err, &closing) || closing.Reason != "shutdown" || closing.Error() != "closed by the relay (shutdown): bye" {
		t.Fatal(e.Err)
	}
	from := time.Now()
	p = f.accept()
	if time.Since(from) < 15*time.Millisecond {
		t.Error("came back before reconnectAfterMs")
	}
	// Superseded by another connection: coming back would start a fight.
	p.read()
	p.send(`{"jsonrpc":"2.0","id":1,"result":{"type":"snapshot","snapshots":[],`+helloTail,
		`{"jsonrpc":"2.0","method":"x-relay/closing","params":{"channel":"ahp-root://","reason":"superseded","message":"m"}}`)
	p.conn.Close()
	<-c.Closed()
	if !errors.As(c.Err(), &closing) || closing.Reason != "superseded" || !errors.Is(c.Err(), ErrDisconnected) {
		t.Fatal(c.Err())
	}
}

func TestReconnectGivesUp(t *testing.T) {
	events := make(recorder, 10)
	c, p, f := dialed(t, events.option(), WithReconnect(ReconnectPolicy{Min: 1, Max: 1, Attempts: 2}))
	f.ln.Close()
	p.conn.Close()
	<-c.Closed()
	if e := events.next(t).(Disconnected); !e.Reconnecting {
		t.Fatal(e)
	}
	if e := events.next(t).(Disconnected); e.Reconnecting {
		t.Fatal(e)
	}
	if err := c.Notify("s", "m", nil); !errors.Is(err, ErrDisconnected) {
		t.Fatal(err)
	}
	if _, err := c.Find(context.Background(), "a=b"); !errors.Is(err, ErrDisconnected) {
		t.Fatal(err)
	}
}

func TestEvents(t *testing.T) {
	events := make(recorder, 10)
	_, p, _ := dialed(t, events.option())
	p.send(`{"jsonrpc":"2.0","method":"auth/required","params":{"channel":"ahp-root://","resource":"https://r","reason":"expired"}}`,
		`{"jsonrpc":"2.0","method":"x-relay/dropped","params":{"channel":"ahp-client-services://","serviceId":"s1","count":3}}`)
	if e := events.next(t); e != (AuthRequired{Resource: "https://r", Reason: "expired"}) {
		t.Fatal(e)
	}
	if e := events.next(t); e != (Dropped{ServiceID: "s1", Count: 3}) {
		t.Fatal(e)
	}
}

func TestPolicyPause(t *testing.T) {
	p := ReconnectPolicy{Min: 10, Max: 1000}.filled()
	for n, top := range map[int]time.Duration{0: 10, 1: 20, 3: 80, 7: 1000, 200: 1000} {
		for range 100 {
			if d := p.pause(n); d < top/2 || d > top {
				t.Fatalf("pause %d after %d failures", d, n)
			}
		}
	}
	if p := (ReconnectPolicy{}).filled(); p.Min != 100*time.Millisecond || p.Max != 10*time.Second || p.Timeout != 10*time.Second {
		t.Fatal(p)
	}
}

// What happens to services while the client is connecting again.
func TestReconnectServices(t *testing.T) {
	events := make(recorder, 10)
	c, p, f := dialed(t, events.option())
	s1 := registered(t, c, p, 2, nil)
	wait := async(t, func() (err error) {
		_, err = c.Register(deadline(t), json.RawMessage(`{"n":2}`), nil)
		return err
	})
	p.read()
	p.send(`{"jsonrpc":"2.0","id":3,"result":{"serviceId":"s2"}}`)
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	s2 := c.registered()[1]
	p.conn.Close()
	events.next(t)
	if err := s1.Update(deadline(t), json.RawMessage(`{"n":9}`)); !errors.Is(err, ErrDisconnected) {
		t.Fatal(err)
	}
	p = f.accept()
	p.read()
	p.send(`{"jsonrpc":"2.0","id":1,"result":{"type":"replay","actions":[],"missing":[],` + helloTail)
	p.want(`{"jsonrpc":"2.0","id":2,"method":"client/registerService","params":{"channel":"ahp-client-services://","metadata":{"protocol":"x"}}}`)
	// Before the relay has answered: one service goes, which needs no message, and one comes.
	if err := s2.Unregister(deadline(t)); err != nil {
		t.Fatal(err)
	}
	wait = async(t, func() (err error) {
		_, err = c.Register(deadline(t), json.RawMessage(`{"n":3}`), nil)
		return err
	})
	p.want(`{"jsonrpc":"2.0","id":3,"method":"client/registerService","params":{"channel":"ahp-client-services://","metadata":{"n":3}}}`)
	p.send(`{"jsonrpc":"2.0","id":3,"result":{"serviceId":"t3"}}`)
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	p.send(`{"jsonrpc":"2.0","id":2,"result":{"serviceId":"t1"}}`)
	e, ok := events.next(t).(Reconnected)
	if !ok || len(e.Services) != 1 || e.Services["s1"] != "t1" {
		t.Fatal(e)
	}
	flush(t, c, p, 4)
	// Draining: the relay will close, so the service is not given up.
	p.conn.Close()
	events.next(t)
	p = f.accept()
	p.read()
	p.send(`{"jsonrpc":"2.0","id":1,"result":{"type":"replay","actions":[],"missing":[],` + helloTail)
	p.read()
	p.send(`{"jsonrpc":"2.0","id":2,"error":{"code":-32053,"message":"draining","data":{"delivered":"never"}}}`)
	p = f.accept()
	p.read()
	p.send(`{"jsonrpc":"2.0","id":1,"result":{"type":"replay","actions":[],"missing":[],` + helloTail)
	p.read()
	p.send(`{"jsonrpc":"2.0","id":2,"result":{"serviceId":"u1"}}`)
	p.read()
	p.send(`{"jsonrpc":"2.0","id":3,"result":{"serviceId":"u3"}}`)
	e, ok = events.next(t).(Reconnected)
	if !ok || len(e.Services) != 2 || e.Services["t1"] != "u1" || e.Services["t3"] != "u3" || len(e.Failed) != 0 {
		t.Fatal(e)
	}
}
