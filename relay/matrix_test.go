package relay

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// matrixProtocols are metadata.protocol as spelled, "" for none; a number is none either.
var matrixProtocols = []string{`"a"`, `"b"`, `"ab"`, `"p0/a"`, `"\u0061"`, `"é"`, `5`, ``}

func decoded(protocol string) (text string, has bool) {
	switch protocol {
	case `"\u0061"`:
		return "a", true
	case `5`, ``:
		return "", false
	}
	return strings.Trim(protocol, `"`), true
}

// matrixConfig makes principals p0 … p3, by uid and by token at once distinguishable, with rights at random.
func matrixConfig(t *rapid.T) Config {
	config := testConfig()
	list := rapid.SliceOfN(rapid.SampledFrom([]string{"*", "a", "b", "?", "a*", "*b", "p0/*", "*/a", "p?/ab", "é", "", "anonymous/*"}), 0, 3)
	for i := range 5 {
		p := Principal{Name: fmt.Sprintf("p%d", i), ClientIDs: []string{"*"}, Realm: rapid.SampledFrom([]string{"", "default", "r"}).Draw(t, "realm"),
			Register: list.Draw(t, "register"), Discover: list.Draw(t, "discover"), Notify: list.Draw(t, "notify"), Request: list.Draw(t, "request")}
		switch {
		case i == 4:
			p.Name = anonymousName
		case i%2 == 0:
			p.UID = &i
		default:
			p.TokenSHA256 = hash(p.Name)
		}
		if rapid.IntRange(0, 5).Draw(t, "absent") < 5 {
			config.Principals = append(config.Principals, p)
		}
	}
	return config
}

// matrix holds one connection of each principal and the services that they could register.
type matrix struct {
	t        *rapid.T
	w        *world
	ends     []*end
	services map[string]string // protocol as spelled, by id
}

// fill has every connection register whatever it may, and compares that with what it may.
func (m *matrix) fill() {
	for _, e := range m.ends {
		p := m.w.core.peer(e.id)
		for _, protocol := range matrixProtocols {
			metadata := `{}`
			if protocol != "" {
				metadata = `{"protocol":` + protocol + `}`
			}
			m.w.send(e, []byte(`{"jsonrpc":"2.0","id":1,"method":"client/registerService","params":{"metadata":`+metadata+"}}\n"))
			text, has := decoded(protocol)
			may := naiveMatch(naivePrincipals(&m.w.core.config)[p.principal].Register, "", text, has)
			line := m.w.one(e)
			_, rest, ok := strings.Cut(line, `"serviceId":"`)
			if ok != may {
				m.t.Fatalf("%s registers %s: %s", p.usage.name, protocol, line)
			}
			if ok {
				id, _, _ := strings.Cut(rest, `"`)
				m.services[id] = protocol
			}
		}
	}
}

// check compares, for every viewer and service, what the wire shows with the configuration.
func (m *matrix) check() {
	list := naivePrincipals(&m.w.core.config)
	if len(m.services) != m.w.core.services.Len() {
		for id := range m.services { // the policy took some away
			if m.w.core.services.Lookup([]byte(id)) == nil {
				delete(m.services, id)
			}
		}
	}
	for _, e := range m.ends {
		m.w.send(e, []byte(`{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"channel":"ahp-client-services://"}}`+"\n"), []byte(`{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"ahp-client-services://"}}`+"\n"))
		snapshot := m.w.one(e)
		viewer := m.w.core.peer(e.id)
		for id, protocol := range m.services {
			s := m.w.core.services.Lookup([]byte(id))
			text, has := decoded(protocol)
			want := naiveRights(list[m.w.core.peers[s.Owner].principal], list[viewer.principal], text, has)
			if s.Owner == viewer.index {
				want |= rightDiscover
			}
			if want&rightDiscover == 0 {
				want = 0
			}
			if got := m.probe(e, id, snapshot); got != want {
				m.t.Fatalf("%s may do %03b with %s of %s, by the configuration %03b", viewer.usage.name, got, protocol, m.w.core.peers[s.Owner].usage.name, want)
			}
		}
	}
}

// probe finds out by the wire what e may do with a service.
func (m *matrix) probe(e *end, id, snapshot string) (rights uint8) {
	if strings.Contains(snapshot, id) {
		rights |= rightDiscover
	}
	owner := m.owner(id)
	m.w.send(e, []byte(`{"jsonrpc":"2.0","method":"clientService/notify","params":{"serviceId":"`+id+`","method":"m"}}`+"\n"))
	if seen := owner.read(); len(seen) == 1 {
		rights |= rightNotify
	}
	m.w.send(e, []byte(`{"jsonrpc":"2.0","id":2,"method":"clientService/request","params":{"serviceId":"`+id+`","method":"m"}}`+"\n"))
	var seen []string
	if e != owner {
		seen = e.read()
	}
	for _, line := range append(owner.read(), seen...) {
		switch {
		case strings.Contains(line, "handleRequest"):
			rights |= rightRequest
			head, _, _ := strings.Cut(line, `,"method"`)
			m.w.send(owner, []byte(head+`,"result":1}`+"\n"))
			m.w.one(e)
		case strings.Contains(line, "-32008") != (rights&rightDiscover == 0):
			m.t.Fatalf("seen: %v, but %s", rights&rightDiscover != 0, line)
		}
	}
	return rights
}

func (m *matrix) owner(id string) *end {
	s := m.w.core.services.Lookup([]byte(id))
	for _, e := range m.ends {
		if m.w.core.peer(e.id).index == s.Owner {
			return e
		}
	}
	m.t.Fatal("a service without an owner")
	return nil
}

// Rights rows are compiled; this compares them, as the wire shows them, with a naive evaluation of the
// configuration, after the start, after reloads and after re-authentications.
func TestRightsMatrix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &matrix{t: t, w: newWorld(t, matrixConfig(t)), services: map[string]string{}}
		for i := range 4 {
			m.ends = append(m.ends, m.w.hello(fmt.Sprintf("c%d", i), PeerInfo{UID: i}))
		}
		m.fill()
		m.check()
		for range 3 {
			if rapid.Bool().Draw(t, "reload") {
				if err := m.w.core.Reload(m.w.now, matrixConfig(t)); err != nil {
					t.Fatal(err)
				}
				m.w.drain()
			} else {
				e := rapid.SampledFrom(m.ends).Draw(t, "connection")
				token := rapid.SampledFrom([]string{"p1", "p3"}).Draw(t, "token")
				m.w.send(e, []byte(`{"jsonrpc":"2.0","id":1,"method":"authenticate","params":{"resource":"https://ahprelay.localhost","token":"`+token+`"}}`+"\n"))
			}
			for _, e := range m.ends {
				e.read()
			}
			if err := m.w.core.Check(); err != nil {
				t.Fatal(err)
			}
			m.check()
			m.fill()
			m.check()
		}
		m.w.finish()
	})
}
