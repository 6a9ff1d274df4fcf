package loop

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

func overWebSocket(c *Config) { c.Listen = []string{"ws://127.0.0.1:0"} }

// openRaw connects to a server's first listener.
func openRaw(t testing.TB, s *server) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c
}

// socketTo makes a client of a server whose first listener is ws://.
func socketTo(t testing.TB, s *server) (*peer, *socketPeer) {
	t.Helper()
	c := openRaw(t, s)
	socket, err := openSocket(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := newPeer(t, socket)
	p.base = c
	return p, socket
}

// raw writes bytes below the frames.
func (p *socketPeer) raw(t testing.TB, frames ...[]byte) {
	t.Helper()
	if _, err := p.Conn.Write(slices.Concat(frames...)); err != nil {
		t.Fatal(err)
	}
}

const ping7 = `{"jsonrpc":"2.0","id":7,"method":"ping"}`

func TestWebSocketMessages(t *testing.T) {
	s := run(t, overWebSocket)
	p, socket := socketTo(t, s)
	text := func(final bool, payload string) []byte {
		head := byte(opcodeText)
		if final {
			head |= frameFinal
		}
		return appendFrame(nil, head, []byte(payload))
	}
	more := func(final bool, payload string) []byte {
		f := text(final, payload)
		f[0] &^= opcodeText
		return f
	}
	pinged := func(payload string) []byte { return appendFrame(nil, frameFinal|opcodePing, []byte(payload)) }
	pong := appendFrame(nil, frameFinal|opcodePong, []byte("unasked for"))
	p.initialize("a")
	// Blank messages are ignored; line feeds and carriage returns at the ends are no part of a message.
	socket.raw(t, text(true, ""), text(true, ping7+"\n"), text(true, "\r"), text(true, ping7+"\r\n"))
	p.expect(result("7", "null"), result("7", "null"))
	// In fragments, empty ones too, with control frames between.
	socket.raw(t, text(false, ""), more(false, ping7[:3]), pinged("1"), more(false, ""), pong, more(true, ping7[3:]))
	p.expect(result("7", "null"))
	socket.raw(t, text(false, ping7), more(true, ""), pinged(strings.Repeat("x", controlMax)))
	p.expect(result("7", "null"))
	p.quiet()
	if want := []string{"1", strings.Repeat("x", controlMax)}; !slices.Equal(socket.pongs, want) {
		t.Errorf("the pongs say %q", socket.pongs)
	}
	// White space between tokens may hold line feeds, strings may not.
	id := p.register(`{}`)
	socket.raw(t, text(true, notify(id, "\"method\":\"m\",\n\"params\":[\n 1,\r\n2 ]")))
	p.expect(notified(id, "a", "\"method\":\"m\",\"params\":[\r 1,\r\r2 ]"))
	socket.raw(t, text(true, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"pi\nng\"}"), text(true, "\xff"), text(true, "{"))
	bad := failure("null", -32700, "parse error", "")
	p.expect(bad, bad, bad)
	// Byte by byte.
	for _, b := range slices.Concat(text(true, ping7), pinged("slow"), text(true, strings.Repeat(" ", 300)+ping7)) {
		socket.raw(t, []byte{b})
	}
	p.expect(result("7", "null"), result("7", "null"))
}

func TestWebSocketViolations(t *testing.T) {
	s := run(t, overWebSocket)
	masked := func(head byte, payload string) []byte { return appendFrame(nil, head, []byte(payload)) }
	begun := masked(opcodeText, "{")
	unmasked := append([]byte{frameFinal | opcodeText, byte(len(ping7))}, ping7...)
	for _, c := range []struct {
		message string
		frames  []byte
	}{
		{"a binary message", masked(frameFinal|opcodeBinary, ping7)},
		{"a binary message", slices.Concat(begun, masked(frameFinal|opcodeBinary, ping7))},
		{"a WebSocket frame without a mask", unmasked},
		{"a WebSocket frame with reserved bits", masked(frameFinal|0x40|opcodeText, ping7)},
		{"a WebSocket frame of an unknown kind", masked(frameFinal|3, ping7)},
		{"a WebSocket frame of an unknown kind", masked(frameFinal|0xB, "")},
		{"a WebSocket control frame that is too long or not whole", masked(opcodePing, "")},
		{"a WebSocket control frame that is too long or not whole", masked(frameFinal|opcodePing, strings.Repeat("x", controlMax+1))},
		{"a message within a message", slices.Concat(begun, masked(frameFinal|opcodeText, ping7))},
		{"the rest of a message that has not begun", masked(frameFinal, ping7)},
		{"a WebSocket close frame with half a status code", masked(frameFinal|opcodeClose, "x")},
	} {
		for _, handshake := range []bool{false, true} {
			p, socket := socketTo(t, s)
			if handshake {
				p.initialize("a")
			}
			socket.raw(t, masked(frameFinal|opcodeText, ping7), c.frames, bytes.Repeat([]byte("and more"), 10000))
			p.expect(result("7", "null"), closing("protocolErrors", c.message))
			p.eof()
			if socket.code != 1002 || socket.reason != "protocolErrors" {
				t.Errorf("%s: closed with %d %q", c.message, socket.code, socket.reason)
			}
			_ = p.Close()
		}
	}
	if k := s.counters(); k.Closed[relay.ReasonProtocolErrors] != 22 {
		t.Errorf("closed: %v", k.Closed)
	}
}

// Whatever is sent instead of frames, the connection ends and nothing is left.
func TestWebSocketGarbage(t *testing.T) {
	s := run(t, overWebSocket)
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		_, socket := socketTo(t, s)
		junk := make([]byte, random.IntN(200))
		for i := range junk {
			junk[i] = byte(random.Uint32())
		}
		socket.raw(t, junk)
		if random.IntN(2) == 0 {
			_ = socket.CloseWrite()
		}
		_ = socket.Conn.(*net.TCPConn).CloseWrite()
		if b, err := io.ReadAll(socket.Conn); err != nil {
			t.Fatalf("after %x: %q, %v", junk, b, err)
		}
	}
}

