package client

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// fake is a relay that does what a test tells it, line by line.
type fake struct {
	t  *testing.T
	ln net.Listener
}

// peer is one accepted connection of a fake.
type peer struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func newFake(t *testing.T) *fake {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return &fake{t, ln}
}

func (f *fake) url() string { return "tcp://" + f.ln.Addr().String() }

func (f *fake) accept() *peer {
	f.t.Helper()
	f.ln.(*net.TCPListener).SetDeadline(time.Now().Add(10 * time.Second))
	conn, err := f.ln.Accept()
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { conn.Close() })
	return &peer{f.t, conn, bufio.NewReader(conn)}
}

// read returns the next line of the client.
func (p *peer) read() string {
	p.t.Helper()
	p.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	line, err := p.in.ReadString('\n')
	if err != nil {
		p.t.Fatalf("reading from the client: %v (after %q)", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

// want reads one line, which must be exactly this.
func (p *peer) want(line string) {
	p.t.Helper()
	if got := p.read(); got != line {
		p.t.Fatalf("the client sent\n\t%s\nwant\n\t%s", got, line)
	}
}

// send sends lines in one write.
func (p *peer) send(lines ...string) {
	p.t.Helper()
	if _, err := p.conn.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
		p.t.Fatal(err)
	}
}

const (
	wantInitialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":"me","clientInfo":{"name":"test","version":"7"}}}`
	initialized    = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1.0.0","serverSeq":100,"serverInfo":{"name":"fake","version":"1","title":"T"},"snapshots":[],"clientServices":{"channel":"ahp-client-services://","limits":{"frameBytes":4096,"deliveredBytes":5000,"snapshotBytes":2000000,"later":5}},"_meta":{"ahprelay.resumeToken":"secret"}}}`
)

// dialed returns a client that has finished its handshake with a fake.
func dialed(t *testing.T, opts ...Option) (*Client, *peer, *fake) {
	t.Helper()
	f := newFake(t)
	type outcome struct {
		c   *Client
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		c, err := Dial(deadline(t), f.url(), append([]Option{WithClientID("me"), WithClientInfo("test", "7"),
			WithReconnect(ReconnectPolicy{Min: time.Millisecond, Max: time.Millisecond})}, opts...)...)
		done <- outcome{c, err}
	}()
	p := f.accept()
	p.want(wantInitialize)
	p.send(initialized)
	o := <-done
	if o.err != nil {
		t.Fatal(o.err)
	}
	t.Cleanup(func() { abandon(o.c) })
	return o.c, p, f
}

// abandon ends a client without any ceremony.
func abandon(c *Client) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c.Close(ctx)
	<-c.quiet
}

// deadline returns a context that ends with the test, or after ten seconds.
func deadline(t testing.TB) context.Context {
	ctx, cancel := timeout()
	t.Cleanup(cancel)
	return ctx
}

func timeout() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 10*time.Second)
}

// async runs f and returns a function that waits for its error.
func async(t *testing.T, f func() error) (wait func() error) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return func() error {
		t.Helper()
		select {
		case err := <-done:
			return err
		case <-time.After(10 * time.Second):
			t.Fatal("no return")
			return nil
		}
	}
}

// registered registers a service under the id "s1".
func registered(t *testing.T, c *Client, p *peer, id int, h Handler, opts ...ServiceOption) *Service {
	t.Helper()
	var s *Service
	wait := async(t, func() (err error) {
		s, err = c.Register(deadline(t), map[string]string{"protocol": "x"}, h, opts...)
		return err
	})
	p.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"client/registerService","params":{"channel":"ahp-client-services://","metadata":{"protocol":"x"}}}`, id))
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"serviceId":"s1"}}`, id))
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	return s
}
