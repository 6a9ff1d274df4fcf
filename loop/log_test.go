package loop

import (
	"strings"
	"testing"

	"github.com/ahprelay/ahprelay/relay"
)

// Whatever happens, the log holds no payload, metadata or token. Markers are planted in all of them.
func TestLogHoldsNoPayload(t *testing.T) {
	var log journal
	const marker = "MARKER"
	s := run(t, func(c *Config) {
		tight(c)
		c.Logger = journalLogger(&log)
		c.Relay.Limits.InflightPerConnectionMax, c.Relay.Limits.ProtocolErrorsMax = 1, 3
		c.Relay.Auth.Resource = resource
		all := []string{"*"}
		c.Relay.Principals = []relay.Principal{
			{Name: "anonymous", Register: all, Discover: all, Notify: all, Request: all},
			{Name: "known", TokenSHA256: tokenHash("TOKEN" + marker), Register: all, Discover: all, Notify: all, Request: all},
		}
	})
	owner, caller, stopped := hello(t, s.addr, "owner"), hello(t, s.addr, "caller"), helloNarrow(t, s.addr, "stopped")
	owner.send(authenticate("WRONG"+marker), authenticate("TOKEN"+marker))
	owner.expect(failure(`"auth"`, -32007, "the token is not valid", `{"resources":[{"resource":"`+resource+`","resource_name":"ahprelay"}]}`), result(`"auth"`, `{}`))
	id := owner.register(`{"protocol":"` + marker + `","x":"` + marker + `"}`)
	full := stopped.register(`{"protocol":"` + marker + `"}`)

	rest := `"method":"METHOD` + marker + `","params":{"x":"` + marker + `"}`
	caller.send(notify(id, rest), notify("none", rest), request("1", id, rest), request("2", id, rest), request(`"`+marker+`"`, "none", rest))
	caller.expect(limited("2", "inflightPerConnection"), failure(`"`+marker+`"`, -32008, "no such service", notFound))
	owner.expect(notified(id, "caller", rest))
	owner.send(failure(owner.asked(id, "caller", rest+`,"timeoutMs":30000`), -32050, marker, `"`+marker+`"`), registerHead+`{"m":"`+strings.Repeat(marker, 200)+`"}}}`)
	caller.expect(failure("1", -32603, "the service sent a malformed answer", `{"delivered":"maybe","error":{"code":-32050,"message":"MARKER","data":"MARKER"}}`))
	owner.expect(failure(`"r"`, -32602, "metadata is too long", ""))
	flood(caller, []string{full}, 0, 6000, func(int) {})
	caller.quiet()

	broken := hello(t, s.addr, "broken")
	for range 3 {
		broken.send(`{"` + marker)
		broken.expect(failure("null", -32700, "parse error", ""))
	}
	broken.expect(closing("protocolErrors", "too many lines broke the protocol"))
	long := hello(t, s.addr, "long")
	_ = long.trySend(strings.Repeat(marker, 20<<10))
	long.expect(closing("frameTooLarge", "a line is longer than the limit"))
	stranger := dial(t, s.addr)
	stranger.send("GET /" + marker + " HTTP/1.1")
	stranger.expect(failure("null", -32700, "parse error", ""), closing("protocolErrors", "not a JSON-RPC 2.0 message"))

	for _, p := range []*peer{owner, caller, stopped, broken, long, stranger} {
		_ = p.Close()
	}
	s.empty()
	s.stop()
	text := log.String()
	if strings.Contains(text, marker) {
		t.Errorf("a payload is in the log:\n%s", text)
	}
	for _, want := range []string{"msg=listening", "reason=protocolErrors", "reason=frameTooLarge", "limit=inflightPerConnection", "limit=queueSoftBytes", "client=broken", "principal=anonymous"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in the log:\n%s", want, text)
		}
	}
}
