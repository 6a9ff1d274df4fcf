package relay

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// model drives a core at random and knows what every client must have seen. Clients mirror the catalogue
// from snapshots, actions and replays only; the model compares their mirrors with what the configuration
// says, evaluated naively.
type model struct {
	t        *rapid.T
	w        *world
	clients  []*mirror
	services map[string]offer // by id
	ids      int
}

// offer is a registered service as the model knows it.
type offer struct {
	owner    *end
	protocol string
	has      bool
	object   string // the ClientService object that observers must have
}

func newModel(t *rapid.T) *model {
	config := randomConfig(t)
	m := &model{t: t, services: map[string]offer{}}
	m.w = newWorld(t, config)
	for i := range 5 {
		m.clients = append(m.clients, &mirror{clientID: fmt.Sprintf("c%d", i), uid: i%3 - 1, services: map[string]string{}})
	}
	return m
}

// randomConfig makes principals p0 and p1 by uid, p2 and p3 by token, and perhaps anonymous, with rights
// at random.
func randomConfig(t *rapid.T) Config {
	config := DefaultConfig()
	config.Limits.SlotsMax = 64
	config.Limits.InflightPerConnectionMax = 8
	config.Limits.ReplayActions = 12
	config.Limits.CatalogChangesPerSecondMax = 0
	globs := rapid.SampledFrom([][]string{{"*"}, {"*"}, {"*", "a"}, nil, {"a"}, {"b", "?"}, {"p0/*"}, {"a*", "p1/b"}})
	some := rapid.SampledFrom([][]string{{"*"}, {"*"}, {"*"}, {"c?"}, {"c0", "c1"}})
	for i := range 5 {
		p := Principal{Name: fmt.Sprintf("p%d", i), ClientIDs: some.Draw(t, "client_ids"), Realm: rapid.SampledFrom([]string{"", "", "default", "r"}).Draw(t, "realm"),
			Register: rapid.SampledFrom([][]string{{"*"}, {"*"}, {"*"}, {"a"}, nil}).Draw(t, "register"),
			Discover: globs.Draw(t, "discover"), Notify: globs.Draw(t, "notify"), Request: globs.Draw(t, "request")}
		switch i {
		case 0, 1:
			p.UID = &i
		case 2, 3:
			p.TokenSHA256 = hash(fmt.Sprintf("t%d", i))
		case 4:
			p.Name = "anonymous"
		}
		if rapid.IntRange(0, 4).Draw(t, "absent") < 4 {
			config.Principals = append(config.Principals, p)
		}
	}
	if len(config.Principals) > 1 && rapid.Bool().Draw(t, "turn") {
		config.Principals[0], config.Principals[1] = config.Principals[1], config.Principals[0]
	}
	config.Auth.Required = len(config.Principals) > 0 && rapid.IntRange(0, 5).Draw(t, "required") == 0
	return config
}

