package relay

import (
	"crypto/sha256"
	"crypto/subtle"

	"github.com/ahprelay/ahprelay/codec"
)

// identify makes p a connection of a principal.
func (c *Core) identify(p *peer, principal int32, cred credential) {
	pr := &c.policy.principals[principal]
	p.principal, p.cred, p.usage, p.label = principal, cred, c.usages[pr.usage], nil
	p.prefix.forget()
	if cred.kind != credentialNone {
		p.label = pr.label
	}
}

// anonymous reports whether p still has to authenticate before it may use client services.
func (c *Core) anonymous(p *peer) bool {
	return c.config.Auth.Required && p.cred.kind == credentialNone
}

// reserves reports whether p's clientId is its own as long as it lives: whoever may do nothing yet
// cannot keep others from theirs.
func (c *Core) reserves(p *peer) bool {
	return p.cred.kind != credentialNone || !c.config.Auth.Required && !c.policy.powerless
}

// authenticate handles a bearer token, before the handshake or after it.
func (c *Core) authenticate(p *peer, id, params []byte) {
	var v [3][]byte
	if !members(params, []string{"channel", "resource", "token"}, v[:]) || v[0] != nil && !isString(v[0], codec.ChannelRoot) {
		c.fail(p, id, codec.CodeInvalidParams, "", nil)
		return
	}
	if codec.KindOf(v[1]) != codec.String || codec.KindOf(v[2]) != codec.String {
		c.fail(p, id, codec.CodeInvalidParams, "resource and token must be strings", nil)
		return
	}
	if !isString(v[1], c.config.Auth.Resource) {
		c.fail(p, id, codec.CodeInvalidParams, "no such resource", c.authData(""))
		return
	}
	token, _ := codec.Unquote(nil, v[2])
	cred := credential{kind: credentialToken, token: sha256.Sum256(token)}
	principal, ok := c.policy.byToken(cred.token)
	if !ok {
		p.failures++
		c.fail(p, id, codec.CodeAuthRequired, "the token is not valid", c.authData(""))
		if p.failures >= authFailuresMax {
			c.condemn(p, ReasonAuthentication, "too many tokens were not valid")
		}
		return
	}
	if p.state == stateOpen && !c.policy.mayBe(principal, p.clientID) {
		c.fail(p, id, codec.CodePermissionDenied, "clientId is not this principal's to use", nil)
		return
	}
	if holder := c.clients[p.clientID]; p.state == stateOpen && holder != nil && holder != p {
		c.fail(p, id, codec.CodeAlreadyExists, "clientId is in use", nil)
		return
	}
	u := c.usages[c.policy.principals[principal].usage]
	if u != p.usage && !u.connections.Fits(1) {
		c.note(p, NoteLimit, "connectionsPerPrincipal", "authentication refused")
		c.fail(p, id, codec.CodeLimit, "", limitData("", "connectionsPerPrincipal"))
		return
	}
	c.reply(p, id, []byte("{}"))
	c.become(p, principal, cred)
}

// become gives a live connection another principal, with all that follows from it.
func (c *Core) become(p *peer, principal int32, cred credential) {
	if p.state == stateOpen {
		c.clients[p.clientID] = p
	}
	changed := p.principal != principal
	if changed && (p.owned.Len > 0 || p.observer >= 0 || p.inflight.Used > 0) {
		c.regrade(c.policy, func(q *peer) (int32, credential) {
			if q == p {
				return principal, cred
			}
			return q.principal, q.cred
		}, p)
	} else {
		c.transfer(p, principal, cred)
	}
	if changed {
		c.rightsMoved(p)
	}
	c.rearm(p)
}

// authData is the data of -32007: what has to be authenticated for, in RFC 9728's names.
func (c *Core) authData(delivered string) []byte {
	b := []byte("{")
	if delivered != "" {
		b = append(codec.AppendQuoted(append(b, `"delivered":`...), delivered), ',')
	}
	name := c.config.Auth.ResourceName
	if name == "" {
		name = "ahprelay"
	}
	b = codec.AppendQuoted(append(b, `"resources":[{"resource":`...), c.config.Auth.Resource)
	b = codec.AppendQuoted(append(b, `,"resource_name":`...), name)
	return append(b, "}]}"...)
}

func equalSecret(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// limitData is the data of a refusal: whether the owner can have seen the request, and which limit it
// ran into. An empty argument is left out.
func limitData(delivered, limit string) []byte {
	switch {
	case limit == "":
		return []byte(`{"delivered":"` + delivered + `"}`)
	case delivered == "":
		return []byte(`{"limit":"` + limit + `"}`)
	}
	return []byte(`{"delivered":"` + delivered + `","limit":"` + limit + `"}`)
}
