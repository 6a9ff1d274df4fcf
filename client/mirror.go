package client

import (
	"context"
	"slices"
	"sync"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
)

// ServiceInfo is what the catalogue says of a service.
type ServiceInfo struct {
	ID       string          `json:"serviceId"`
	ClientID string          `json:"clientId"` // of the owner, vouched for by the relay
	Metadata json.RawMessage `json:"metadata"`
}

// snapshotResult is a channel's state as the relay sends it.
type snapshotResult struct {
	Resource string `json:"resource"`
	State    struct {
		Services []ServiceInfo `json:"services"`
	} `json:"state"`
	FromSeq uint64 `json:"fromSeq"`
}

// actionParams is one change of a channel.
type actionParams struct {
	Channel string `json:"channel"`
	Action  struct {
		Type      string       `json:"type"`
		Service   *ServiceInfo `json:"service"`
		ServiceID string       `json:"serviceId"`
	} `json:"action"`
	ServerSeq uint64 `json:"serverSeq"`
}

// mirror is the client's copy of the catalogue, kept while there are watchers. The reader of the link
// it is subscribed on changes it; watchers read it.
type mirror struct {
	c   *Client
	sem chan struct{} // cap 1, held while a subscription changes

	mu       sync.Mutex
	l        *link // subscribed on this link; nil: on none
	seq      uint64
	services map[string]*mirrored
	order    uint64
	bytes    int // of the entries
	watchers map[*Catalog]struct{}
	ended    bool
}

type mirrored struct {
	info  ServiceInfo
	order uint64 // of registration
}

func (m *mirror) init(c *Client) {
	m.c = c
	m.sem = make(chan struct{}, 1)
	m.services = map[string]*mirrored{}
	m.watchers = map[*Catalog]struct{}{}
}

// size is what an entry is charged with.
func (i *ServiceInfo) size() int { return len(i.ID) + len(i.ClientID) + len(i.Metadata) + 128 }

// set enters a service that was added or changed. m.mu is held.
func (m *mirror) set(info ServiceInfo) error {
	if info.ID == "" {
		return protocolError("a catalogue entry without serviceId")
	}
	e := m.services[info.ID]
	if e == nil {
		m.order++
		e = &mirrored{order: m.order}
		m.services[info.ID] = e
	} else {
		m.bytes -= e.info.size()
	}
	e.info = info
	m.bytes += info.size()
	if m.bytes > m.c.opt.frameBytes {
		return protocolError("a catalogue of more than %d bytes", m.c.opt.frameBytes)
	}
	return nil
}

// replace takes over a whole state. m.mu is held.
func (m *mirror) replace(services []ServiceInfo, seq uint64) error {
	m.services = make(map[string]*mirrored, len(services))
	m.bytes, m.order, m.seq = 0, 0, seq
	for _, info := range services {
		if err := m.set(info); err != nil {
			return err
		}
	}
	for w := range m.watchers {
		w.restart()
	}
	return nil
}

// state returns the services in order of registration. m.mu is held.
func (m *mirror) state() []ServiceInfo {
	all := make([]*mirrored, 0, len(m.services))
	for _, e := range m.services {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *mirrored) int {
		if a.order < b.order {
			return -1
		}
		return 1
	})
	out := make([]ServiceInfo, len(all))
	for i, e := range all {
		out[i] = e.info
	}
	return out
}

// action takes a change that arrived on l. It runs on l's reader.
func (m *mirror) action(l *link, params []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.l != l {
		return nil // the rest of a subscription that has ended
	}
	return m.apply(params)
}

// apply makes a change. m.mu is held.
func (m *mirror) apply(params []byte) error {
	var p actionParams
	if err := decodeObject(params, &p, "action"); err != nil {
		return err
	}
	if p.Channel != servicesChannel {
		return nil
	}
	if p.ServerSeq <= m.seq {
		return protocolError("an action with serverSeq %d after %d", p.ServerSeq, m.seq)
	}
	m.seq = p.ServerSeq
	ev := CatalogEvent{Seq: p.ServerSeq}
	switch p.Action.Type {
	case "clientService/set":
		if p.Action.Service == nil {
			return protocolError("clientService/set without service")
		}
		ev.Kind, ev.Service = ServiceSet, *p.Action.Service
		if err := m.set(ev.Service); err != nil {
			return err
		}
	case "clientService/removed":
		e := m.services[p.Action.ServiceID]
		if e == nil {
			return nil
		}
		m.bytes -= e.info.size()
		delete(m.services, p.Action.ServiceID)
		ev.Kind, ev.Service = ServiceRemoved, e.info
	default:
		return nil // one of a later version of the protocol
	}
	for w := range m.watchers {
		w.push(ev)
	}
	return nil
}

// resume returns what to ask for when the connection is made again.
func (m *mirror) resume() (subscriptions []string, seq uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.l = nil
	subscriptions = []string{}
	if len(m.watchers) > 0 {
		subscriptions = append(subscriptions, servicesChannel)
	}
	return subscriptions, m.seq
}

// resumed takes over the part of a handshake's result that is about the catalogue: a snapshot or the
// actions missed. It runs on l's reader.
func (m *mirror) resumed(l *link, r *helloResult) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.watchers) == 0 {
		m.seq = max(m.seq, r.ServerSeq)
		return nil
	}
	m.l = l
	if r.Type == "replay" && !slices.Contains(r.Missing, servicesChannel) {
		for _, raw := range r.Actions {
			if err := m.apply(envelope(raw)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, s := range r.Snapshots {
		if s.Resource == servicesChannel {
			return m.replace(s.State.Services, s.FromSeq)
		}
	}
	m.c.opt.log.Warn("the catalogue may not be observed any more")
	return m.replace(nil, max(m.seq, r.ServerSeq))
}

// envelope returns the params of a replayed action, which may come as such or as a whole notification.
func envelope(raw []byte) []byte {
	members := codec.ObjectMembers(raw)
	for name, value, ok := members.Next(); ok; name, value, ok = members.Next() {
		if codec.EqualString(name, "params") {
			return value
		}
	}
	return raw
}

// subscribe fetches a snapshot. keep says to go on watching: the mirror then follows the changes.
func (m *mirror) subscribe(ctx context.Context, keep func() bool) ([]ServiceInfo, error) {
	l := m.c.link.Load()
	var services []ServiceInfo
	_, err := l.request(ctx, "subscribe", rootParams{Channel: servicesChannel}, func(raw []byte) error {
		var r struct {
			Snapshot snapshotResult `json:"snapshot"`
		}
		if err := decodeObject(raw, &r, "the result of subscribe"); err != nil {
			return err
		}
		services = r.Snapshot.State.Services
		m.mu.Lock()
		defer m.mu.Unlock()
		if !keep() {
			return nil
		}
		m.l = l
		return m.replace(services, r.Snapshot.FromSeq)
	})
	return services, m.c.because(err)
}

// unsubscribe tells the relay that nobody watches. The caller holds m.sem.
func (m *mirror) unsubscribe(l *link) {
	const msg = `{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"` + servicesChannel + "\"}}\n"
	l.out.force([]byte(msg))
}

// end wakes the watchers of a client that has ended.
func (m *mirror) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	for w := range m.watchers {
		w.signal()
	}
}