func (m *model) pick(f func(*mirror) bool) *mirror {
	var fit []*mirror
	for _, c := range m.clients {
		if f(c) {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		m.t.Skip()
	}
	return rapid.SampledFrom(fit).Draw(m.t, "client")
}

func here(c *mirror) bool { return c.e != nil }
func away(c *mirror) bool { return c.e == nil }

// request sends a request whose answer f judges when it comes; it may be an error, or never come when
// the connection ends.
func (m *model) request(c *mirror, method, params string, f func(message)) {
	m.ids++
	id := fmt.Sprintf(`"%d"`, m.ids)
	c.pending[id] = f
	m.line(c, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+`}`)
}

func (m *model) line(c *mirror, line string) {
	m.w.send(c.e, []byte(line+"\n"))
	m.read()
}

// read lets every client that reads handle what it got, and compares.
func (m *model) read() {
	for _, c := range m.clients {
		if c.e == nil {
			continue
		}
		for _, line := range c.e.read() {
			m.handle(c, line)
		}
		if c.e != nil && !c.e.open {
			m.left(c)
		}
	}
}

func (m *model) handle(c *mirror, line string) {
	if line == "shut" || line == "eof" {
		m.left(c)
		return
	}
	if c.e == nil {
		return
	}
	var msg message
	if err := json.Unmarshal([]byte(line), &msg); err != nil {
		m.t.Fatalf("%s got %s: %v", c.clientID, line, err)
	}
	switch {
	case msg.Method == "action":
		m.apply(c, msg.Params.Action, msg.Params.ServerSeq)
	case msg.Method == "clientService/handleRequest":
		c.tasks = append(c.tasks, string(msg.ID))
	case msg.Method == "":
		id := string(msg.ID)
		if c.calls[id] {
			delete(c.calls, id)
		} else if f := c.pending[id]; f != nil {
			delete(c.pending, id)
			if msg.Error == nil {
				f(msg)
			}
		} else {
			m.t.Fatalf("%s got an answer that it does not wait for: %s", c.clientID, line)
		}
	}
}

// left notes that a connection has ended, whoever ended it.
func (m *model) left(c *mirror) {
	if c.e == nil {
		return
	}
	for id, s := range m.services {
		if s.owner == c.e {
			delete(m.services, id)
		}
	}
	e := c.e
	c.e, c.stalled = nil, false
	m.w.close(e)
}

func (m *model) apply(c *mirror, a actionText, seq uint64) {
	if seq <= c.seq {
		m.t.Fatalf("%s got action %d after %d", c.clientID, seq, c.seq)
	}
	c.seq = seq
	if a.Type == "clientService/removed" {
		delete(c.services, a.ServiceID)
		return
	}
	c.services[idOf(a.Service)] = string(a.Service)
}

// check compares the mirrors of all who follow the catalogue with what they may see.
func (m *model) check() {
	m.read()
	if err := m.w.core.Check(); err != nil {
		m.t.Fatal(err)
	}
	for _, c := range m.clients {
		if c.e == nil || c.stalled {
			continue
		}
		p := m.w.core.peer(c.e.id)
		if (p.observer >= 0) != c.subscribed {
			m.t.Fatalf("%s follows the catalogue: %v, subscribed: %v", c.clientID, p.observer >= 0, c.subscribed)
		}
		if !c.subscribed {
			continue
		}
		want := map[string]string{}
		for id, s := range m.services {
			if s.owner == c.e || m.rights(s, p)&rightDiscover != 0 {
				want[id] = s.object
			}
		}
		if got, want := fmt.Sprint(c.services), fmt.Sprint(want); got != want {
			m.t.Fatalf("%s sees  %s\nmust see %s", c.clientID, got, want)
		}
	}
}

func (m *model) rights(s offer, viewer *peer) uint8 {
	list := naivePrincipals(&m.w.core.config)
	owner := m.w.core.peer(s.owner.id)
	return naiveRights(list[owner.principal], list[viewer.principal], s.protocol, s.has)
}

// come connects a client, afresh or again.
func (m *model) come(c *mirror, again bool) {
	channels := rapid.SampledFrom([]string{`"ahp-client-services://"`, `"ahp-client-services://"`, `"ahp-root://"`, `"ahp-root://","ahp-client-services://"`, ``}).Draw(m.t, "channels")
	old := c.e
	e := m.w.open(c.clientID, PeerInfo{UID: c.uid})
	method, params := "initialize", fmt.Sprintf(`{"protocolVersions":["1.0.0"],"clientId":"%s","initialSubscriptions":[%s]}`, c.clientID, channels)
	if again {
		method, params = "reconnect", fmt.Sprintf(`{"clientId":"%s","lastSeenServerSeq":%d,"subscriptions":[%s],"_meta":{"ahprelay.resumeToken":"%s"}}`, c.clientID, c.seq, channels, c.token)
	}
	m.w.send(e, []byte(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+"}\n"))
	seen := e.read()
	var answer message
	if len(seen) == 0 || json.Unmarshal([]byte(seen[0]), &answer) != nil {
		m.t.Fatalf("no answer to %s: %q", method, seen)
	}
	if answer.Error != nil {
		m.w.close(e)
		return
	}
	if old != nil {
		m.left(c)
	}
	var r handshakeText
	if err := json.Unmarshal(answer.Result, &r); err != nil {
		m.t.Fatal(err)
	}
	c.e, c.stalled, c.token = e, false, r.Meta["ahprelay.resumeToken"]
	c.calls, c.tasks, c.pending = map[string]bool{}, nil, map[string]func(message){}
	c.subscribed = strings.Contains(channels, "services") && !m.w.core.anonymous(m.w.core.peer(e.id))
	if r.Type != "replay" {
		c.seq = max(r.ServerSeq, 1)
		if r.Type == "snapshot" {
			c.seq = m.w.core.Gauges().Seq
		}
	}
	for _, s := range r.Snapshots {
		c.restore(s)
	}
	for _, a := range r.Actions {
		m.apply(c, a.Action, a.ServerSeq)
	}
	for _, line := range seen[1:] {
		m.handle(c, line)
	}
}

// end lets everything come to its end: no caller that stays may be without its answer.
func (m *model) end() {
	for _, c := range m.clients {
		if c.e != nil {
			m.w.unstall(c.e, -1)
			c.stalled = false
		}
	}
	m.w.pass(m.w.core.limits.RequestTimeoutMax + time.Second)
	m.read()
	for _, c := range m.clients {
		if c.e != nil && len(c.calls)+len(c.pending) > 0 {
			m.t.Fatalf("%s still waits for answers: %v %v", c.clientID, c.calls, c.pending)
		}
	}
	m.w.finish()
}
