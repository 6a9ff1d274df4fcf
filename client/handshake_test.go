package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// refused dials a fake whose answers are given by script and returns Dial's error.
func refused(t *testing.T, script func(p *peer), opts ...Option) error {
	t.Helper()
	f := newFake(t)
	wait := async(t, func() error {
		c, err := Dial(deadline(t), f.url(), append([]Option{WithClientID("me"), WithClientInfo("test", "7")}, opts...)...)
		if err == nil {
			defer abandon(c)
		}
		return err
	})
	script(f.accept())
	return wait()
}

func TestDial(t *testing.T) {
	c, _, _ := dialed(t)
	if l := c.Limits(); l.FrameBytes != 4096 || l.DeliveredBytes != 5000 || !strings.HasSuffix(string(l.All), `"later":5}`) {
		t.Fatalf("%+v", l)
	}
	if s := c.ServerInfo(); s != (ServerInfo{Name: "fake", Version: "1", Title: "T", ProtocolVersion: "1.0.0"}) {
		t.Fatalf("%+v", s)
	}
	if c.ClientID() != "me" || c.Err() != nil {
		t.Fatal(c.ClientID(), c.Err())
	}
}

func TestDialUnix(t *testing.T) {
	dir, err := os.MkdirTemp("", "client")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		bufio.NewReader(conn).ReadString('\n')
		conn.Write([]byte(initialized + "\n"))
	}()
	c, err := Dial(deadline(t), "unix://"+path, WithoutReconnect())
	if err != nil {
		t.Fatal(err)
	}
	abandon(c)
}

func TestDialAddress(t *testing.T) {
	for _, url := range []string{"", "localhost:7420", "http://x", "tcp://host", "tcp://host:1/path", "unix://host/path", "unix://", "tcp://[::1", "\n"} {
		if c, err := Dial(deadline(t), url); err == nil {
			abandon(c)
			t.Errorf("%q was accepted", url)
		}
	}
}

func TestDialErrors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer string
		want   error
	}{
		{"no client services", `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1.0.0","serverSeq":1,"snapshots":[]}}`, ErrNotSupported},
		{"unsupported version", `{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"v","data":{"supportedVersions":["^2.0.0"]}}}`, ErrUnsupportedVersion},
		{"clientId in use", `{"jsonrpc":"2.0","id":1,"error":{"code":-32010,"message":"in use"}}`, ErrAlreadyExists},
		{"no result", `{"jsonrpc":"2.0","id":1}`, ErrProtocol},
		{"result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, ErrProtocol},
		{"result is a list", `{"jsonrpc":"2.0","id":1,"result":[]}`, ErrProtocol},
		{"limits are a list", `{"jsonrpc":"2.0","id":1,"result":{"clientServices":{"limits":[]}}}`, ErrProtocol},
		{"limit is a text", `{"jsonrpc":"2.0","id":1,"result":{"clientServices":{"limits":{"frameBytes":"x"}}}}`, ErrProtocol},
		{"error without code", `{"jsonrpc":"2.0","id":1,"error":{"message":""}}`, ErrProtocol},
		{"error is a text", `{"jsonrpc":"2.0","id":1,"error":"no"}`, ErrProtocol},
		{"not JSON", `HTTP/1.1 400 Bad Request`, ErrProtocol},
		{"a list", `[]`, ErrProtocol},
		{"another version of JSON-RPC", `{"jsonrpc":"1.0","id":1,"result":{}}`, ErrProtocol},
		{"a member twice", `{"jsonrpc":"2.0","id":1,"id":1,"result":{}}`, ErrProtocol},
		{"an id never used", `{"jsonrpc":"2.0","id":"1","result":{}}`, ErrProtocol},
		{"a long line", strings.Repeat("x", handshakeBytes+1), ErrProtocol},
		{"deep nesting", strings.Repeat("[", 2000), ErrProtocol},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := refused(t, func(p *peer) {
				p.want(wantInitialize)
				p.conn.Write([]byte(tt.answer + "\n")) // the client may close while it is being sent
			})
			if !errors.Is(err, tt.want) {
				t.Fatal(err)
			}
		})
	}
}

