package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// chat is the relay of these tests: it takes the handshake and then answers every request with its id.
func chat(read func() (string, error), write func(string) error) {
	if _, err := read(); err != nil || write(initialized) != nil {
		return
	}
	for {
		line, err := read()
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Params struct{ Method string }
		}
		if json.Unmarshal([]byte(line), &m) != nil || m.ID == nil {
			continue
		}
		answer := `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + string(m.ID) + `}`
		if m.Params.Method == "long" {
			answer = strings.Replace(answer, `"result":`, `"result":"`+strings.Repeat("x", 3<<20)+`","x":`, 1)
		}
		if write(answer) != nil {
			return
		}
	}
}

func webSocketHandler(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	chat(func() (string, error) {
		_, line, err := conn.Read(context.Background())
		return string(line), err
	}, func(line string) error {
		conn.Write(context.Background(), websocket.MessageText, []byte("\n")) // blank: skipped
		return conn.Write(context.Background(), websocket.MessageText, []byte(line+"\n"))
	})
}

// try makes some calls through a transport and then receives a frame that is too long.
func try(t *testing.T, url string, opts ...Option) {
	t.Helper()
	c, err := Dial(deadline(t), url, append(opts, WithoutReconnect())...)
	if err != nil {
		t.Fatal(err)
	}
	defer abandon(c)
	for want := 2; want < 5; want++ {
		if err := c.Notify("s9", "m", "x"); err != nil {
			t.Fatal(err)
		}
		if got, err := Call[int](deadline(t), c, "s9", "m", nil); err != nil || got != want {
			t.Fatal(got, err)
		}
	}
	if err := c.Call(deadline(t), "s9", "long", nil, nil); !errors.Is(err, ErrDisconnected) || !errors.Is(err, ErrProtocol) {
		t.Fatal(err)
	}
}

func TestWebSocket(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(webSocketHandler))
	defer server.Close()
	try(t, strings.Replace(server.URL, "http", "ws", 1))
	if _, err := Dial(deadline(t), "ws://"); err == nil {
		t.Fatal("no host")
	}
}

func TestWebSocketTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(webSocketHandler))
	defer server.Close()
	url := strings.Replace(server.URL, "https", "wss", 1)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	try(t, url, WithTLSConfig(&tls.Config{RootCAs: roots}))
	if _, err := Dial(deadline(t), url); err == nil {
		t.Fatal("an unknown certificate was accepted")
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewTLSServer(nil) // for its certificate
	defer server.Close()
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: server.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := newStream(conn)
				chat(func() (string, error) {
					line, err := in.Read(1 << 20)
					return string(line), err
				}, func(line string) error { return in.Write([]byte("\r\n" + line + "\r\n")) })
			}()
		}
	}()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	url := "tls://" + ln.Addr().String()
	try(t, url, WithTLSConfig(&tls.Config{RootCAs: roots}))
	if _, err := Dial(deadline(t), url); err == nil {
		t.Fatal("an unknown certificate was accepted")
	}
	if _, err := Dial(deadline(t), "tls://host"); err == nil {
		t.Fatal("no port")
	}
}
