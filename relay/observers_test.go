package relay

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Whatever clients, services and the configuration do, every client that follows the catalogue has
// exactly what it may see, after snapshots, actions and replays alike; every request is answered once;
// and the books balance.
func TestObserversSeeWhatTheyMay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		reading := func(c *mirror) bool { return here(c) && !c.stalled }
		action := func(fit func(*mirror) bool, f func(*mirror)) func(*rapid.T) {
			return func(*rapid.T) { f(m.pick(fit)) }
		}
		t.Repeat(map[string]func(*rapid.T){
			"":             func(*rapid.T) { m.check() },
			"initialize":   action(away, func(c *mirror) { m.come(c, false) }),
			"reconnect":    action(away, func(c *mirror) { m.come(c, true) }),
			"supersede":    action(here, func(c *mirror) { m.come(c, true) }),
			"close":        action(here, m.left),
			"half":         action(here, m.half),
			"blink":        action(func(c *mirror) bool { return here(c) && c.subscribed }, m.blink),
			"stall":        action(here, func(c *mirror) { c.e.room, c.stalled = 0, true }),
			"unstall":      action(func(c *mirror) bool { return here(c) && c.stalled }, m.unstall),
			"register":     action(here, m.register),
			"update":       action(here, func(c *mirror) { m.update(c, m.anyService()) }),
			"unregister":   action(here, func(c *mirror) { m.unregister(c, m.anyService()) }),
			"subscribe":    action(reading, m.subscribe),
			"unsubscribe":  action(reading, m.unsubscribe),
			"authenticate": action(here, m.authenticate),
			"call":         action(here, m.call),
			"notify":       action(here, m.notify),
			"answer":       action(func(c *mirror) bool { return here(c) && len(c.tasks) > 0 }, m.answer),
			"cancel":       action(func(c *mirror) bool { return here(c) && len(c.calls) > 0 }, m.cancel),
			"reload":       func(*rapid.T) { m.reload() },
			"pass": func(t *rapid.T) {
				m.w.pass(time.Duration(rapid.IntRange(1, 15000).Draw(t, "ms")) * time.Millisecond)
			},
		})
		m.end()
	})
}

func (m *model) anyService() string {
	var ids []string
	for s := m.w.core.services.First; s != nil; s = s.Next() {
		ids = append(ids, s.ID)
	}
	if len(ids) == 0 {
		m.t.Skip()
	}
	return rapid.SampledFrom(ids).Draw(m.t, "service")
}

// describe draws metadata; pad makes some of it worth a replay.
func (m *model) describe() (protocol string, has bool, metadata string) {
	protocol = rapid.SampledFrom([]string{"a", "b", "ab", "p0/x", ""}).Draw(m.t, "protocol")
	n := rapid.IntRange(0, 9).Draw(m.t, "n")
	pad := rapid.SampledFrom([]int{0, 0, 3000}).Draw(m.t, "pad")
	if protocol == "" {
		return "", false, fmt.Sprintf(`{"n":%d,"pad":"%0*d"}`, n, pad, 0)
	}
	return protocol, true, fmt.Sprintf(`{"protocol":"%s","n":%d,"pad":"%0*d"}`, protocol, n, pad, 0)
}

func (m *model) half(c *mirror) {
	m.w.unstall(c.e, -1)
	m.w.half(c.e)
	m.read()
}

func (m *model) unstall(c *mirror) {
	c.stalled = false
	m.w.unstall(c.e, -1)
}

func (m *model) register(c *mirror) {
	protocol, has, metadata := m.describe()
	e := c.e
	m.request(c, "client/registerService", `{"metadata":`+metadata+`}`, func(message) {})
	// What a stalled owner is told, the model reads in the core.
	for s := m.w.core.services.First; s != nil; s = s.Next() {
		if _, known := m.services[s.ID]; !known {
			m.services[s.ID] = offer{e, protocol, has, string(s.Object)}
		}
	}
}

func (m *model) update(c *mirror, id string) {
	protocol, has, metadata := m.describe()
	s, p := m.services[id], m.w.core.peer(c.e.id)
	owns := s.owner == c.e && m.w.core.policy.mayRegister(p.principal, protocol, has) && !m.w.core.anonymous(p)
	if owns {
		m.services[id] = offer{s.owner, protocol, has, fmt.Sprintf(`{"serviceId":"%s","clientId":"%s","metadata":%s}`, id, c.clientID, metadata)}
	}
	m.request(c, "client/updateService", fmt.Sprintf(`{"serviceId":"%s","metadata":%s}`, id, metadata), func(message) {
		if !owns {
			m.t.Fatalf("%s updated a service that it may not", c.clientID)
		}
	})
}

