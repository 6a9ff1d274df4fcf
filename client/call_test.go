package client

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestCall(t *testing.T) {
	for _, tt := range []struct {
		name   string
		params any
		want   string
	}{
		{"no params", nil, ``},
		{"struct", struct {
			A string `json:"a"`
		}{"<&>"}, `,"params":{"a":"<&>"}`},
		{"raw, byte for byte", json.RawMessage(`{ "a":1e3,"a":"\u0041" }`), `,"params":{ "a":1e3,"a":"\u0041" }`},
		{"raw with line feeds", json.RawMessage("[1,\n2\n]"), `,"params":[1, 2 ]`},
		{"number", 5, `,"params":5`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, p, _ := dialed(t)
			var raw json.RawMessage
			wait := async(t, func() error { return c.Call(context.Background(), "s9", "do \"it\"", tt.params, &raw) })
			p.want(`{"jsonrpc":"2.0","id":2,"method":"clientService/request","params":{"channel":"ahp-client-services://","serviceId":"s9","method":"do \"it\""` + tt.want + `}}`)
			p.send(`{"jsonrpc":"2.0","id":2,"result": {"x" : 1.0} }`)
			if err := wait(); err != nil {
				t.Fatal(err)
			}
			if string(raw) != `{"x" : 1.0}` {
				t.Fatalf("result %s", raw)
			}
		})
	}
}

func TestCallTyped(t *testing.T) {
	c, p, _ := dialed(t)
	var got []int
	wait := async(t, func() (err error) {
		got, err = Call[[]int](context.Background(), c, "s9", "m", nil)
		return err
	})
	p.read()
	p.send(`{"jsonrpc":"2.0","id":2,"result":[1,2]}`)
	if err := wait(); err != nil || len(got) != 2 || got[1] != 2 {
		t.Fatal(got, err)
	}
	wait = async(t, func() (err error) {
		got, err = Call[[]int](context.Background(), c, "s9", "m", nil)
		return err
	})
	p.read()
	p.send(`{"jsonrpc":"2.0","id":3,"result":"no list"}`)
	if err := wait(); err == nil {
		t.Fatal("a string was decoded into a []int")
	}
}

func TestCallErrors(t *testing.T) {
	for _, tt := range []struct {
		answer    string
		is        error
		not       error
		delivered string
		text      string
	}{
		{`{"code":-32008,"message":"not found","data":{"delivered":"never"}}`, ErrNotFound, ErrTimeout, "never", "not found (-32008)"},
		{`{"code":-32009,"message":"no","data":{"delivered":"maybe"}}`, ErrPermissionDenied, ErrNotFound, "maybe", "no (-32009)"},
		{`{"code":-32050,"message":"gone","data":{"delivered":"maybe"}}`, ErrUnavailable, ErrNotFound, "maybe", "gone (-32050)"},
		{`{"code":-32051,"message":"late","data":{"delivered":"maybe"}}`, context.DeadlineExceeded, context.Canceled, "maybe", "late (-32051)"},
		{`{"code":-32800,"message":"off"}`, context.Canceled, ErrTimeout, "", "off (-32800)"},
		{`{"code":-32052,"message":"","data":{"delivered":"never","limit":"x"}}`, ErrLimitExceeded, ErrOverloaded, "never", "limit exceeded (-32052)"},
		{`{"code":-32053,"message":"m"}`, ErrOverloaded, ErrLimitExceeded, "", "m (-32053)"},
		{`{"code":7,"message":"own","data":{"delivered":"never mind"}}`, &Error{Code: 7}, ErrNotFound, "", "own (7)"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			c, p, _ := dialed(t)
			wait := async(t, func() error { return c.Call(context.Background(), "s9", "m", nil, nil) })
			p.read()
			p.send(`{"jsonrpc":"2.0","id":2,"error":` + tt.answer + `}`)
			err := wait()
			if !errors.Is(err, tt.is) || errors.Is(err, tt.not) || Delivered(err) != tt.delivered || err.Error() != tt.text {
				t.Fatalf("%v, delivered %q", err, Delivered(err))
			}
		})
	}
}

func TestCallDeadline(t *testing.T) {
	c, p, _ := dialed(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	wait := async(t, func() error { return c.Call(ctx, "s9", "m", nil, nil) })
	var got struct {
		Params struct {
			TimeoutMs int64 `json:"timeoutMs"`
		} `json:"params"`
	}
	if err := json.Unmarshal([]byte(p.read()), &got); err != nil {
		t.Fatal(err)
	}
	if ms := got.Params.TimeoutMs; ms > 3600_000 || ms < 3590_000 {
		t.Fatalf("timeoutMs %d", ms)
	}
	cancel()
	p.want(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"channel":"ahp-client-services://","id":2}}`)
	if err := wait(); err != context.Canceled {
		t.Fatal(err)
	}
	// The answer that comes anyway is ignored.
	p.send(`{"jsonrpc":"2.0","id":2,"error":{"code":-32800,"message":"request cancelled"}}`)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.Call(ended, "s9", "m", nil, nil); err != context.Canceled {
		t.Fatal(err)
	}
	wait = async(t, func() error { return c.Flush(deadline(t)) })
	p.want(`{"jsonrpc":"2.0","id":3,"method":"ping","params":{"channel":"ahp-root://"}}`)
	p.send(`{"jsonrpc":"2.0","id":3,"result":null}`)
	if err := wait(); err != nil {
		t.Fatal(err)
	}
}

func TestCallTooLarge(t *testing.T) {
	c, p, _ := dialed(t)
	err := c.Call(context.Background(), "s9", "m", make([]byte, 4096), nil)
	if !errors.Is(err, ErrLimitExceeded) || Delivered(err) != "never" {
		t.Fatal(err)
	}
	if err := c.Notify("s9", "m", make([]byte, 4096)); !errors.Is(err, ErrLimitExceeded) {
		t.Fatal(err)
	}
	// The bound is exact.
	const empty = `{"jsonrpc":"2.0","method":"clientService/notify","params":{"channel":"ahp-client-services://","serviceId":"s9","method":"m","params":""}}`
	if err := c.Notify("s9", "m", strings.Repeat("x", 4097-len(empty))); !errors.Is(err, ErrLimitExceeded) {
		t.Fatal(err)
	}
	if err := c.Notify("s9", "m", strings.Repeat("x", 4096-len(empty))); err != nil {
		t.Fatal(err)
	}
	if line := p.read(); len(line) != 4096 {
		t.Fatal(len(line))
	}
	if err := c.Notify("s9", "m", json.RawMessage(`{"a":`)); err == nil {
		t.Fatal("invalid raw JSON was sent")
	}
	if err := c.Notify("s9", "m", make(chan int)); err == nil {
		t.Fatal("a channel was sent")
	}
}

func TestCallDisconnected(t *testing.T) {
	c, p, _ := dialed(t, WithoutReconnect())
	wait := async(t, func() error { return c.Call(context.Background(), "s9", "m", nil, nil) })
	p.read()
	p.conn.Close()
	if err := wait(); !errors.Is(err, ErrDisconnected) || Delivered(err) != "maybe" {
		t.Fatal(err)
	}
	if err := c.Call(context.Background(), "s9", "m", nil, nil); !errors.Is(err, ErrDisconnected) || Delivered(err) != "never" {
		t.Fatal(err)
	}
	if err := c.Notify("s9", "m", nil); !errors.Is(err, ErrDisconnected) {
		t.Fatal(err)
	}
	<-c.Closed()
	if err := c.Err(); !errors.Is(err, ErrDisconnected) {
		t.Fatal(err)
	}
}
