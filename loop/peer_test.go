package loop

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// peer is a raw client: it writes lines and reads lines.
type peer struct {
	net.Conn
	t    testing.TB
	r    *bufio.Reader
	base net.Conn // what Conn runs over
}

func dial(t testing.TB, addr string) *peer {
	t.Helper()
	return dialWith(t, "tcp", addr, 0)
}

// dialWith connects with a receive buffer of the given size, 0 for the system's.
func dialWith(t testing.TB, network, addr string, receiveBytes int) *peer {
	t.Helper()
	scheme := schemeOf(t)
	if scheme == "unix" {
		network = "unix"
	}
	base := narrowed(t, network, addr, receiveBytes)
	c := base
	if network == "tcp" {
		var err error
		if c, err = overTransport(scheme, base); err != nil {
			t.Fatal(err)
		}
	}
	p := newPeer(t, c)
	p.base = base
	return p
}

func narrowed(t testing.TB, network, addr string, receiveBytes int) net.Conn {
	t.Helper()
	d := net.Dialer{}
	if receiveBytes > 0 {
		d.Control = func(_, _ string, raw syscall.RawConn) (err error) {
			_ = raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBytes) })
			return err
		}
	}
	c, err := d.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func newPeer(t testing.TB, c net.Conn) *peer {
	return &peer{Conn: c, t: t, r: bufio.NewReaderSize(c, 64<<10)}
}

func (p *peer) send(lines ...string) {
	p.t.Helper()
	if err := p.trySend(lines...); err != nil {
		p.t.Fatal(err)
	}
}

// trySend is for peers that the relay may have closed, and for other goroutines than the test's own.
func (p *peer) trySend(lines ...string) error {
	_ = p.SetWriteDeadline(time.Now().Add(patience))
	_, err := io.WriteString(p.Conn, strings.Join(lines, "\n")+"\n")
	return err
}

func (p *peer) line() string {
	p.t.Helper()
	line, err := p.tryLine()
	if err != nil {
		p.t.Fatalf("reading a line: %v (got %q)", err, line)
	}
	return line
}

func (p *peer) tryLine() (string, error) {
	_ = p.SetReadDeadline(time.Now().Add(patience))
	line, err := p.r.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

func (p *peer) expect(lines ...string) {
	p.t.Helper()
	for _, want := range lines {
		if got := p.line(); got != want {
			p.t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
}

// eof asserts that the relay has shut down its side, and nothing came before.
func (p *peer) eof() {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(patience))
	if b, err := io.ReadAll(p.r); err != nil || len(b) != 0 {
		p.t.Fatalf("want EOF, got %q, %v", b, err)
	}
}

// quiet asserts that nothing waits for p: the next line is the answer to a ping sent now.
func (p *peer) quiet() {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":"quiet","method":"ping"}`)
	p.expect(`{"jsonrpc":"2.0","id":"quiet","result":null}`)
}

// reset closes the connection with an RST.
func (p *peer) reset() {
	p.t.Helper()
	if c, ok := p.base.(*net.TCPConn); ok {
		if err := c.SetLinger(0); err != nil {
			p.t.Fatal(err)
		}
	}
	_ = p.base.Close()
}

func (p *peer) closeWrite() {
	p.t.Helper()
	if err := p.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		p.t.Fatal(err)
	}
}

// hello makes a raw client that is initialized.
func hello(t testing.TB, addr, clientID string) *peer {
	t.Helper()
	p := dial(t, addr)
	p.initialize(clientID)
	return p
}

const initialized = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"1.0.0",`

func initialize(clientID string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":"` + clientID + `"}}`
}

// initialize shakes hands and returns the resume token.
func (p *peer) initialize(clientID string) string {
	p.t.Helper()
	p.send(initialize(clientID))
	line := p.line()
	if !strings.HasPrefix(line, initialized) {
		p.t.Fatalf("initialize: %s", line)
	}
	_, token, _ := strings.Cut(line, `"_meta":{"ahprelay.resumeToken":"`)
	token, _, ok := strings.Cut(token, `"`)
	if !ok {
		p.t.Fatalf("no resume token: %s", line)
	}
	return token
}

