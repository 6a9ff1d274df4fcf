package loop

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// catalog is what an observer knows, kept up from snapshots and actions. Everybody sees everything in
// these tests, so serverSeq must grow by exactly one from action to action.
type catalog struct {
	services map[string]string // serviceId: clientId and metadata
	order    []string
	seq      uint64
}

type serviceObject struct {
	ServiceID string          `json:"serviceId"`
	ClientID  string          `json:"clientId"`
	Metadata  json.RawMessage `json:"metadata"`
}

type snapshotObject struct {
	Resource string `json:"resource"`
	State    struct {
		Services []serviceObject `json:"services"`
	} `json:"state"`
	FromSeq uint64 `json:"fromSeq"`
}

type actionEnvelope struct {
	Action struct {
		Type      string        `json:"type"`
		Service   serviceObject `json:"service"`
		ServiceID string        `json:"serviceId"`
	} `json:"action"`
	ServerSeq uint64 `json:"serverSeq"`
}

func newCatalog(snap snapshotObject) (*catalog, error) {
	if snap.Resource != "ahp-client-services://" {
		return nil, fmt.Errorf("snapshot of %q", snap.Resource)
	}
	c := &catalog{services: map[string]string{}, seq: snap.FromSeq}
	for _, s := range snap.State.Services {
		if _, twice := c.services[s.ServiceID]; twice {
			return nil, fmt.Errorf("%s is in the snapshot twice", s.ServiceID)
		}
		c.services[s.ServiceID] = s.ClientID + string(s.Metadata)
		c.order = append(c.order, s.ServiceID)
	}
	return c, nil
}

func (c *catalog) apply(e actionEnvelope) error {
	if e.ServerSeq != c.seq+1 {
		return fmt.Errorf("action %d after %d", e.ServerSeq, c.seq)
	}
	c.seq = e.ServerSeq
	switch e.Action.Type {
	case "clientService/set":
		s := e.Action.Service
		if _, known := c.services[s.ServiceID]; !known {
			c.order = append(c.order, s.ServiceID)
		}
		c.services[s.ServiceID] = s.ClientID + string(s.Metadata)
	case "clientService/removed":
		if _, known := c.services[e.Action.ServiceID]; !known {
			return fmt.Errorf("%s removed, which was not there", e.Action.ServiceID)
		}
		delete(c.services, e.Action.ServiceID)
		c.order = slices.DeleteFunc(c.order, func(id string) bool { return id == e.Action.ServiceID })
	default:
		return fmt.Errorf("action %q", e.Action.Type)
	}
	return nil
}

func (c *catalog) equal(d *catalog) bool {
	return c.seq == d.seq && maps.Equal(c.services, d.services) && slices.Equal(c.order, d.order)
}

// observer follows the catalogue.
type observer struct {
	*peer
	addr    string
	catalog *catalog
}

// next reads one line: an action, which it applies, or an answer, which it returns the result of.
func (o *observer) next() (json.RawMessage, error) {
	line, err := o.tryLine()
	if err != nil {
		return nil, err
	}
	var m struct {
		Method string          `json:"method"`
		Params actionEnvelope  `json:"params"`
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		return nil, err
	}
	switch {
	case m.Method == "action":
		return nil, o.catalog.apply(m.Params)
	case m.Result == nil:
		return nil, fmt.Errorf("unexpected line %s", line)
	}
	return m.Result, nil
}

// answer applies actions until an answer comes.
func (o *observer) answer() (json.RawMessage, error) {
	for {
		if result, err := o.next(); result != nil || err != nil {
			return result, err
		}
	}
}

// refresh subscribes again: the fresh snapshot must be what the observer knows already.
func (o *observer) refresh() error {
	if err := o.trySend(subscribeLine); err != nil {
		return err
	}
	raw, err := o.answer()
	if err != nil {
		return err
	}
	var sub struct {
		Snapshot snapshotObject `json:"snapshot"`
	}
	if err := json.Unmarshal(raw, &sub); err != nil {
		return err
	}
	fresh, err := newCatalog(sub.Snapshot)
	if err != nil {
		return err
	}
	if !fresh.equal(o.catalog) {
		return fmt.Errorf("the snapshot at %d has %v, the actions until %d led to %v", fresh.seq, fresh.order, o.catalog.seq, o.catalog.order)
	}
	return nil
}

// observe connects with the catalogue among its initial subscriptions.
func observe(t testing.TB, addr, clientID string) (*observer, error) {
	nc, err := connect(t, addr)
	if err != nil {
		return nil, err
	}
	o := &observer{peer: newPeer(t, nc), addr: addr}
	if err := o.trySend(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersions":["1.0.0"],"clientId":"` + clientID + `","initialSubscriptions":["ahp-client-services://"]}}`); err != nil {
		return nil, err
	}
	raw, err := o.answer()
	if err != nil {
		return nil, err
	}
	var hello struct {
		ServerSeq uint64           `json:"serverSeq"`
		Snapshots []snapshotObject `json:"snapshots"`
	}
	if err := json.Unmarshal(raw, &hello); err != nil || len(hello.Snapshots) != 1 || hello.Snapshots[0].FromSeq != hello.ServerSeq {
		return nil, fmt.Errorf("initialize: %s %v", raw, err)
	}
	o.catalog, err = newCatalog(hello.Snapshots[0])
	return o, err
}

// again closes the connection and reconnects: a replay continues where the actions ended, a snapshot
// replaces what was known.
func (o *observer) again(clientID string) (replayed bool, err error) {
	_ = o.Close()
	nc, err := connect(o.t, o.addr)
	if err != nil {
		return false, err
	}
	o.peer = newPeer(o.t, nc)
	line := `{"jsonrpc":"2.0","id":0,"method":"reconnect","params":{"clientId":"` + clientID + `","lastSeenServerSeq":` + strconv.FormatUint(o.catalog.seq, 10) + `,"subscriptions":["ahp-client-services://"]}}`
	for {
		if err := o.trySend(line); err != nil {
			return false, err
		}
		answer, err := o.tryLine()
		if err != nil {
			return false, err
		}
		if strings.Contains(answer, `"code":-32010`) {
			continue // the relay has not seen the close yet
		}
		return o.resume(answer)
	}
}

func (o *observer) resume(line string) (replayed bool, err error) {
	var m struct {
		Result struct {
			Type      string           `json:"type"`
			Actions   []actionEnvelope `json:"actions"`
			Missing   []string         `json:"missing"`
			Snapshots []snapshotObject `json:"snapshots"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		return false, err
	}
	switch r := m.Result; {
	case r.Type == "replay" && len(r.Missing) == 0:
		for _, a := range r.Actions {
			if err := o.catalog.apply(a); err != nil {
				return true, fmt.Errorf("in a replay: %w", err)
			}
		}
		return true, nil
	case r.Type == "snapshot" && len(r.Snapshots) == 1:
		o.catalog, err = newCatalog(r.Snapshots[0])
		return false, err
	}
	return false, fmt.Errorf("reconnect: %s", line)
}
