package loop

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahprelay/ahprelay/relay"
)

const (
	resource  = "https://relay.example"
	gitToken  = "git's secret"
	userToken = "user's secret"
)

func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// withPrincipals configures a provider and a user with tokens, and requires authentication.
func withPrincipals(c *Config) {
	c.Relay.Auth = relay.Auth{Required: true, Resource: resource, ResourceName: "the relay"}
	c.Relay.Principals = []relay.Principal{
		{Name: "git", TokenSHA256: tokenHash(gitToken), ClientIDs: []string{"git-*"}, Register: []string{"git-*"}},
		{Name: "user", TokenSHA256: tokenHash(userToken), Discover: []string{"git/git-*"}, Notify: []string{"git/*"}, Request: []string{"git/*"}},
	}
}

const authRequiredData = `"resources":[{"resource":"` + resource + `","resource_name":"the relay"}]}`

func authenticate(token string) string {
	return `{"jsonrpc":"2.0","id":"auth","method":"authenticate","params":{"channel":"ahp-root://","resource":"` + resource + `","token":"` + token + `"}}`
}

// login makes an initialized and authenticated client.
func login(t *testing.T, addr, clientID, token string) *peer {
	t.Helper()
	p := hello(t, addr, clientID)
	p.send(authenticate(token))
	p.expect(result(`"auth"`, `{}`))
	return p
}

// from is a sender with its principal, as AppendNotification and its like stamp it.
func from(clientID, principal string) string { return clientID + `","senderPrincipal":"` + principal }

func TestAuthenticateWithAToken(t *testing.T) {
	var log journal
	s := run(t, func(c *Config) { withPrincipals(c); c.Logger = journalLogger(&log) })
	owner := login(t, s.addr, "git-1", gitToken)
	id := owner.register(`{"protocol":"git-object-reader"}`)

	user := hello(t, s.addr, "user-1")
	refused := func(id string) string {
		return failure(id, -32007, "authentication required", `{"delivered":"never",`+authRequiredData)
	}
	user.send(notify(id, `"method":"m"`), request("1", id, `"method":"m"`), registerHead+`{}}}`, subscribeLine)
	user.expect(refused("1"), refused(`"r"`), failure(`"s"`, -32007, "authentication required", `{`+authRequiredData))
	owner.quiet()
	bad := failure(`"auth"`, -32007, "the token is not valid", `{`+authRequiredData)
	user.send(authenticate("guess"), authenticate(gitToken+" "), `{"jsonrpc":"2.0","id":"auth","method":"authenticate","params":{"resource":"https://other.example","token":"x"}}`)
	user.expect(bad, bad, failure(`"auth"`, -32602, "no such resource", `{`+authRequiredData))
	user.send(authenticate(gitToken))
	user.expect(failure(`"auth"`, -32009, "clientId is not this principal's to use", ""))

	user.send(authenticate(userToken), notify(id, `"method":"m"`), request("1", id, `"method":"m"`), registerHead+`{"protocol":"git-fake"}}}`)
	user.expect(result(`"auth"`, `{}`), failure(`"r"`, -32009, "permission denied", ""))
	owner.expect(notified(id, from("user-1", "user"), `"method":"m","params":null`))
	owner.send(result(owner.asked(id, from("user-1", "user"), asked), `1`))
	user.expect(result("1", `1`))
	if text := log.String(); strings.Contains(text, "secret") || strings.Contains(text, "guess") {
		t.Errorf("a token is in the log: %s", text)
	}
}

// The fifth token that is not valid closes the connection.
func TestGuessingTokens(t *testing.T) {
	s := run(t, withPrincipals)
	p := dial(t, s.addr)
	for i := range 5 {
		p.send(authenticate(fmt.Sprint("guess", i)))
		p.expect(failure(`"auth"`, -32007, "the token is not valid", `{`+authRequiredData))
	}
	p.expect(closing("authentication", "too many tokens were not valid"))
	p.eof()
}

// Whoever has not authenticated cannot keep a clientId from whom it belongs to.
func TestSquattingOnAClientID(t *testing.T) {
	s := run(t, withPrincipals)
	squatter := hello(t, s.addr, "git-1")
	owner := login(t, s.addr, "git-1", gitToken)
	owner.register(`{"protocol":"git-x"}`)
	squatter.send(authenticate(userToken))
	squatter.expect(failure(`"auth"`, -32009, "clientId is not this principal's to use", ""))
	squatter.quiet()
	owner.quiet()
}

// Over a Unix socket the principal is that of the peer's user id, over TCP beside it nobody's.
func TestPrincipalOfAUnixSocket(t *testing.T) {
	uid, all := os.Getuid(), []string{"*"}
	path := filepath.Join(t.TempDir(), "relay.sock")
	s := run(t, func(c *Config) {
		c.Listen = append(c.Listen, "unix://"+path)
		c.Relay.Principals = []relay.Principal{{Name: "me", UID: &uid, Register: all, Discover: all, Notify: all, Request: all}}
	})
	owner, other := dialWith(t, "unix", path, 0), dialWith(t, "unix", path, 0)
	owner.initialize("owner")
	other.initialize("other")
	id := owner.register(`{"protocol":"p"}`)
	other.send(notify(id, `"method":"m"`))
	owner.expect(notified(id, from("other", "me"), `"method":"m","params":null`))

	stranger := hello(t, s.addr, "stranger")
	stranger.send(notify(id, `"method":"m"`), request("1", id, `"method":"m"`), registerHead+`{"protocol":"p"}}}`, subscribeLine)
	stranger.expect(failure("1", -32008, "no such service", notFound), failure(`"r"`, -32009, "permission denied", ""))
	if line := stranger.line(); !strings.Contains(line, `"state":{"services":[]}`) {
		t.Error(line)
	}
	owner.quiet()
}