const (
	registerHead  = `{"jsonrpc":"2.0","id":"r","method":"client/registerService","params":{"metadata":`
	registered    = `{"jsonrpc":"2.0","id":"r","result":{"serviceId":"`
	subscribeLine = `{"jsonrpc":"2.0","id":"s","method":"subscribe","params":{"channel":"ahp-client-services://"}}`
)

// register makes a service and returns its id.
func (p *peer) register(metadata string) string {
	p.t.Helper()
	p.send(registerHead + metadata + `}}`)
	line := p.line()
	if !strings.HasPrefix(line, registered) {
		p.t.Fatalf("register: %s", line)
	}
	return strings.TrimSuffix(line[len(registered):], `"}}`)
}

// notify is a clientService/notify, params included in rest.
func notify(service, rest string) string {
	return `{"jsonrpc":"2.0","method":"clientService/notify","params":{"serviceId":"` + service + `",` + rest + `}}`
}

// notified is a notification as its owner gets it.
func notified(service, sender, rest string) string {
	return `{"jsonrpc":"2.0","method":"clientService/notification","params":{"channel":"ahp-client-services://","serviceId":"` + service + `","senderClientId":"` + sender + `",` + rest + `}}`
}

// request is a clientService/request; id is raw JSON.
func request(id, service, rest string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"clientService/request","params":{"serviceId":"` + service + `",` + rest + `}}`
}

// result is an answer; id and value are raw JSON.
func result(id, value string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + value + `}`
}

// failure is an error answer; id and data are raw JSON, data may be empty.
func failure(id string, code int, message, data string) string {
	if data != "" {
		data = `,"data":` + data
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"%s"%s}}`, id, code, message, data)
}

// cancelRequest is a $/cancelRequest, as callers send it and as owners get it.
func cancelRequest(id string) string {
	return `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"channel":"ahp-client-services://","id":` + id + `}}`
}

func closing(reason, message string) string {
	return `{"jsonrpc":"2.0","method":"x-relay/closing","params":{"channel":"ahp-root://","reason":"` + reason + `","message":"` + message + `"}}`
}

func dropped(service string, count int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"x-relay/dropped","params":{"channel":"ahp-client-services://","serviceId":"%s","count":%d}}`, service, count)
}

func actionSet(service, clientID, metadata string, seq uint64) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-client-services://","action":{"type":"clientService/set","service":{"serviceId":"%s","clientId":"%s","metadata":%s}},"serverSeq":%d}}`,
		service, clientID, metadata, seq)
}

func actionRemoved(service string, seq uint64) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-client-services://","action":{"type":"clientService/removed","serviceId":"%s"},"serverSeq":%d}}`, service, seq)
}

// asked reads a clientService/handleRequest and returns the relay's id for it. rest is what follows the
// sender, timeoutMs included.
func (p *peer) asked(service, sender, rest string) string {
	p.t.Helper()
	line := p.line()
	id, ok := relayID(line)
	want := `{"jsonrpc":"2.0","id":` + id + `,"method":"clientService/handleRequest","params":{"channel":"ahp-client-services://","serviceId":"` + service + `","senderClientId":"` + sender + `",` + rest + `}}`
	if !ok || line != want {
		p.t.Fatalf("got  %s\nwant %s", line, want)
	}
	return id
}

// relayID is the id of a line, which must be a JSON integer in 1 … 2^53-1.
func relayID(line string) (string, bool) {
	id, ok := strings.CutPrefix(line, `{"jsonrpc":"2.0","id":`)
	id, _, found := strings.Cut(id, ",")
	n, err := strconv.ParseUint(id, 10, 64)
	return id, ok && found && err == nil && n >= 1 && n < 1<<53 && strconv.FormatUint(n, 10) == id
}
