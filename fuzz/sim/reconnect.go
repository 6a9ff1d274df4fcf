package sim

import (
	"maps"
	"slices"
	"strings"
)

func (m *model) reconnect(c *conn, id string, params *value) {
	clientValue, _ := params.get("clientId")
	client, okClient := m.clientOf(&clientValue)
	last, _ := params.get("lastSeenServerSeq")
	seq, okSeq := last.integer()
	list, _ := params.get("subscriptions")
	channels, missing, okList := m.channelList(c, &list)
	meta, _ := params.get("_meta")
	var wrong []failure
	if !once(params, "channel", "clientId", "lastSeenServerSeq", "subscriptions", "_meta") || !on(params, channelRoot) || !okClient || !okSeq || !okList {
		wrong = append(wrong, failure{-32602, ""})
	} else {
		wrong = m.unwelcome(c, client, len(channels))
	}
	var old *conn
	if len(wrong) == 0 && m.reserves(c) {
		if old = m.holder(client); old != nil && !supersedes(c, old, &meta) {
			wrong = append(wrong, failure{-32010, ""})
		}
	}
	if len(wrong) > 0 {
		m.fails(c, id, wrong)
		return
	}
	if old != nil {
		m.close(old, "superseded")

	}
	past, known := m.past(c, client)
	m.admit(c, client, past.version, channels)
	_, holes := m.read(c, result(id, holeRest))
	if holes == nil {
		c.since = unknown // what it got it never sees
		return
	}
	r, ok := readJSON(holes[0], 128)
	must(ok && r.distinct(), "the result of reconnect is %s", holes[0])
	version, n := r.get("protocolVersion")
	must(n == 0 && past.version == "" || n == 1 && version.is(past.version), "protocolVersion %s after %q", version.raw, past.version)
	m.capability(c, &r)
	if kind, _ := r.get("type"); kind.is("snapshot") {
		must(!m.mustReplay(c, past, known, uint64(seq), channels), "%s reconnects with a snapshot where a replay is due", c.name)
		snapshots, _ := r.get("snapshots")
		m.snapshots(c, &snapshots, channels)
		return
	}
	must(known && m.config.Limits.ReplayActions > 0 && (uint64(seq) <= m.seq || m.loose) && m.after(uint64(seq)) <= m.config.Limits.ReplayActions, "%s reconnects with a replay that cannot be", c.name)
	for _, ch := range channels {
		must(past.subscribed[ch], "%s reconnects with a replay of %s, which it did not follow", c.name, ch)
	}
	c.since = past.since
	m.tally.add("replay")
	m.replayed(c, &r, uint64(seq), slices.Contains(channels, channelServices), missing)
}

// supersedes reports whether c may take the place of a live connection.
func supersedes(c, old *conn, meta *value) bool {
	if c.credential != "" || old.credential != "" {
		return c.credential != "" && old.credential != "" && c.principal == old.principal
	}
	token, n := meta.get("ahprelay.resumeToken")
	return n == 1 && token.is(old.token)
}

// past returns what the relay remembers of a client.
func (m *model) past(c *conn, client string) (memory, bool) {
	for _, r := range m.memories {
		if r.client == client && r.principal == c.principal && m.reserves(c) {
			return r, true
		}
	}
	return memory{}, false
}

// after counts the actions behind seq that are known.
func (m *model) after(seq uint64) (n int) {
	for _, a := range m.changes {
		if a.seq > seq {
			n++
		}
	}
	return n
}

// mustReplay reports whether the contract leaves no other choice: nothing about rights has changed, all
// is in the buffer, and the replay is smaller whoever may see what of it.
func (m *model) mustReplay(c *conn, past memory, known bool, seq uint64, channels []string) bool {
	l := m.config.Limits
	if !known || l.ReplayActions == 0 || past.era != m.era || m.loose || seq < past.since || seq > m.seq || m.after(seq) > l.ReplayActions {
		return false
	}
	for _, ch := range channels {
		if !past.subscribed[ch] {
			return false
		}
	}
	replay := 0
	for _, a := range m.changes {
		if a.seq > seq && a.older {
			return false // it may bring a service into sight behind those that were registered after it
		}
		if a.seq > seq {
			replay += a.bytes
		}
	}
	snapshot := 0
	for _, object := range m.visible(c) {
		snapshot += len(object)
	}
	return replay == 0 || replay < snapshot && replay < l.CatalogBytesMax
}

// replayed checks a replay: what the client knew and what is replayed make what it may see now.
func (m *model) replayed(c *conn, r *value, seq uint64, services bool, missing []string) {
	lacking, _ := r.get("missing")
	must(lacking.raw == "["+strings.Join(missing, ",")+"]", "missing is %s, not %v", lacking.raw, missing)
	actions, _ := r.get("actions")
	must(services || len(actions.items) == 0, "%s gets actions of a channel that it has not asked for", c.name)
	if !services {
		return
	}
	honest := false
	for _, told := range m.stories[c.story()] {
		honest = honest || told.seq == seq
	}
	mirror := m.recalled(c.story(), seq)
	at, size := seq, 0
	for i := range actions.items {
		a := &actions.items[i]
		number, _ := a.get("serverSeq")
		n, ok := number.integer()
		must(ok && uint64(n) > at && (uint64(n) <= m.seq || m.loose), "the replay after %d goes from %d to %s", seq, at, number.raw)
		at = uint64(n)
		size += len(a.raw)
		must(on(a, channelServices), "a replayed action of another channel: %s", a.raw)
		action, _ := a.get("action")
		kind, _ := action.get("type")
		object, set := action.get("service")
		id, _ := action.get("serviceId")
		if set > 0 {
			id, _ = object.get("serviceId")
		}
		must(kind.is("clientService/set") && set == 1 || kind.is("clientService/removed") && set == 0, "a replayed action %s", a.raw)
		text, _ := id.string()
		apply(mirror, text, object.raw)
	}
	if honest && len(actions.items) > 0 {
		m.tally.add("replay of actions")
	}
	truth := m.visible(c)
	must(!honest || maps.Equal(mirror, truth), "%s knew everything up to %d; with what is replayed it sees %v, not %v", c.name, seq, mirror, truth)
	snapshot := 512
	for _, object := range truth {
		snapshot += len(object)
	}
	must(size == 0 || size < snapshot, "a replay of %d bytes, where a snapshot has about %d", size, snapshot)
	c.mirror, c.lastSeq = truth, m.seq
	m.tell(c, moment{seq: m.seq, snapshot: maps.Clone(truth)})
}