// A reload takes effect on connections that are there: in the order of the contract, and whole or not at all.
func TestReload(t *testing.T) {
	s := run(t, withPrincipals)
	owner, user := login(t, s.addr, "git-1", gitToken), login(t, s.addr, "user-1", userToken)
	id := owner.register(`{"protocol":"git-object-reader"}`)
	user.send(subscribeLine)
	user.line()
	user.send(request("1", id, `"method":"m"`))
	relayID := owner.asked(id, from("user-1", "user"), asked)

	bad := s.config.Relay
	bad.Principals = append(bad.Principals[:2:2], relay.Principal{Name: "git", TokenSHA256: "zz"})
	want := "principal \"git\": configured twice\nprincipal \"git\": token_sha256 must be 64 hexadecimal digits"
	if err := s.Reload(bad); err == nil || err.Error() != want {
		t.Errorf("a bad configuration: %v", err)
	}
	fixed := s.config.Relay
	fixed.Limits.SlotsMax++
	if err := s.Reload(fixed); err == nil || !strings.Contains(err.Error(), "slots_max") {
		t.Errorf("another size of a table: %v", err)
	}
	user.quiet()
	owner.quiet()

	// The user may no longer ask.
	next := s.config.Relay
	next.Principals = []relay.Principal{next.Principals[0], next.Principals[1]}
	next.Principals[1].Request = nil
	if err := s.Reload(next); err != nil {
		t.Fatal(err)
	}
	user.expect(failure("1", -32009, "the right was withdrawn", maybe))
	owner.expect(cancelRequest(relayID))
	user.send(request("1", id, `"method":"m"`), notify(id, `"method":"m"`))
	user.expect(failure("1", -32009, "permission denied", notFound))
	owner.expect(notified(id, from("user-1", "user"), `"method":"m","params":null`))

	// The provider's credential is gone: it is told, its service goes, whoever saw it hears of that.
	seq := s.gauges().Seq
	last := next
	last.Principals = next.Principals[1:]
	if err := s.Reload(last); err != nil {
		t.Fatal(err)
	}
	owner.expect(`{"jsonrpc":"2.0","method":"auth/required","params":{"channel":"ahp-root://","resource":"` + resource + `","reason":"expired"}}`)
	user.expect(actionRemoved(id, seq+1))
	owner.send(registerHead+`{"protocol":"git-x"}}}`, authenticate(gitToken))
	owner.expect(failure(`"r"`, -32007, "authentication required", `{"delivered":"never",`+authRequiredData), failure(`"auth"`, -32007, "the token is not valid", `{`+authRequiredData))
	user.send(request("1", id, `"method":"m"`))
	user.expect(failure("1", -32008, "no such service", notFound))
	user.quiet()
}

// A configuration that asks for more connections than there can be files may be loaded again.
func TestReloadWithMoreConnectionsThanFiles(t *testing.T) {
	const asked = 1 << 22
	s := run(t, func(c *Config) { c.Relay.Limits.ConnectionsMax = asked })
	for _, max := range []int{asked, 0, s.config.Relay.Limits.ConnectionsMax} {
		next := s.config.Relay
		next.Limits.ConnectionsMax = max
		if err := s.Reload(next); err != nil {
			t.Errorf("connections_max %d: %v", max, err)
		}
	}
	next := s.config.Relay
	next.Limits.ConnectionsMax = asked - 1
	if err := s.Reload(next); err == nil {
		t.Error("connections_max was changed")
	}
}

// A cached way to a service does not outlive the right to use it.
func TestRightsAreCheckedPerMessage(t *testing.T) {
	s := run(t, withPrincipals)
	owner, user := login(t, s.addr, "git-1", gitToken), login(t, s.addr, "user-1", userToken)
	id := owner.register(`{"protocol":"git-x"}`)
	granted := s.config.Relay
	revoked := granted
	revoked.Principals = []relay.Principal{granted.Principals[0], granted.Principals[1]}
	revoked.Principals[1].Notify = nil
	for i := range 5 {
		m := fmt.Sprintf(`"method":"m","params":{"n":%d}`, i)
		user.send(notify(id, m))
		owner.expect(notified(id, from("user-1", "user"), m))
		if err := s.Reload(revoked); err != nil {
			t.Fatal(err)
		}
		user.send(notify(id, m))
		user.quiet()
		owner.quiet()
		if err := s.Reload(granted); err != nil {
			t.Fatal(err)
		}
	}
	if k := s.counters(); k.NotifyDropped[relay.DropNotAllowed] != 5 || k.NotifyForwarded != 5 {
		t.Errorf("forwarded %d, dropped %v", k.NotifyForwarded, k.NotifyDropped)
	}
}
