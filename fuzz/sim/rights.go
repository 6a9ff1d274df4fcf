package sim

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ahprelay/ahprelay/relay"
)

func (m *model) authenticate(c *conn, id string, params *value) {
	resource, _ := params.get("resource")
	token, _ := params.get("token")
	if !once(params, "channel", "resource", "token") || !on(params, channelRoot) || resource.kind != '"' || token.kind != '"' || !resource.is(m.config.Auth.Resource) {
		m.fails(c, id, []failure{{-32602, ""}, {-32602, m.authFailure("").data}})
		return
	}
	text := asText(token.raw)
	principal := m.byToken(text)
	if principal == "" {
		m.fails(c, id, []failure{m.authFailure("")})
		if c.failures++; c.failures >= 5 {
			m.condemn(c, "authentication")
		}
		return
	}
	var wrong []failure
	if c.phase == phaseOpen && !m.mayBe(principal, c.client) {
		wrong = append(wrong, failure{-32009, ""})
	}
	if holder := m.holder(c.client); c.phase == phaseOpen && holder != nil && holder != c {
		wrong = append(wrong, failure{-32010, ""})
	}
	if principal != c.principal && over(m.used(principal).connections+1, m.quotas(principal).Connections) {
		wrong = append(wrong, limitFailure("connectionsPerPrincipal"))
	}
	if len(wrong) > 0 {
		m.fails(c, id, wrong)
		return
	}
	m.expect(c, result(id, "{}"))
	c.holds = c.holds || c.phase == phaseOpen
	m.regrade(m.config, func(o *conn) (string, string) {
		if o == c {
			return principal, "token " + text
		}
		return o.principal, o.credential
	}, nil)
}

// byPlace lists the connections in the order of their places at the relay: where many are concerned at
// once, their turns are its own choice.
func (m *model) byPlace() []*conn {
	list := slices.Clone(m.conns)
	slices.SortFunc(list, func(a, b *conn) int { return int(uint32(a.id)) - int(uint32(b.id)) })
	return list
}

// regrade puts a policy in force under which connections have other principals, with the consequences
// that the contract orders.
func (m *model) regrade(next relay.Config, assign func(*conn) (principal, credential string), free map[*conn]bool) {
	principal, credential := map[*conn]string{}, map[*conn]string{}
	for _, c := range m.conns {
		principal[c], credential[c] = assign(c)
	}
	later := func(c *conn, s *service) rights {
		r := rightsOf(&next, principal[c], principal[s.owner], s.protocol, s.named)
		r.discover = r.discover || s.owner == c
		return r
	}
	for _, c := range m.byPlace() {
		switch {
		case credential[c] != "":
		case c.live() && c.credential != "":
			m.demand(c, &next, "expired")
		case c.phase == phaseOpen && next.Auth.Required && free[c]:
			m.demand(c, &next, "required")
		}
	}
	for _, c := range m.byPlace() {
		for _, s := range slices.Clone(m.services) {
			if s.owner == c && !covers(principalOf(&next, principal[c]).Register, "", s.protocol, s.named) {
				m.withdraw(s)
			}
		}
	}
	for _, s := range m.services {
		m.anyOrder(func() {
			for _, k := range slices.Clone(m.calls) {
				if k.service == s && !k.ghost {
					if r := later(k.caller, s); !r.discover || !r.request {
						m.give(k, -32009)
					}
				}
			}
		})
	}
	was, now := maps.Clone(m.sightsOfAll()), map[*service]map[*conn]bool{}
	for _, s := range m.services {
		now[s] = map[*conn]bool{}
		for _, c := range m.conns {
			now[s][c] = later(c, s).discover
		}
	}
	m.loose = true // changes that nobody hears of may count or not
	for _, s := range m.services {
		m.publish(s, true, false, func(o *conn) bool { return was[s][o] && !now[s][o] })
		m.publish(s, false, false, func(o *conn) bool { return !was[s][o] && now[s][o] })
	}
	m.config = next
	m.tally.add("rights changed")
	m.era++
	for _, c := range m.conns {
		c.since = unknown
		before := c.story()
		c.principal, c.credential = principal[c], credential[c]
		if c.story() != before && c.mirror != nil {
			m.tell(c, moment{seq: m.seq, snapshot: maps.Clone(c.mirror)})
		}
	}
}

func (m *model) sightsOfAll() map[*service]map[*conn]bool {
	all := map[*service]map[*conn]bool{}
	for _, s := range m.services {
		all[s] = map[*conn]bool{}
		for _, c := range m.conns {
			all[s][c] = m.rights(c, s).discover
		}
	}
	return all
}

// reload follows the putting in force of another configuration.
func (m *model) reload(next relay.Config) {
	was := m.config
	if next.Limits.CatalogBytesMax != was.Limits.CatalogBytesMax {
		m.era++ // and with it the bytes that are kept for replay
	}
	free := map[*conn]bool{}
	barred := map[*conn]bool{}
	for _, c := range m.conns {
		free[c] = c.credential == "" && !was.Auth.Required
		barred[c] = m.shutOut(c)
	}
	same := reflect.DeepEqual(was.Principals, next.Principals) && was.Auth.Required == next.Auth.Required
	m.config.Limits, m.config.Auth = next.Limits, next.Auth
	m.config.Auth.Required = was.Auth.Required // what anonymous may do changes with the rest
	m.config.Overload = next.Overload
	m.markLossy()
	if !same {
		m.regrade(next, func(c *conn) (string, string) {
			after := &model{config: next}
			token, has := strings.CutPrefix(c.credential, "token ")
			if !has {
				return after.identify(c.info)
			}
			if p := after.byToken(token); p != "" {
				return p, c.credential
			}
			return anonymous, ""
		}, free)
	}
	m.config = next
	for _, c := range m.byPlace() {
		if c.phase == phaseOpen && m.shutOut(c) && !barred[c] {
			c.opened = m.now()
		}
	}
	m.claim()
	m.settle()
}

// demand expects that a connection is told to authenticate.
func (m *model) demand(c *conn, config *relay.Config, reason string) {
	m.tally.add("auth/required " + reason)
	m.expect(c, `{"jsonrpc":"2.0","method":"auth/required","params":{"channel":"ahp-root://","resource":`+quote(config.Auth.Resource)+`,"reason":"`+reason+`"}}`)
}

// claim settles whose each clientId is.
func (m *model) claim() {
	for _, c := range m.conns {
		if c.phase == phaseOpen && !m.reserves(c) {
			c.holds = false
		}
	}
	for _, c := range m.byPlace() {
		if c.phase != phaseOpen || !m.reserves(c) {
			continue
		}
		holder := m.holder(c.client)
		if !m.mayBe(c.principal, c.client) || holder != nil && holder != c {
			m.condemn(c, "authentication")
			continue
		}
		c.holds = true
	}
}