func TestDialContext(t *testing.T) {
	f := newFake(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if _, err := Dial(ctx, f.url()); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

const (
	wantAuthenticate = `{"jsonrpc":"2.0","id":1,"method":"authenticate","params":{"channel":"ahp-root://","resource":"https://ahprelay.localhost","token":"tok"}}`
	badToken         = `{"jsonrpc":"2.0","id":1,"error":{"code":-32007,"message":"bad token","data":{"resources":[{"resource":"https://ahprelay.localhost"}]}}}`
)

func TestAuthenticate(t *testing.T) {
	second := strings.Replace(initialized, `"id":1`, `"id":2`, 1)
	initialize2 := strings.Replace(wantInitialize, `"id":1`, `"id":2`, 1)
	t.Run("the usual resource", func(t *testing.T) {
		err := refused(t, func(p *peer) {
			p.want(wantAuthenticate)
			p.send(`{"jsonrpc":"2.0","id":1,"result":{}}`)
			p.want(initialize2)
			p.send(second)
		}, WithToken("tok"), WithoutReconnect())
		if err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a bad token", func(t *testing.T) {
		err := refused(t, func(p *peer) {
			p.want(wantAuthenticate)
			p.send(badToken)
		}, WithToken("tok"))
		if !errors.Is(err, ErrAuthRequired) || strings.Contains(err.Error(), "tok\"") {
			t.Fatal(err)
		}
	})
	t.Run("a resource that the relay names", func(t *testing.T) {
		err := refused(t, func(p *peer) {
			p.want(wantAuthenticate)
			p.send(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such resource"}}`)
			p.want(initialize2)
			p.send(second)
			p.want(fmt.Sprintf(wantSubscribe, 3))
			p.send(`{"jsonrpc":"2.0","id":3,"error":{"code":-32007,"message":"m","data":{"delivered":"never","resources":[{"resource":"https://r"}]}}}`)
			p.want(`{"jsonrpc":"2.0","id":4,"method":"authenticate","params":{"channel":"ahp-root://","resource":"https://r","token":"tok"}}`)
			p.send(`{"jsonrpc":"2.0","id":4,"result":{}}`)
		}, WithToken("tok"), WithoutReconnect())
		if err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a configured resource", func(t *testing.T) {
		err := refused(t, func(p *peer) {
			p.want(strings.Replace(wantAuthenticate, "ahprelay.localhost", "mine", 1))
			p.send(`{"jsonrpc":"2.0","id":1,"result":{}}`)
			p.want(initialize2)
			p.send(second)
		}, WithToken("tok"), WithResource("https://mine"), WithoutReconnect())
		if err != nil {
			t.Fatal(err)
		}
	})
}

// A newer token is used on the live connection and on the next one.
func TestAuthenticateAgain(t *testing.T) {
	c, p, f := dialed(t)
	wait := async(t, func() error { return c.Authenticate(context.Background(), "tok") })
	p.want(strings.Replace(wantAuthenticate, `"id":1`, `"id":2`, 1))
	p.send(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	p.conn.Close()
	p = f.accept()
	p.want(wantAuthenticate)
}

// A relay that breaks the protocol later loses the connection and nothing else.
func TestHostile(t *testing.T) {
	for name, line := range map[string]string{
		"not JSON":                 `{"jsonrpc":"2.0",`,
		"no envelope":              `{"jsonrpc":"2.0"}`,
		"a request id twice":       handle(5, `"method":"block"`) + "\n" + handle(5, `"method":"block"`),
		"a request id of zero":     handle(0, `"method":"m"`),
		"a negative request id":    handle(-1, `"method":"m"`),
		"a fractional request id":  strings.Replace(handle(5, `"method":"m"`), `"id":5`, `"id":5.5`, 1),
		"a huge request id":        strings.Replace(handle(5, `"method":"m"`), `"id":5`, `"id":1e999999999`, 1),
		"a text as request id":     strings.Replace(handle(5, `"method":"m"`), `"id":5`, `"id":"5"`, 1),
		"a null request id":        strings.Replace(handle(5, `"method":"m"`), `"id":5`, `"id":null`, 1),
		"an answer to nothing":     `{"jsonrpc":"2.0","id":null,"result":1}`,
		"closing without object":   `{"jsonrpc":"2.0","method":"x-relay/closing","params":[]}`,
		"closing with a number":    `{"jsonrpc":"2.0","method":"x-relay/closing","params":{"reason":5}}`,
		"dropped below zero":       `{"jsonrpc":"2.0","method":"x-relay/dropped","params":{"serviceId":"s1","count":-1}}`,
		"dropped without params":   `{"jsonrpc":"2.0","method":"x-relay/dropped"}`,
		"auth without params":      `{"jsonrpc":"2.0","method":"auth/required"}`,
		"action without params":    `{"jsonrpc":"2.0","method":"action"}`,
		"action without service":   `{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-client-services://","action":{"type":"clientService/set"},"serverSeq":2000}}`,
		"action without serviceId": set(2000, `{"clientId":"x"}`),
		"an action twice":          set(2000, entry("a", "1")) + "\n" + set(2000, entry("b", "1")),
		"an action of the past":    set(3, entry("a", "1")),
		"a frame too long":         `{"jsonrpc":"2.0","method":"x","params":{"a":"` + strings.Repeat("x", 2_000_000) + `"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c, p, _ := dialed(t, WithoutReconnect())
			registered(t, c, p, 2, func(ctx context.Context, r *Request) (any, error) {
				if r.Method == "block" {
					<-ctx.Done()
				}
				return nil, nil
			})
			watched(t, c, p, 3, 107)
			p.conn.Write([]byte(line + "\n"))
			<-c.Closed()
			if err := c.Err(); !errors.Is(err, ErrProtocol) || !errors.Is(err, ErrDisconnected) {
				t.Fatal(err)
			}
		})
	}
}

// What a later version of the protocol may add is no offence.
func TestTolerant(t *testing.T) {
	c, p, _ := dialed(t, WithoutReconnect())
	w := watched(t, c, p, 2, 107)
	p.send(`{"jsonrpc":"2.0","method":"root/changed"}`,
		`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-root://","action":{"type":"root/agents"},"serverSeq":5}}`,
		`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-client-services://","action":{"type":"clientService/renamed"},"serverSeq":200}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"x"}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest"}`,
		`{"jsonrpc":"2.0","method":"clientService/notification"}`,
		`{"jsonrpc":"2.0","id":77,"result":"to nobody"}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"for a message that was no message"}}`,
		`{"jsonrpc":"2.0","id":5,"method":"clientService/handleRequest"}`,
		"", "\r")
	p.want(`{"jsonrpc":"2.0","id":5,"error":{"code":-32008,"message":"not found","data":{"delivered":"never"}}}`)
	p.send(set(201, entry("a", "1")))
	readEvents(t, w, 1)
	flush(t, c, p, 3)
}