// The status code of the close frame says what the closing message does, as far as there is one for it.
func TestWebSocketCloseCodes(t *testing.T) {
	s := run(t, func(c *Config) {
		overWebSocket(c)
		c.Relay.Limits.HandshakeTimeout, c.Relay.Limits.ConnectionsMax = 200*time.Millisecond, 1
	})
	check := func(socket *socketPeer, code uint16, reason string) {
		t.Helper()
		if socket.code != code || socket.reason != reason {
			t.Errorf("closed with %d %q, want %d %q", socket.code, socket.reason, code, reason)
		}
	}
	alone := func() { s.until("nobody is there", func(core *relay.Core) bool { return core.Peers() == 0 }) }
	silent, socket := socketTo(t, s)
	silent.expect(closing("handshakeTimeout", "no handshake within 200ms"))
	silent.eof()
	check(socket, 1008, "handshakeTimeout")
	_ = silent.Close()
	alone()

	p, socket := socketTo(t, s)
	p.initialize("a")
	surplus, more := socketTo(t, s)
	surplus.send(initialize("b"))
	surplus.expect(refusedFirst, closing("connectionLimit", tooMany))
	surplus.eof()
	check(more, 1013, "connectionLimit")
	if _, err := io.WriteString(p, strings.Repeat(" ", 2<<20)); err != nil {
		t.Fatal(err)
	}
	p.expect(closing("frameTooLarge", "a line is longer than the limit"))
	p.eof()
	check(socket, 1009, "frameTooLarge")
	_, _ = p.Close(), surplus.Close()
	alone()

	p, socket = socketTo(t, s)
	p.initialize("a")
	p.send(ping7)
	p.closeWrite()
	p.expect(result("7", "null"))
	p.eof()
	check(socket, 1000, "")
	alone()

	p, socket = socketTo(t, s)
	p.initialize("a")
	s.Drain()
	p.shutdown(10 * time.Second)
	p.eof()
	check(socket, 1001, "shutdown")
	_ = p.Close()
	s.wait()
}

