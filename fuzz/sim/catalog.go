package sim

import (
	"slices"
	"strconv"
)

// described reads and judges params.metadata.
func (m *model) described(params *value) (s service, fine bool) {
	md, n := params.get("metadata")
	protocol, protocols := md.get("protocol")
	s.metadata = md.raw
	if protocols == 1 && protocol.kind == '"' {
		s.protocol, s.named = asText(protocol.raw), true
	}
	fine = n == 1 && md.kind == '{' && len(md.raw) <= m.config.Limits.MetadataBytesMax && md.deep() <= 32 && md.distinct() && on(params, channelServices)
	return s, fine
}

// asText decodes a string, half a surrogate pair as U+FFFD.
func asText(raw string) string {
	text, _ := unquote(raw)
	var out []rune
	for i := 0; i < len(text); {
		if text[i] == 0xff {
			out = append(out, 0xfffd)
			i += 3
			continue
		}
		r := []rune(text[i:])[0]
		out = append(out, r)
		i += len(string(r))
	}
	return string(out)
}

func objectOf(id, client, metadata string) string {
	return `{"serviceId":"` + id + `","clientId":` + quote(client) + `,"metadata":` + metadata + `}`
}

// serviceIDBytes is the length of the ids that this relay makes; the contract allows up to 64.
const serviceIDBytes = 22

// common lists what stands against any catalogue change of c.
func (m *model) common(c *conn, fine bool) (wrong []failure) {
	if !fine {
		wrong = append(wrong, failure{-32602, ""})
	}
	if m.shutOut(c) {
		wrong = append(wrong, m.authFailure(never+","))
	}
	return wrong
}

func limitFailure(name string) failure { return failure{-32052, `{"limit":"` + name + `"}`} }

// paced reports whether one more catalogue change comes too fast; if not, it is counted.
func (m *model) paced(c *conn) (tooFast bool) {
	rate := float64(m.config.Limits.CatalogChangesPerSecondMax)
	if rate == 0 {
		return false
	}
	c.changes = max(0, c.changes-(m.now()-c.changed).Seconds()*rate)
	c.changed = m.now()
	if c.changes+1 > 256+1e-6 {
		return true
	}
	c.changes++
	return false
}

func (m *model) register(c *conn, id string, params *value) {
	s, fine := m.described(params)
	wrong := m.common(c, fine)
	if len(wrong) == 0 && !m.mayRegister(c.principal, s.protocol, s.named) {
		wrong = append(wrong, failure{-32009, ""})
	}
	if len(wrong) == 0 && m.draining {
		wrong = append(wrong, failure{-32053, "{" + never + "}"})
	}
	if len(wrong) == 0 && m.paced(c) {
		wrong = append(wrong, limitFailure("catalogChangesPerSecond"))
	}
	if len(wrong) == 0 {
		wrong = m.full(c, len(objectOf("", c.client, s.metadata))+serviceIDBytes)
	}
	if len(wrong) > 0 {
		m.fails(c, id, wrong)
		return
	}
	s.owner = c
	if holes := m.expect(c, result(id, `{"serviceId":"`+holeText+`"}`)); holes != nil {
		m.named(&s, holes[0])
	} else { // its owner is being closed: who looks will show the id
		s.id = holeText
		s.object = objectOf(s.id, c.client, s.metadata)
	}
	m.services = append(m.services, &s)
	m.set(&s)
}

// named gives a service the id that the relay has made.
func (m *model) named(s *service, id string) {
	must(len(id) == serviceIDBytes && plain(id), "service id %q", id)
	must(!m.ids[id], "service id %s for the second time", id)
	m.ids[id] = true
	m.names["$S"+strconv.Itoa(m.line)], s.line = id, m.line
	s.id, s.object = id, objectOf(id, s.owner.client, s.metadata)
}

func plain(id string) bool {
	for _, r := range id {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return false
		}
	}
	return id != ""
}

// full lists the limits that a further service of this size would exceed.
func (m *model) full(c *conn, size int) (wrong []failure) {
	l := m.config.Limits
	own := 0
	for _, s := range m.services {
		if s.owner == c {
			own++
		}
	}
	if own >= l.ServicesPerConnectionMax {
		wrong = append(wrong, limitFailure("servicesPerConnection"))
	}
	if len(m.services) >= l.ServicesMax {
		wrong = append(wrong, limitFailure("services"))
	}
	if over(m.used(c.principal).services+1, m.quotas(c.principal).Services) {
		wrong = append(wrong, limitFailure("servicesPerPrincipal"))
	}
	return append(wrong, m.fullBytes(c, size)...)
}

