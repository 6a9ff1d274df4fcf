package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/ahprelay/ahprelay/relay"
)

const anonymous = "anonymous"

// principals lists the principals of a configuration, "anonymous" always among them: without
// configuration it may do everything, else nothing unless it is configured.
func principals(config *relay.Config) []relay.Principal {
	list := slices.Clone(config.Principals)
	for _, p := range list {
		if p.Name == anonymous {
			return list
		}
	}
	return append(list, *principalOf(config, anonymous))
}

var (
	all     = []string{"*"}
	anybody = relay.Principal{Name: anonymous, Register: all, Discover: all, Notify: all, Request: all}
	nobody  = relay.Principal{Name: anonymous}
)

func principalOf(config *relay.Config, name string) *relay.Principal {
	if name == anonymous && config.Auth.Required {
		return &nobody // it has to authenticate first
	}
	for i := range config.Principals {
		if config.Principals[i].Name == name {
			return &config.Principals[i]
		}
	}
	if len(config.Principals) == 0 {
		return &anybody
	}
	return &nobody
}

// identify tells who connects, by what the transport proves.
func (m *model) identify(info relay.PeerInfo) (principal, credential string) {
	for _, p := range m.config.Principals {
		if p.UID != nil && *p.UID == info.UID {
			return p.Name, "uid"
		}
		if p.ClientCert != "" && slices.Contains(info.CertNames, p.ClientCert) {
			return p.Name, "certificate"
		}
	}
	return anonymous, ""
}

// byToken tells whose a token is, "" for nobody's.
func (m *model) byToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	for _, p := range m.config.Principals {
		if p.TokenSHA256 != "" && strings.EqualFold(p.TokenSHA256, hex.EncodeToString(sum[:])) {
			return p.Name
		}
	}
	return ""
}

// shutOut reports whether c has to authenticate before it may use client services.
func (m *model) shutOut(c *conn) bool { return m.config.Auth.Required && c.credential == "" }

// reserves reports whether the clientId of c is its own while it lives: not for those who may do nothing.
func (m *model) reserves(c *conn) bool {
	if c.credential != "" || len(m.config.Principals) == 0 && !m.config.Auth.Required {
		return true
	}
	configured := false
	for _, p := range m.config.Principals {
		configured = configured || p.Name == anonymous
	}
	return configured && !m.config.Auth.Required
}

// mayBe reports whether a principal may use a clientId: by its globs, or one that nobody's globs claim.
func (m *model) mayBe(principal, client string) bool {
	own := principalOf(&m.config, principal)
	if own.ClientIDs != nil {
		return anyGlob(own.ClientIDs, client)
	}
	for _, p := range m.config.Principals {
		if anyGlob(p.ClientIDs, client) {
			return false
		}
	}
	return true
}

func anyGlob(list []string, s string) bool {
	for _, g := range list {
		if globMatch([]rune(g), []rune(s)) {
			return true
		}
	}
	return false
}

// globMatch is the definition of a glob.
func globMatch(pattern, s []rune) bool {
	if len(pattern) == 0 {
		return len(s) == 0
	}
	if pattern[0] == '*' {
		return globMatch(pattern[1:], s) || len(s) > 0 && globMatch(pattern, s[1:])
	}
	return len(s) > 0 && (pattern[0] == '?' || pattern[0] == s[0]) && globMatch(pattern[1:], s[1:])
}

// covers reports whether globs admit a protocol, with its owner where that counts.
func covers(list []string, owner, protocol string, named bool) bool {
	for _, g := range list {
		if g == "*" {
			return true
		}
		if !named {
			continue
		}
		text := protocol
		if owner != "" && strings.Contains(g, "/") {
			text = owner + "/" + protocol
		}
		if globMatch([]rune(g), []rune(text)) {
			return true
		}
	}
	return false
}

// rights are what a principal may do with a service.
type rights struct{ discover, notify, request bool }

func rightsOf(config *relay.Config, viewer, owner, protocol string, named bool) (r rights) {
	v, o := principalOf(config, viewer), principalOf(config, owner)
	if realm(v) != realm(o) {
		return r
	}
	return rights{covers(v.Discover, owner, protocol, named), covers(v.Notify, owner, protocol, named), covers(v.Request, owner, protocol, named)}
}

func realm(p *relay.Principal) string {
	if p.Realm == "" {
		return "default"
	}
	return p.Realm
}

// rights tells what c may do with s. An owner always sees what is its own.
func (m *model) rights(c *conn, s *service) rights {
	r := rightsOf(&m.config, c.principal, s.owner.principal, s.protocol, s.named)
	r.discover = r.discover || s.owner == c
	return r
}

func (m *model) mayRegister(principal, protocol string, named bool) bool {
	return covers(principalOf(&m.config, principal).Register, "", protocol, named)
}