// A message that is longer than an edge holds is one message in fragments; shorter ones are never cut.
func TestWebSocketFragments(t *testing.T) {
	s := run(t, overWebSocket)
	p, socket := socketTo(t, s)
	p.initialize("a")
	id := p.register(`{}`)
	for _, size := range []int{0, 1, 125, 126, 127, 65535, 65536, outletBytes, outletBytes + 1, 1000000} {
		rest := `"method":"m","params":"` + strings.Repeat("x", size) + `"`
		p.send(notify(id, rest))
		p.expect(notified(id, "a", rest))
	}
	if socket.frames < 2+10+10 {
		t.Errorf("%d frames: the longest message came in one", socket.frames)
	}
	socket.frames = 0
	rest := `"method":"m","params":"` + strings.Repeat("x", 1000) + `"`
	go func() { _ = p.trySend(slices.Repeat([]string{notify(id, rest)}, 2000)...) }()
	for range 2000 {
		p.expect(notified(id, "a", rest))
	}
	if socket.frames != 2000 {
		t.Errorf("%d frames for 2000 messages", socket.frames)
	}
}

func TestWebSocketRequests(t *testing.T) {
	s := run(t, func(c *Config) {
		overWebSocket(c)
		c.Origins = []string{"https://app.example", "http://localhost:3000"}
	})
	const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	for _, c := range []struct {
		name, head string
		status     int
	}{
		{"no upgrade", "GET / HTTP/1.1\r\nHost: x\r\n", 426},
		{"post", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n" + upgrade, 405},
		{"old version", "GET / HTTP/1.1\r\nHost: x\r\n" + strings.Replace(upgrade, "13", "8", 1), 400},
		{"no key", "GET / HTTP/1.1\r\nHost: x\r\n" + upgrade[:strings.Index(upgrade, "Sec-WebSocket-Key")], 400},
		{"no origin", "GET /any/path?x HTTP/1.1\r\nHost: relay.example\r\n" + upgrade, 101},
		{"own address", "GET / HTTP/1.1\r\nHost: 127.0.0.1:7420\r\nOrigin: http://127.0.0.1:7420\r\n" + upgrade, 101},
		{"own address, six", "GET / HTTP/1.1\r\nHost: [::1]:7420\r\nOrigin: http://[::1]:7420\r\n" + upgrade, 101},
		{"localhost", "GET / HTTP/1.1\r\nHost: localhost:7420\r\nOrigin: http://LocalHost:7420\r\n" + upgrade, 101},
		{"configured", "GET / HTTP/1.1\r\nHost: x\r\nOrigin: https://app.example\r\n" + upgrade, 101},
		{"other port", "GET / HTTP/1.1\r\nHost: localhost:7420\r\nOrigin: http://localhost:8080\r\n" + upgrade, 403},
		{"other scheme than configured", "GET / HTTP/1.1\r\nHost: x\r\nOrigin: http://app.example\r\n" + upgrade, 403},
		{"foreign", "GET / HTTP/1.1\r\nHost: 127.0.0.1:7420\r\nOrigin: https://evil.example\r\n" + upgrade, 403},
		{"rebound name", "GET / HTTP/1.1\r\nHost: evil.example:7420\r\nOrigin: http://evil.example:7420\r\n" + upgrade, 403},
		{"opaque", "GET / HTTP/1.1\r\nHost: 127.0.0.1:7420\r\nOrigin: null\r\n" + upgrade, 403},
		{"empty", "GET / HTTP/1.1\r\nHost: 127.0.0.1:7420\r\nOrigin:\r\n" + upgrade, 403},
		{"two", "GET / HTTP/1.1\r\nHost: x\r\nOrigin: https://app.example\r\nOrigin: https://evil.example\r\n" + upgrade, 403},
	} {
		p := newPeer(t, openRaw(t, s))
		if _, err := io.WriteString(p, c.head+"\r\n"+strings.Repeat("x", 1000)); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(p.r, nil)
		if err != nil || answer.StatusCode != c.status {
			t.Errorf("%s: %v, %v", c.name, answer, err)
			continue
		}
		if c.status != 101 {
			_, _ = io.Copy(io.Discard, answer.Body)
			p.eof()
		}
		_ = p.Close()
	}
	for _, junk := range []string{"\n\n", "hello\r\n\r\n", "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 64<<10)} {
		p := newPeer(t, openRaw(t, s))
		_, _ = io.WriteString(p, junk)
		_, _ = io.ReadAll(p) // it ends
		_ = p.Close()
	}
}

// The handshake timeout holds from the accept on, whatever of a handshake has come by then; and the
// connections that do not get that far are counted.
func TestUnfinishedTransports(t *testing.T) {
	for _, c := range []struct{ scheme, said string }{{"ws", ""}, {"ws", "GET / HTTP/1.1\r\n"}, {"tls", ""}, {"tls", "\x16\x03\x01\x02"}, {"wss", ""}} {
		t.Run(c.scheme+strconv.Itoa(len(c.said)), func(t *testing.T) {
			t.Parallel()
			s := run(t, func(config *Config) {
				config.Listen = []string{c.scheme + "://127.0.0.1:0"}
				config.Certificates = authority().certificates(t, "relay", false)
				config.Relay.Limits.HandshakeTimeout, config.Relay.Limits.ConnectionsMax = 300*time.Millisecond, 2
			})
			var all []*peer
			for range 3 {
				p := newPeer(t, openRaw(t, s))
				_, _ = io.WriteString(p, c.said)
				all = append(all, p)
			}
			s.until("all are counted", func(core *relay.Core) bool { return core.Peers() == 3 })
			for _, p := range all {
				p.eof()
			}
			s.until("all are gone", func(core *relay.Core) bool { return core.Peers() == 0 })
			if k := s.counters(); k.Closed[relay.ReasonHandshakeTimeout] != 2 || k.Closed[relay.ReasonConnectionLimit] != 1 {
				t.Errorf("closed: %v", k.Closed)
			}
		})
	}
}

// chunks is a reader that gives a few bytes at a time.
type chunks struct {
	rest   []byte
	random *rand.Rand
}

func (c *chunks) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 1+c.random.IntN(40))], c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// Messages are the same lines however the bytes come and whatever the size of the buffer.
func TestWebSocketReadsInPieces(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var frames []byte
		var want strings.Builder
		for range 1 + random.IntN(5) {
			message := ""
			for piece, last := 0, random.IntN(3); piece <= last; piece++ {
				payload := strings.Repeat("x\n", random.IntN(200)) + strings.Repeat("y", random.IntN(9))
				head := byte(opcodeText)
				if piece > 0 {
					head = opcodeMore
				}
				if piece == last {
					head |= frameFinal
				}
				frames = appendFrame(appendFrame(frames, head, []byte(payload)), frameFinal|opcodePong, []byte("between"))
				message += payload
			}
			want.WriteString(strings.ReplaceAll(message, "\n", "\r") + "\n")
		}
		w := &webSocket{edge: &edge{}, in: bufio.NewReaderSize(&chunks{frames, random}, 16+random.IntN(100))}
		var got strings.Builder
		for {
			b := make([]byte, 1+random.IntN(100))
			n, err := w.Read(b)
			got.Write(b[:n])
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if got.String() != want.String() {
			t.Fatalf("got  %q\nwant %q", got.String(), want.String())
		}
	}
}

