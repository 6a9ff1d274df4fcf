package loop

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ahprelay/ahprelay/relay"
)

// gnet keeps one pool of workers for the life of the process.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"))
}

// serve runs a server on a free port until the test ends.
func serve(t testing.TB, change func(*Config)) (*Server, string) {
	t.Helper()
	config := Config{Listen: []string{"tcp://127.0.0.1:0"}, Relay: relay.DefaultConfig(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if change != nil {
		change(&config)
	}
	s, err := Listen(config)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return s, s.Addrs()[0].String()
}

// peer is a raw client: it writes lines and reads lines.
type peer struct {
	net.Conn
	t testing.TB
	r *bufio.Reader
}

func dial(t testing.TB, addr string) *peer {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &peer{Conn: c, t: t, r: bufio.NewReaderSize(c, 1<<20)}
}

func (p *peer) send(lines ...string) {
	p.t.Helper()
	if _, err := io.WriteString(p.Conn, strings.Join(lines, "\n")+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) line() string {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(10 * time.Second))
	line, err := p.r.ReadString('\n')
	if err != nil {
		p.t.Fatalf("reading a line: %v (got %q)", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

func (p *peer) expect(want string) {
	p.t.Helper()
	if got := p.line(); got != want {
		p.t.Fatalf("got  %s\nwant %s", got, want)
	}
}

func (p *peer) eof() {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(10 * time.Second))
	if b, err := io.ReadAll(p.r); err != nil || len(b) != 0 {
		p.t.Fatalf("want EOF, got %q, %v", b, err)
	}
}

// hello makes a raw client that is initialized.
func hello(t testing.TB, addr, clientID string) *peer {
	t.Helper()
	p := dial(t, addr)
	p.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":"` + clientID + `"}}`)
	if line := p.line(); !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"1.0.0",`) {
		t.Fatalf("initialize: %s", line)
	}
	return p
}

// register makes a service and returns its id.
func (p *peer) register(metadata string) string {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":"r","method":"client/registerService","params":{"metadata":` + metadata + `}}`)
	line := p.line()
	const head = `{"jsonrpc":"2.0","id":"r","result":{"serviceId":"`
	if !strings.HasPrefix(line, head) {
		p.t.Fatalf("register: %s", line)
	}
	return strings.TrimSuffix(line[len(head):], `"}}`)
}

func TestNotificationAndRequest(t *testing.T) {
	_, addr := serve(t, nil)
	owner, caller := hello(t, addr, "owner"), hello(t, addr, "caller")
	id := owner.register(`{"protocol":"echo"}`)
	caller.send(`{"jsonrpc":"2.0","method":"clientService/notify","params":{"serviceId":"`+id+`","method":"hi","params":{"a": 1.0}}}`,
		`{"jsonrpc":"2.0","id":1e3,"method":"clientService/request","params":{"serviceId":"`+id+`","method":"ask","params":[1]}}`)
	owner.expect(`{"jsonrpc":"2.0","method":"clientService/notification","params":{"channel":"ahp-client-services://","serviceId":"` + id + `","senderClientId":"caller","method":"hi","params":{"a": 1.0}}}`)
	line := owner.line()
	if !strings.HasSuffix(line, `,"method":"clientService/handleRequest","params":{"channel":"ahp-client-services://","serviceId":"`+id+`","senderClientId":"caller","method":"ask","params":[1],"timeoutMs":30000}}`) {
		t.Fatal(line)
	}
	relayID := line[len(`{"jsonrpc":"2.0","id":`):strings.Index(line, `,"method"`)]
	owner.send(`{"jsonrpc":"2.0","id":` + relayID + `,"result":{"b":2}}`)
	caller.expect(`{"jsonrpc":"2.0","id":1e3,"result":{"b":2}}`)
}

func TestHalfCloseStillGetsAnswers(t *testing.T) {
	_, addr := serve(t, nil)
	p := hello(t, addr, "a")
	var lines []string
	for range 5000 {
		lines = append(lines, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	}
	p.send(lines...)
	_ = p.Conn.(*net.TCPConn).CloseWrite()
	for range 5000 {
		p.expect(`{"jsonrpc":"2.0","id":1,"result":null}`)
	}
	p.eof()
}