func (m *model) fullBytes(c *conn, more int) (wrong []failure) {
	if m.catalogBytes()+more > m.config.Limits.CatalogBytesMax {
		wrong = append(wrong, limitFailure("catalogBytes"))
	}
	if over(m.used(c.principal).bytes+more, m.quotas(c.principal).CatalogBytes) {
		wrong = append(wrong, limitFailure("principalCatalogBytes"))
	}
	return wrong
}

func (m *model) catalogBytes() (n int) {
	for _, s := range m.services {
		n += len(s.object)
	}
	return n
}

// own finds a service of c's own.
func (m *model) own(c *conn, params *value) (s *service, wrong []failure) {
	id, _ := params.get("serviceId")
	s = m.find(c, &id)
	switch {
	case s == nil:
		return nil, []failure{{-32008, ""}}
	case s.owner != c:
		return nil, []failure{{-32009, ""}}
	}
	return s, nil
}

func (m *model) update(c *conn, id string, params *value) {
	next, fine := m.described(params)
	serviceID, _ := params.get("serviceId")
	wrong := m.common(c, fine && once(params, "serviceId") && serviceID.kind == '"')
	s, not := m.own(c, params)
	if len(wrong) == 0 {
		wrong = not
	}
	if len(wrong) == 0 && !m.mayRegister(c.principal, next.protocol, next.named) {
		wrong = append(wrong, failure{-32009, ""})
	}
	if len(wrong) == 0 && m.draining {
		wrong = append(wrong, failure{-32053, "{" + never + "}"})
	}
	if len(wrong) == 0 && m.paced(c) {
		wrong = append(wrong, limitFailure("catalogChangesPerSecond"))
	}
	if len(wrong) == 0 {
		wrong = m.fullBytes(c, len(objectOf(s.id, c.client, next.metadata))-len(s.object))
	}
	if len(wrong) > 0 {
		m.fails(c, id, wrong)
		return
	}
	before := m.sights(s)
	s.metadata, s.protocol, s.named = next.metadata, next.protocol, next.named
	s.object = objectOf(s.id, c.client, s.metadata)
	m.expect(c, result(id, "{}"))
	if lost := m.lostSight(s, before); len(lost) > 0 {
		m.removed(s, func(o *conn) bool { return o != c && slices.Contains(lost, o.principal) })
	}
	m.set(s)
	m.recheck(s)
}

// sights lists the principals that may discover s, its owner's connection aside.
func (m *model) sights(s *service) (names []string) {
	for _, p := range principals(&m.config) {
		if rightsOf(&m.config, p.Name, s.owner.principal, s.protocol, s.named).discover {
			names = append(names, p.Name)
		}
	}
	return names
}

func (m *model) lostSight(s *service, before []string) (lost []string) {
	after := m.sights(s)
	for _, p := range before {
		if !slices.Contains(after, p) {
			lost = append(lost, p)
		}
	}
	return lost
}

// recheck ends the calls to s whose callers may no longer make them.
func (m *model) recheck(s *service) {
	m.anyOrder(func() {
		for _, k := range slices.Clone(m.calls) {
			if k.service == s && !k.ghost {
				if r := m.rights(k.caller, s); !r.discover || !r.request {
					m.give(k, -32009)
				}
			}
		}
	})
}

func (m *model) unregister(c *conn, id string, params *value) {
	serviceID, _ := params.get("serviceId")
	wrong := m.common(c, once(params, "channel", "serviceId") && on(params, channelServices) && serviceID.kind == '"')
	s, not := m.own(c, params)
	if len(wrong) == 0 {
		wrong = not
	}
	if len(wrong) == 0 && m.paced(c) {
		wrong = append(wrong, limitFailure("catalogChangesPerSecond"))
	}
	if len(wrong) > 0 {
		m.fails(c, id, wrong)
		return
	}
	m.expect(c, result(id, "{}"))
	m.withdraw(s)
}

// withdraw ends a service: its callers are answered, its owner is told if it is there, then those who
// could see it hear of it.
func (m *model) withdraw(s *service) {
	m.anyOrder(func() {
		for _, k := range slices.Clone(m.calls) {
			if k.service != s {
				continue
			}
			if !k.ghost {
				m.expect(k.caller, failure{-32050, "{" + maybe + "}"}.forms(k.id)[0])
				m.cancelAtOwner(k)
			}
			m.drop(k)
		}
	})
	m.services = slices.DeleteFunc(m.services, func(other *service) bool { return other == s })
	m.removed(s, func(o *conn) bool { return m.rights(o, s).discover })
}