// A server that is stopped takes with it the connections that are in the middle of something.
func TestStopEndsEveryEdge(t *testing.T) {
	for _, scheme := range []string{"ws", "tls", "wss"} {
		t.Run(scheme, func(t *testing.T) {
			s := run(t, func(c *Config) {
				tight(c)
				c.Listen, c.Certificates = []string{scheme + "://127.0.0.1:0"}, authority().certificates(t, "relay", false)
			})
			dialed := func(receiveBytes int) *peer {
				base := narrowed(t, "tcp", s.addr, receiveBytes)
				c, err := overTransport(scheme, base)
				if err != nil {
					t.Fatal(err)
				}
				return newPeer(t, c)
			}
			openRaw(t, s) // has not begun
			dialed(0)     // has not shaken hands
			idle, stuck, lingering := dialed(0), dialed(narrow), dialed(0)
			idle.initialize("idle")
			stuck.initialize("stuck")
			id := stuck.register(`{}`)
			flood(idle, []string{id}, 0, 20_000, func(int) {})
			lingering.send("junk")
			lingering.expect(failure("null", -32700, "parse error", ""), closing("protocolErrors", "not a JSON-RPC 2.0 message"))
			s.stop()
			s.edges.mu.Lock()
			defer s.edges.mu.Unlock()
			if len(s.edges.all) != 0 {
				t.Errorf("%d edges are left", len(s.edges.all))
			}
		})
	}
}
