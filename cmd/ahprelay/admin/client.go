package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/goccy/go-json"

	"github.com/ahprelay/ahprelay/cmd/ahprelay/config"
)

const (
	dialTimeout   = 5 * time.Second
	answerTimeout = 15 * time.Second
	lineBytesMax  = 8 << 20 // of /api/tap: an envelope with its payload
)

// Client asks an admin server. It may be used by several goroutines.
type Client struct {
	addr  string
	base  string
	token string
	http  *http.Client
}

// NewClient returns a client of the server at addr, host:port or unix:///path. The token is read from
// tokenFile; when that is "" it is looked for where a relay of the same user puts it.
func NewClient(addr, tokenFile string, getenv func(string) string) (*Client, error) {
	a, err := config.ParseAdmin(addr)
	if err != nil {
		return nil, fmt.Errorf("%q %w", addr, err)
	}
	c := &Client{addr: addr, base: "http://" + addr}
	network, address := "tcp", addr
	if a.Scheme == "unix" {
		c.base, network, address = "http://localhost", "unix", a.Path
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	c.http = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		},
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     time.Minute,
	}}
	if tokenFile != "" {
		if c.token, err = ReadToken(tokenFile, false); err != nil {
			return nil, fmt.Errorf("reading the admin token: %w", err)
		}
	} else if a.Scheme != "unix" {
		c.token, err = ReadToken(TokenFile(addr, getenv), true)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("reading the admin token: %w", err)
		}
	}
	return c, nil
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Stats asks for the numbers.
func (c *Client) Stats(ctx context.Context) (*Stats, error) {
	return get[Stats](ctx, c, "/api/stats", nil)
}

// Connections asks for connections, those with the longest queues first.
func (c *Client) Connections(ctx context.Context, q url.Values) (*List[Connection], error) {
	return get[List[Connection]](ctx, c, "/api/connections", q)
}

// Services asks for services, the busiest first.
func (c *Client) Services(ctx context.Context, q url.Values) (*List[Service], error) {
	return get[List[Service]](ctx, c, "/api/services", q)
}

// Requests asks for requests in flight, the oldest first.
func (c *Client) Requests(ctx context.Context, q url.Values) (*List[Request], error) {
	return get[List[Request]](ctx, c, "/api/requests", q)
}

// Closings asks for closings and limits, the latest first.
func (c *Client) Closings(ctx context.Context, q url.Values) (*List[Closing], error) {
	return get[List[Closing]](ctx, c, "/api/closings", q)
}

// Ready asks whether the relay takes connections; if not the error says why.
func (c *Client) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	body, err := c.open(ctx, "/readyz", nil)
	if err != nil {
		return err
	}
	return body.Close()
}

// Tap calls f for each envelope as it is routed, until f fails, ctx ends or the relay stops, which is
// io.EOF. The second argument is the line that the envelope was read from, alive during the call.
func (c *Client) Tap(ctx context.Context, q url.Values, f func(*Envelope, []byte) error) error {
	body, err := c.open(ctx, "/api/tap", q)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 64<<10), lineBytesMax)
	for lines.Scan() {
		var e Envelope
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("reading an envelope: %w", err)
		}
		if err := f(&e, lines.Bytes()); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("reading from the admin server: %w", err)
	}
	return io.EOF
}

func get[T any](ctx context.Context, c *Client, path string, q url.Values) (*T, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	body, err := c.open(ctx, path, q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("reading from the admin server: %w", err)
	}
	v := new(T)
	if err := json.Unmarshal(text, v); err != nil {
		return nil, fmt.Errorf("what answers at %s is no admin server of ahprelay: %w", c.addr, err)
	}
	return v, nil
}

// open returns the body of a good answer.
func (c *Client) open(ctx context.Context, path string, q url.Values) (io.ReadCloser, error) {
	target := c.base + path
	if len(q) > 0 {
		target += "?" + q.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", c.addr, err)
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no admin server answers at %s: %w", c.addr, err)
		}
		return nil, fmt.Errorf("asking the admin server at %s: %w", c.addr, err)
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	var f failure
	if json.Unmarshal(text, &f) != nil || f.Error == "" {
		f.Error = strings.TrimSpace(string(text))
	}
	return nil, fmt.Errorf("the admin server at %s answers %s: %s", c.addr, response.Status, f.Error)
}
