package loop

import (
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// A web page can make a browser post to the port. The relay reads no further than the first line.
func TestWebPagePostsToThePort(t *testing.T) {
	s := run(t, nil)
	owner := hello(t, s.addr, "owner")
	id := owner.register(`{}`)
	before := s.counters().FramesIn
	body := strings.Join([]string{initialize("page"), notify(id, `"method":"m"`), request("1", id, `"method":"m"`)}, "\n") + "\n"
	for _, head := range []string{"POST / HTTP/1.1\r\n", "OPTIONS / HTTP/1.1\r\n", "{}\n", "[]\n", "\"POST\"\n", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n"} {
		p := dial(t, s.addr)
		post := head + "Host: " + s.addr + "\r\nContent-Type: text/plain\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
		if _, err := io.WriteString(p, post); err != nil {
			t.Fatal(err)
		}
		switch head[0] {
		case 'P', 'O':
			p.expect(failure("null", -32700, "parse error", ""))
		case '{':
			if head != "{}\n" {
				break // an answer draws none
			}
			fallthrough
		default:
			p.expect(failure("null", -32600, "invalid request", ""))
		}
		p.expect(closing("protocolErrors", "not a JSON-RPC 2.0 message"))
		p.eof()
		if after := s.counters().FramesIn; after != before+1 {
			t.Errorf("%d lines of the post were read", after-before)
		}
		before++
	}
	owner.quiet()
}

// What the relay has to say before it closes survives whatever its peer goes on sending: no reset eats it.
func TestClosingSurvivesUnreadInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "relay.sock")
	s := run(t, func(c *Config) {
		c.Listen = append(c.Listen, "unix://"+path)
		c.Relay.Limits.ProtocolErrorsMax = 3
	})
	junk := strings.Repeat("junk "+strings.Repeat("x", 1000)+"\n", 8<<10)
	for _, c := range []struct{ network, addr string }{{"tcp", s.addr}, {"unix", path}} {
		p := dialWith(t, c.network, c.addr, 0)
		p.initialize("a")
		sent := make(chan error, 1)
		go func() {
			_, err := io.WriteString(p, junk) // 8 MiB, all at once
			sent <- err
		}()
		for range 3 {
			p.expect(failure("null", -32700, "parse error", ""))
		}
		p.expect(closing("protocolErrors", "too many lines broke the protocol"))
		p.eof()
		if err := <-sent; err != nil {
			t.Error(err)
		}
		_ = p.Close()
		s.until("it is gone", func(core *relay.Core) bool { return core.Peers() == 0 })
	}
	if k := s.counters(); k.Closed[relay.ReasonProtocolErrors] != 2 {
		t.Errorf("closed: %v", k.Closed)
	}
}

// The relay waits a second for the other side's end, not longer.
func TestLingeringEnds(t *testing.T) {
	s := run(t, nil)
	p := dial(t, s.addr)
	p.send("junk")
	p.expect(failure("null", -32700, "parse error", ""), closing("protocolErrors", "not a JSON-RPC 2.0 message"))
	p.eof()
	if n := s.gauges().Connections; n != 1 {
		t.Errorf("%d connections while it lingers", n)
	}
	s.until("the connection is closed", func(core *relay.Core) bool { return core.Peers() == 0 })
}

func TestUnsupportedVersionIsExplained(t *testing.T) {
	s := run(t, nil)
	p := dial(t, s.addr)
	p.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersions":["2.0.0","0.2.9"],"clientId":"a"}}`)
	p.expect(failure("0", -32005, "unsupported protocol version", `{"supportedVersions":["^1.0.0","^0.9.0","^0.8.0","^0.7.0","^0.6.0","^0.5.0","^0.4.0","^0.3.0"]}`),
		closing("unsupportedVersion", "none of the offered protocol versions is supported"))
	p.eof()
}

func TestHandshakeTimeout(t *testing.T) {
	s := run(t, func(c *Config) { c.Relay.Limits.HandshakeTimeout = 500 * time.Millisecond })
	silent, pinging := dial(t, s.addr), dial(t, s.addr)
	pinging.quiet()
	for _, p := range []*peer{silent, pinging} {
		p.expect(closing("handshakeTimeout", "no handshake within 500ms"))
		p.eof()
	}
	p := hello(t, s.addr, "a")
	p.quiet()
	if k := s.counters(); k.Closed[relay.ReasonHandshakeTimeout] != 2 {
		t.Errorf("closed: %v", k.Closed)
	}
}

func TestIdleTimeout(t *testing.T) {
	s := run(t, func(c *Config) { c.Relay.Limits.IdleTimeout = 50 * time.Millisecond })
	p := hello(t, s.addr, "a")
	p.expect(closing("idle", "nothing was sent for 50ms"))
	p.eof()
}

// Beyond connections_max the first request is refused, and who sends none is told so after a while.
func TestSurplusConnections(t *testing.T) {
	s := run(t, func(c *Config) { c.Relay.Limits.ConnectionsMax = 1 })
	only := hello(t, s.addr, "only")
	silent, asking := dial(t, s.addr), dial(t, s.addr)
	asking.send(`{"jsonrpc":"2.0","method":"clientService/notify","params":{}}`, initialize("b"), initialize("b"))
	asking.expect(refusedFirst, closing("connectionLimit", tooMany))
	asking.eof()
	silent.expect(closing("connectionLimit", tooMany))
	silent.eof()
	only.quiet()
	_, _, _ = only.Close(), silent.Close(), asking.Close()
	s.until("there is room", func(core *relay.Core) bool { return core.Peers() == 0 })
	hello(t, s.addr, "next").quiet()
}

// At most 64 surplus connections wait for their refusal; the others are closed at once.
func TestSurplusOfTheSurplus(t *testing.T) {
	s := run(t, func(c *Config) { c.Relay.Limits.ConnectionsMax = 1 })
	hello(t, s.addr, "only")
	var waiting []*peer
	for range 64 {
		waiting = append(waiting, dial(t, s.addr))
	}
	s.until("they wait", func(core *relay.Core) bool { return core.Peers() == 65 })
	dial(t, s.addr).eof()
	for _, p := range waiting {
		p.send(initialize("b"))
		p.expect(refusedFirst, closing("connectionLimit", tooMany))
		_ = p.Close()
	}
	if k := s.counters(); k.Refused != 1 || k.Closed[relay.ReasonConnectionLimit] != 64 {
		t.Errorf("refused %d, closed %v", k.Refused, k.Closed)
	}
}
