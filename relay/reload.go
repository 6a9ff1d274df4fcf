package relay

import (
	"errors"
	"reflect"
	"time"

	"github.com/ahprelay/ahprelay/codec"
)

// errFixed says that a limit sizes a table and cannot change while the relay runs.
var errFixed = errors.New("connections_max, services_max, slots_max, replay_actions and resume_entries cannot change while the relay runs")

// Fixed reports, as an error, whether next differs from now in a limit that sizes a table.
func (l *Limits) Fixed(next *Limits) error {
	if l.ConnectionsMax != next.ConnectionsMax || l.ServicesMax != next.ServicesMax || l.SlotsMax != next.SlotsMax ||
		l.ReplayActions != next.ReplayActions || l.ResumeEntries != next.ResumeEntries {
		return errFixed
	}
	return nil
}

// Reload puts another configuration in force, whole or not at all: on an error nothing has changed.
func (c *Core) Reload(now time.Duration, config Config) error {
	if err := config.Limits.Validate(); err != nil {
		return err
	}
	if err := c.limits.Fixed(&config.Limits); err != nil {
		return err
	}
	next, err := c.compile(&config)
	if err != nil {
		return err
	}
	c.now = now
	c.counters.Reloads++
	same := reflect.DeepEqual(c.config.Principals, config.Principals) && c.config.Auth.Required == config.Auth.Required
	before := c.standings()
	c.adopt(config)
	c.replay.Limit(c.limits.CatalogBytesMax)
	for _, p := range c.peers {
		p.inflight.Max = c.limits.InflightPerConnectionMax
	}
	for s := c.services.First; s != nil; s = s.Next() {
		s.Inflight.Max = c.limits.InflightPerServiceMax
	}
	if !same {
		c.swap(next, before)
	}
	c.claimClientIDs()
	c.applyBounds()
	c.settle()
	return nil
}

// applyBounds holds every connection to the times and sizes now in force.
func (c *Core) applyBounds() {
	for _, p := range c.peers {
		if c.vacant(p) {
			continue
		}
		c.rearm(p)
		if p.out.size > c.limits.QueueBytesHard {
			c.condemn(p, ReasonSlowConsumer, "unsent output over queue_bytes_hard")
		}
	}
}

// standing is what a connection was before a reload, as far as required authentication is concerned.
type standing uint8

const (
	standingFree          standing = iota // without a credential, and needing none
	standingAuthenticated                 // it is told when it loses its credential
	standingAnonymous                     // had to authenticate already
)

// standings returns the standing of every connection, by index.
func (c *Core) standings() []standing {
	all := make([]standing, len(c.peers))
	for i, p := range c.peers {
		switch {
		case p.cred.kind != credentialNone:
			all[i] = standingAuthenticated
		case c.config.Auth.Required:
			all[i] = standingAnonymous
		}
	}
	return all
}

// swap puts another policy in force. Who has to authenticate from now on and did not have to before is
// told, and has the handshake timeout to do so.
func (c *Core) swap(next *policy, before []standing) {
	c.carryEpochs(next)
	c.regrade(next, func(p *peer) (int32, credential) {
		i, cred := next.reidentify(p)
		if cred.kind == credentialNone && c.config.Auth.Required && before[p.index] != standingAnonymous && p.state == stateOpen {
			if before[p.index] == standingFree {
				c.demand(p)
			}
			p.opened = c.now
		}
		return i, cred
	}, nil)
}

// demand tells a connection that it has to authenticate.
func (c *Core) demand(p *peer) {
	c.sendLine(p, codec.AppendAuthRequired(nil, c.config.Auth.Resource, "required"))
}

// reidentify finds the principal that a connection is by the credential it gave, or by what its
// transport proves.
func (p *policy) reidentify(q *peer) (int32, credential) {
	if q.cred.kind != credentialToken {
		return p.identify(q.info)
	}
	if i, ok := p.byToken(q.cred.token); ok {
		return i, q.cred
	}
	return p.anonymous, credential{}
}

// claimClientIDs settles who holds which clientId, and closes connections whose clientId is no longer
// theirs to use.
func (c *Core) claimClientIDs() {
	for _, p := range c.peers {
		if p.state == stateOpen && !c.vacant(p) && !c.reserves(p) && c.clients[p.clientID] == p {
			delete(c.clients, p.clientID)
		}
	}
	for _, p := range c.peers {
		if p.state != stateOpen || c.vacant(p) || !c.reserves(p) {
			continue
		}
		if holder := c.clients[p.clientID]; !c.policy.mayBe(p.principal, p.clientID) || holder != nil && holder != p {
			c.condemn(p, ReasonAuthentication, "the clientId is no longer this principal's to use")
			continue
		}
		c.clients[p.clientID] = p
	}
}
