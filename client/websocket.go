package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/coder/websocket"
)

// socket is a transport over a WebSocket, one message per text frame.
type socket struct {
	conn *websocket.Conn
	buf  bytes.Buffer
}

func dialWebSocket(ctx context.Context, u *url.URL, o *options) (transport, error) {
	if u.Host == "" {
		return nil, fmt.Errorf("want %s://host:port", u.Scheme)
	}
	// A transport of its own: no proxy, no connection that outlives the client.
	t := &http.Transport{TLSClientConfig: o.tls, DisableKeepAlives: true}
	conn, _, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{HTTPClient: &http.Client{Transport: t}})
	if err != nil {
		return nil, err
	}
	return &socket{conn: conn}, nil
}

// Read returns the next message that is not blank.
func (s *socket) Read(limit int) ([]byte, error) {
	s.conn.SetReadLimit(-1) // counted here, for the same error as elsewhere
	for {
		_, r, err := s.conn.Reader(context.Background()) // Close ends it
		if err != nil {
			return nil, err
		}
		if s.buf.Cap() > readBytes {
			s.buf = bytes.Buffer{}
		}
		s.buf.Reset()
		if _, err := s.buf.ReadFrom(io.LimitReader(r, int64(limit)+1)); err != nil {
			return nil, err
		}
		if s.buf.Len() > limit {
			return nil, protocolError("a frame of more than %d bytes", limit)
		}
		if line := bytes.TrimRight(s.buf.Bytes(), "\r\n"); len(line) > 0 {
			return line, nil
		}
	}
}

// Write sends each message as a text frame.
func (s *socket) Write(batch []byte) error {
	for line := range bytes.Lines(batch) {
		if err := s.conn.Write(context.Background(), websocket.MessageText, line[:len(line)-1]); err != nil {
			return err
		}
	}
	return nil
}

func (s *socket) Close() error { return s.conn.CloseNow() }
