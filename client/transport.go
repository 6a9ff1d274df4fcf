package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/url"

	"github.com/ahprelay/ahprelay/codec"
)

// transport carries whole JSON-RPC messages. Read is called by one goroutine, Write by one other, Close
// by any; Close makes both return.
type transport interface {
	// Read returns the next message, at most limit bytes long, without its LF. The slice is valid until
	// the next Read.
	Read(limit int) ([]byte, error)
	// Write sends one or more messages, each ended by LF.
	Write(batch []byte) error
	Close() error
}

// dialers opens a transport for each scheme of a relay's address.
var dialers = map[string]func(context.Context, *url.URL, *options) (transport, error){
	"tcp":  dialTCP,
	"tls":  dialTLS,
	"unix": dialUnix,
	"ws":   dialWebSocket,
	"wss":  dialWebSocket,
}

func dial(ctx context.Context, u *url.URL, o *options) (transport, error) {
	d := dialers[u.Scheme]
	if d == nil {
		return nil, fmt.Errorf("client: relay address %q: unknown scheme %q", u.Redacted(), u.Scheme)
	}
	t, err := d(ctx, u, o)
	if err != nil {
		return nil, fmt.Errorf("client: dial %s: %w", u.Redacted(), err)
	}
	return t, nil
}

func dialTCP(ctx context.Context, u *url.URL, _ *options) (transport, error) {
	if u.Port() == "" || u.Path != "" && u.Path != "/" {
		return nil, fmt.Errorf("want %s://host:port", u.Scheme)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	return newStream(conn), nil
}

func dialTLS(ctx context.Context, u *url.URL, o *options) (transport, error) {
	if u.Port() == "" || u.Path != "" && u.Path != "/" {
		return nil, fmt.Errorf("want %s://host:port", u.Scheme)
	}
	d := tls.Dialer{Config: o.tls}
	conn, err := d.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	return newStream(conn), nil
}

func dialUnix(ctx context.Context, u *url.URL, _ *options) (transport, error) {
	if u.Host != "" || u.Path == "" {
		return nil, fmt.Errorf("want unix:///path")
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", u.Path)
	if err != nil {
		return nil, err
	}
	return newStream(conn), nil
}

// readBytes is the size of a stream's read buffer.
const readBytes = 64 << 10

// stream is a transport over a byte stream, one message per line.
type stream struct {
	conn   net.Conn
	buf    []byte
	rest   []byte // of buf, not yet framed
	framer codec.Framer
}

func newStream(conn net.Conn) *stream { return &stream{conn: conn, buf: make([]byte, readBytes)} }

// Read returns the next line. Memory grows only with bytes that have arrived.
func (s *stream) Read(limit int) ([]byte, error) {
	for {
		line, rest, status := s.framer.Next(s.rest, limit)
		s.rest = rest
		switch status {
		case codec.FrameLine:
			return line, nil
		case codec.FrameTooLong:
			return nil, protocolError("a frame of more than %d bytes", limit)
		}
		n, err := s.conn.Read(s.buf)
		s.rest = s.buf[:n]
		if n > 0 {
			continue
		}
		if err == nil {
			err = io.ErrNoProgress
		}
		return nil, err
	}
}

func (s *stream) Write(batch []byte) error {
	_, err := s.conn.Write(batch)
	return err
}

func (s *stream) Close() error { return s.conn.Close() }
