package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// A relay that does not read makes Notify wait, not the memory grow; nothing is lost or reordered.
func TestNotifyWaits(t *testing.T) {
	c, p, _ := dialed(t)
	p.conn.(*net.TCPConn).SetReadBuffer(64 << 10)
	const n = 2500 // of 3.5 KB: more than the sockets and the outbox hold
	text := strings.Repeat("x", 3500)
	wait := async(t, func() error {
		for i := range n {
			if err := c.Notify("s9", "m", []any{i, text}); err != nil {
				return err
			}
		}
		return nil
	})
	untilFull(t, c)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := c.Call(ctx, "s9", "m", nil, nil); err != context.DeadlineExceeded {
		t.Fatal(err)
	}
	for i := range n {
		line := p.read()
		for strings.Contains(line, `Request"`) || strings.Contains(line, `/request"`) {
			line = p.read() // the call, if it got through, and its cancellation
		}
		var m struct {
			Params struct{ Params [2]any }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.Params.Params[0] != float64(i) {
			t.Fatal(i, err, m.Params.Params[0])
		}
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
}

// untilFull waits until somebody waits for room in the outbox.
func untilFull(t *testing.T, c *Client) {
	t.Helper()
	out := &c.link.Load().out
	for ctx := deadline(t); ctx.Err() == nil; time.Sleep(time.Millisecond) {
		out.mu.Lock()
		full, size := out.space != nil, len(out.buf)
		out.mu.Unlock()
		if size > c.opt.outBytes {
			t.Fatalf("%d bytes wait", size)
		}
		if full {
			return
		}
	}
	t.Fatal("the sockets took everything")
}

// Closing ends a Notify that waits.
func TestNotifyClosed(t *testing.T) {
	c, _, _ := dialed(t)
	wait := async(t, func() error {
		for {
			if err := c.Notify("s9", "m", strings.Repeat("x", 3500)); err != nil {
				return err
			}
		}
	})
	untilFull(t, c)
	abandon(c)
	if err := wait(); err != ErrClosed {
		t.Fatal(err)
	}
}

func TestEncodeJSON(t *testing.T) {
	raw := json.RawMessage(`[ 1 ]`)
	var none *json.RawMessage
	for _, tt := range []struct {
		v    any
		want string
	}{
		{nil, ""}, {raw, "[ 1 ]"}, {&raw, "[ 1 ]"}, {none, ""}, {json.RawMessage(nil), ""},
		{"<é>\u2028", "\"<é>\\u2028\""}, {1e21, "1e+21"}, {struct{}{}, "{}"}, {marshaler("{\n}"), "{}"},
	} {
		got, err := encodeJSON(tt.v)
		if err != nil || string(got) != tt.want {
			t.Errorf("%v: %s, %v", tt.v, got, err)
		}
	}
	for _, v := range []any{json.RawMessage("{"), json.RawMessage("1 2"), json.RawMessage("\"\x80\""), func() {}, marshaler("{")} {
		if got, err := encodeJSON(v); err == nil {
			t.Errorf("%v: %s", v, got)
		}
	}
}

type marshaler string

func (m marshaler) MarshalJSON() ([]byte, error) { return []byte(m), nil }

func (m marshaler) String() string { return fmt.Sprintf("%q", string(m)) }
