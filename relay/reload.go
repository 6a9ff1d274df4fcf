package relay

import (
	"errors"
	"reflect"
	"time"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/table"
)

// errFixed says that a limit sizes a table and cannot change while the relay runs.
var errFixed = errors.New("connections_max, services_max, slots_max, replay_actions, resume_entries and id_bytes_max cannot change while the relay runs")

// Fixed reports, as an error, whether next differs from now in a limit that sizes a table.
func (l *Limits) Fixed(next *Limits) error {
	if l.ConnectionsMax != next.ConnectionsMax || l.ServicesMax != next.ServicesMax || l.SlotsMax != next.SlotsMax ||
		l.ReplayActions != next.ReplayActions || l.ResumeEntries != next.ResumeEntries || l.IDBytesMax != next.IDBytesMax {
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
	same := reflect.DeepEqual(c.config.Principals, config.Principals)
	before := c.standings()
	c.adopt(config)
	for _, p := range c.peers {
		p.inflight.Max = c.limits.InflightPerConnectionMax
	}
	for s := c.services.First; s != nil; s = s.Next() {
		s.Inflight.Max = c.limits.InflightPerServiceMax
	}
	if !same {
		c.swap(next)
	}
	for i, p := range c.peers {
		if p.state == stateOpen && !c.vacant(p) && c.anonymous(p) && before[i] != standingAnonymous {
			c.shutOut(p, before[i] == standingFree)
		}
	}
	c.claimClientIDs()
	for _, p := range c.peers {
		if !c.vacant(p) {
			c.rearm(p)
		}
	}
	c.settle()
	return nil
}

// standing is what a connection was before a reload, as far as required authentication is concerned.
type standing uint8

const (
	standingFree          standing = iota // without a credential, and needing none
	standingAuthenticated                 // if it loses its credential it is told so
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

// swap puts another policy in force with the consequences that the contract orders.
func (c *Core) swap(next *policy) {
	c.carryEpochs(next)
	c.regrade(next, func(p *peer) (int32, credential) {
		if p.cred.kind != credentialToken {
			return next.identify(p.info)
		}
		if i, ok := next.byToken(p.cred.token); ok {
			return i, p.cred
		}
		return next.anonymous, credential{}
	}, nil)
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

// shutOut takes client services from a connection that has to authenticate before it may use them.
func (c *Core) shutOut(p *peer, tell bool) {
	if tell {
		c.sendLine(p, codec.AppendAuthRequired(nil, c.config.Auth.Resource, "required"))
	}
	for s := p.owned.First; s != nil; s = p.owned.First {
		c.withdraw(p, s, true)
	}
	for i := c.slots.OfCaller(p.index); i >= 0; {
		after := c.slots.NextOfCaller(i)
		if c.slots.At(i).State == table.SlotLive {
			c.withdrawRight(i)
		}
		i = after
	}
	p.subscribed &^= channelServices
	c.unobserve(p)
	p.opened = c.now // it has the handshake timeout to authenticate
}
