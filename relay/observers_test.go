package relay

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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
		protocols := rapid.SampledFrom([]string{`"a"`, `"b"`, `"ab"`, `"p0/x"`, ``})
		describe := func() (protocol string, has bool, metadata string) {
			raw := protocols.Draw(t, "protocol")
			n := rapid.IntRange(0, 9).Draw(t, "n")
			pad := rapid.SampledFrom([]int{0, 0, 3000}).Draw(t, "pad")
			if raw == "" {
				return "", false, fmt.Sprintf(`{"n":%d,"pad":"%0*d"}`, n, pad, 0)
			}
			return raw[1 : len(raw)-1], true, fmt.Sprintf(`{"protocol":%s,"n":%d,"pad":"%0*d"}`, raw, n, pad, 0)
		}
		anyService := func() string {
			var ids []string
			for s := m.w.core.services.First; s != nil; s = s.Next() {
				ids = append(ids, s.ID)
			}
			if len(ids) == 0 {
				t.Skip()
			}
			return rapid.SampledFrom(ids).Draw(t, "service")
		}
		register := func(c *mirror) {
			protocol, has, metadata := describe()
			e := c.e
			m.request(c, "client/registerService", `{"metadata":`+metadata+`}`, func(msg message) {})
			// What a stalled owner is told, the model reads in the core.
			for s := m.w.core.services.First; s != nil; s = s.Next() {
				if _, known := m.services[s.ID]; !known {
					m.services[s.ID] = offer{e, protocol, has, string(s.Object)}
				}
			}
		}
		update := func(c *mirror, id string) {
			protocol, has, metadata := describe()
			s, p := m.services[id], m.w.core.peer(c.e.id)
			owns := s.owner == c.e && m.w.core.policy.mayRegister(p.principal, protocol, has) && !m.w.core.anonymous(p)
			if owns {
				m.services[id] = offer{s.owner, protocol, has, fmt.Sprintf(`{"serviceId":"%s","clientId":"%s","metadata":%s}`, id, c.clientID, metadata)}
			}
			m.request(c, "client/updateService", fmt.Sprintf(`{"serviceId":"%s","metadata":%s}`, id, metadata), func(msg message) {
				if !owns {
					t.Fatalf("%s updated a service that it may not", c.clientID)
				}
			})
		}
		reload := func() {
			if err := m.w.core.Reload(m.w.now, randomConfig(t)); err != nil {
				t.Fatal(err)
			}
			m.w.drain()
			m.forget()
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { m.check() },
			"initialize": func(t *rapid.T) {
				m.come(m.pick(away), false)
			},
			"reconnect": func(t *rapid.T) {
				m.come(m.pick(away), true)
			},
			"supersede": func(t *rapid.T) {
				m.come(m.pick(here), true)
			},
			"close": func(t *rapid.T) {
				m.left(m.pick(here))
			},
			"half": func(t *rapid.T) {
				c := m.pick(here)
				m.w.unstall(c.e, -1)
				m.w.half(c.e)
				m.read()
			},
			"stall": func(t *rapid.T) {
				c := m.pick(here)
				c.e.room, c.stalled = 0, true
			},
			"unstall": func(t *rapid.T) {
				c := m.pick(func(c *mirror) bool { return here(c) && c.stalled })
				c.stalled = false
				m.w.unstall(c.e, -1)
			},
			"register": func(t *rapid.T) {
				register(m.pick(here))
			},
			"update": func(t *rapid.T) {
				update(m.pick(here), anyService())
			},
			// Away for a moment, in which something happens, perhaps without having read the latest.
			"blink": func(t *rapid.T) {
				c := m.pick(func(c *mirror) bool { return here(c) && c.subscribed })
				if rapid.Bool().Draw(t, "blind") {
					c.e.room, c.stalled = 0, true
					for range rapid.IntRange(0, 2).Draw(t, "unseen") {
						m.disturb(register, update, reload)
					}
				}
				if c.e != nil {
					m.left(c)
				}
				for range rapid.IntRange(0, 3).Draw(t, "missed") {
					m.disturb(register, update, reload)
				}
				if c.e == nil {
					m.come(c, true)
				}
			},
			"unregister": func(t *rapid.T) {
				c, id := m.pick(here), anyService()
				owns := m.services[id].owner == c.e
				if owns {
					delete(m.services, id)
				}
				m.request(c, "client/unregisterService", `{"serviceId":"`+id+`"}`, func(msg message) {
					if !owns {
						t.Fatalf("%s unregistered a service that it does not own", c.clientID)
					}
				})
			},
			"subscribe": func(t *rapid.T) {
				c := m.pick(func(c *mirror) bool { return here(c) && !c.stalled })
				m.request(c, "subscribe", `{"channel":"ahp-client-services://"}`, func(msg message) {
					var r struct{ Snapshot snapshotText }
					_ = json.Unmarshal(msg.Result, &r)
					c.restore(r.Snapshot)
					c.subscribed = true
				})
			},
			"unsubscribe": func(t *rapid.T) {
				c := m.pick(func(c *mirror) bool { return here(c) && !c.stalled })
				c.subscribed = false
				m.line(c, `{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"ahp-client-services://"}}`)
			},
			"authenticate": func(t *rapid.T) {
				c := m.pick(here)
				token := rapid.SampledFrom([]string{"t2", "t3"}).Draw(t, "token")
				m.request(c, "authenticate", `{"resource":"https://ahprelay.localhost","token":"`+token+`"}`, func(message) {})
				m.forget()
			},
			"reload": func(t *rapid.T) {
				reload()
			},
			"call": func(t *rapid.T) {
				c, id := m.pick(here), anyService()
				m.ids++
				call := fmt.Sprintf("%d", m.ids)
				c.calls[call] = true
				m.line(c, `{"jsonrpc":"2.0","id":`+call+`,"method":"clientService/request","params":{"serviceId":"`+id+`","method":"m"}}`)
			},
			"notify": func(t *rapid.T) {
				m.line(m.pick(here), `{"jsonrpc":"2.0","method":"clientService/notify","params":{"serviceId":"`+anyService()+`","method":"m","params":1}}`)
			},
			"answer": func(t *rapid.T) {
				c := m.pick(func(c *mirror) bool { return here(c) && len(c.tasks) > 0 })
				i := rapid.IntRange(0, len(c.tasks)-1).Draw(t, "task")
				task := c.tasks[i]
				c.tasks = append(c.tasks[:i:i], c.tasks[i+1:]...)
				m.line(c, `{"jsonrpc":"2.0","id":`+task+`,"result":1}`)
			},
			"cancel": func(t *rapid.T) {
				c := m.pick(func(c *mirror) bool { return here(c) && len(c.calls) > 0 })
				for id := range c.calls {
					m.line(c, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":`+id+`}}`)
					break
				}
			},
			"pass": func(t *rapid.T) {
				m.w.pass(time.Duration(rapid.IntRange(1, 15000).Draw(t, "ms")) * time.Millisecond)
			},
		})
		m.end()
	})
}

// disturb does something that observers hear of.
func (m *model) disturb(register func(*mirror), update func(*mirror, string), reload func()) {
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
		reload()
	case c.e == nil:
	case what < 3:
		m.left(c)
	case what < 6 || len(own) == 0:
		register(c)
	default:
		update(c, rapid.SampledFrom(own).Draw(m.t, "own"))
	}
}

// forget drops services that the policy took away from the model: what the core still has is compared
// with the naive evaluation by Check and by the registrations that are refused.
func (m *model) forget() {
	for id, s := range m.services {
		p := m.w.core.peer(s.owner.id)
		gone := p == nil || p.state != stateOpen || m.w.core.anonymous(p)
		if !gone {
			gone = !naiveMatch(naivePrincipals(m.w.core.config.Principals)[p.principal].Register, "", s.protocol, s.has)
		}
		if there := m.w.core.services.Lookup([]byte(id)) != nil; there == gone {
			m.t.Fatalf("service %s of %s is there: %v", id, s.owner.name, there)
		}
		if gone {
			delete(m.services, id)
		}
	}
	for _, c := range m.clients {
		if c.e != nil && m.w.core.anonymous(m.w.core.peer(c.e.id)) {
			c.subscribed = false
		}
	}
	m.read()
}