func (m *model) unregister(c *mirror, id string) {
	owns := m.services[id].owner == c.e
	if owns {
		delete(m.services, id)
	}
	m.request(c, "client/unregisterService", `{"serviceId":"`+id+`"}`, func(message) {
		if !owns {
			m.t.Fatalf("%s unregistered a service that it does not own", c.clientID)
		}
	})
}

func (m *model) subscribe(c *mirror) {
	m.request(c, "subscribe", `{"channel":"ahp-client-services://"}`, func(msg message) {
		var r struct{ Snapshot snapshotText }
		_ = json.Unmarshal(msg.Result, &r)
		c.restore(r.Snapshot)
		c.subscribed = true
	})
}

func (m *model) unsubscribe(c *mirror) {
	c.subscribed = false
	m.line(c, `{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"ahp-client-services://"}}`)
}

func (m *model) authenticate(c *mirror) {
	token := rapid.SampledFrom([]string{"t2", "t3"}).Draw(m.t, "token")
	m.request(c, "authenticate", `{"resource":"https://ahprelay.localhost","token":"`+token+`"}`, func(message) {})
	m.forget()
}

func (m *model) reload() {
	if err := m.w.core.Reload(m.w.now, randomConfig(m.t)); err != nil {
		m.t.Fatal(err)
	}
	m.w.drain()
	m.forget()
}

func (m *model) call(c *mirror) {
	id := m.anyService()
	m.ids++
	call := fmt.Sprint(m.ids)
	c.calls[call] = true
	m.line(c, `{"jsonrpc":"2.0","id":`+call+`,"method":"clientService/request","params":{"serviceId":"`+id+`","method":"m"}}`)
}

func (m *model) notify(c *mirror) {
	m.line(c, `{"jsonrpc":"2.0","method":"clientService/notify","params":{"serviceId":"`+m.anyService()+`","method":"m","params":1}}`)
}

func (m *model) answer(c *mirror) {
	i := rapid.IntRange(0, len(c.tasks)-1).Draw(m.t, "task")
	task := c.tasks[i]
	c.tasks = slices.Delete(c.tasks, i, i+1)
	m.line(c, `{"jsonrpc":"2.0","id":`+task+`,"result":1}`)
}

func (m *model) cancel(c *mirror) {
	id := slices.Sorted(maps.Keys(c.calls))[0]
	m.line(c, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":`+id+`}}`)
}

// blink has a client away for a moment, in which something happens, perhaps without having read the
// latest.
func (m *model) blink(c *mirror) {
	if rapid.Bool().Draw(m.t, "blind") {
		c.e.room, c.stalled = 0, true
		for range rapid.IntRange(0, 2).Draw(m.t, "unseen") {
			m.disturb()
		}
	}
	if c.e != nil {
		m.left(c)
	}
	for range rapid.IntRange(0, 3).Draw(m.t, "missed") {
		m.disturb()
	}
	if c.e == nil {
		m.come(c, true)
	}
}

// disturb does something that observers hear of.
func (m *model) disturb() {
	c := m.pick(func(*mirror) bool { return true })
	var own []string
	for id, s := range m.services {
		if s.owner == c.e {
			own = append(own, id)
		}
	}
	slices.Sort(own)
	what := rapid.IntRange(0, 9).Draw(m.t, "disturbance")
	switch {
	case what == 0:
		m.reload()
	case c.e == nil:
	case what < 3:
		m.left(c)
	case what < 6 || len(own) == 0:
		m.register(c)
	default:
		m.update(c, rapid.SampledFrom(own).Draw(m.t, "own"))
	}
}

// forget drops services that the policy took away from the model: what the core still has is compared
// with the naive evaluation by Check and by the registrations that are refused.
func (m *model) forget() {
	for id, s := range m.services {
		p := m.w.core.peer(s.owner.id)
		gone := p == nil || p.state != stateOpen || m.w.core.anonymous(p)
		if !gone {
			gone = !naiveMatch(naivePrincipals(&m.w.core.config)[p.principal].Register, "", s.protocol, s.has)
		}
		if there := m.w.core.services.Lookup([]byte(id)) != nil; there == gone {
			m.t.Fatalf("service %s of %s is there: %v", id, s.owner.name, there)
		}
		if gone {
			delete(m.services, id)
		}
	}
	m.read()
}
