package sim

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// versionOf picks the highest version of a list that the relay speaks, "" for none; ok is false when it
// is no list of versions.
func versionOf(list *value) (chosen string, ok bool) {
	if list.kind != '[' || len(list.items) == 0 {
		return "", false
	}
	var best [3]int
	for i := range list.items {
		text, clean := list.items[i].string()
		parts := strings.Split(text, ".")
		if !clean || len(parts) != 3 {
			return "", false
		}
		var v [3]int
		for j, part := range parts {
			n, err := strconv.Atoi(part)
			if err != nil || strconv.Itoa(n) != part || n < 0 {
				return "", false
			}
			v[j] = n
		}
		spoken := v[0] == 1 || v[0] == 0 && v[1] >= 3 && v[1] <= 9
		if spoken && (chosen == "" || slices.Compare(v[:], best[:]) > 0) {
			chosen, best = text, v
		}
	}
	return chosen, true
}

// channelList reads a list of channels: those that c may observe, each once in order, and the others.
func (m *model) channelList(c *conn, list *value) (seen, missing []string, ok bool) {
	if list.kind != '[' {
		return nil, nil, false
	}
	for i := range list.items {
		item := &list.items[i]
		if item.kind != '"' {
			return nil, nil, false
		}
		name, _ := item.string()
		switch {
		case name != channelRoot && (name != channelServices || m.shutOut(c)):
			if !slices.ContainsFunc(list.items[:i], func(v value) bool { other, _ := v.string(); return other == name }) {
				missing = append(missing, item.raw)
			}
		case !slices.Contains(seen, name):
			seen = append(seen, name)
		}
	}
	return seen, missing, true
}

// clientOf reads a clientId.
func (m *model) clientOf(v *value) (string, bool) {
	text, ok := v.string()
	return text, ok && text != "" && len(text) <= m.config.Limits.ClientIDBytesMax
}

// holder returns the live connection that has a clientId for itself.
func (m *model) holder(client string) *conn {
	for _, c := range m.conns {
		if c.holds && c.client == client {
			return c
		}
	}
	return nil
}

func (m *model) initialize(c *conn, id string, params *value) {
	versions, _ := params.get("protocolVersions")
	chosen, okVersions := versionOf(&versions)
	clientValue, _ := params.get("clientId")
	client, okClient := m.clientOf(&clientValue)
	subs, n := params.get("initialSubscriptions")
	seen, _, okSubs := m.channelList(c, &subs)
	var wrong []failure
	if !once(params, "channel", "protocolVersions", "clientId", "initialSubscriptions", "clientInfo") || !on(params, channelRoot) || !okVersions || !okClient || n > 0 && !okSubs {
		wrong = append(wrong, failure{-32602, ""})
	} else if chosen == "" {
		wrong = append(wrong, failure{-32005, `{"supportedVersions":["^1.0.0","^0.9.0","^0.8.0","^0.7.0","^0.6.0","^0.5.0","^0.4.0","^0.3.0"]}`})
	}
	if len(wrong) == 0 {
		wrong = m.unwelcome(c, client, len(seen))
		if m.reserves(c) && m.holder(client) != nil {
			wrong = append(wrong, failure{-32010, ""})
		}
	}
	if len(wrong) > 0 {
		if m.fails(c, id, wrong).code == -32005 {
			m.condemn(c, "unsupportedVersion")
		}
		return
	}
	m.admit(c, client, chosen, seen)
	_, holes := m.read(c, result(id, holeRest))
	if holes == nil {
		c.since = unknown // what it got it never sees
		return
	}
	r, ok := readJSON(holes[0], 128)
	must(ok && r.distinct(), "the result of initialize is %s", holes[0])
	version, _ := r.get("protocolVersion")
	must(version.is(chosen), "%s gets version %s, not %s", c.name, version.raw, chosen)
	m.seqIs(&r, "serverSeq")
	dir, has := r.get("defaultDirectory")
	must((m.config.DefaultDirectory != "") == (has > 0) && (has == 0 || dir.is(m.config.DefaultDirectory)), "defaultDirectory %s", dir.raw)
	info, _ := r.get("serverInfo")
	name, _ := info.get("name")
	must(name.is("ahprelay"), "serverInfo %s", info.raw)
	snapshots, _ := r.get("snapshots")
	m.snapshots(c, &snapshots, seen)
	m.capability(c, &r)
}

// unwelcome lists what stands against a handshake under a clientId.
func (m *model) unwelcome(c *conn, client string, channels int) (wrong []failure) {
	if m.draining {
		wrong = append(wrong, failure{-32053, "{" + never + "}"})
	}
	if m.reserves(c) && !m.mayBe(c.principal, client) {
		wrong = append(wrong, failure{-32009, ""})
	}
	if channels > m.config.Limits.SubscriptionsPerConnectionMax {
		wrong = append(wrong, limitFailure("subscriptionsPerConnection"))
	}
	return wrong
}

func (m *model) admit(c *conn, client, version string, channels []string) {
	c.phase, c.client, c.version, c.since = phaseOpen, client, version, m.seq
	c.holds = m.reserves(c)
	for _, ch := range channels {
		c.subscribed[ch] = true
	}
}

// seqIs checks the member that tells the current serverSeq.
func (m *model) seqIs(v *value, name string) uint64 {
	member, _ := v.get(name)
	n, ok := member.integer()
	must(ok && n > 0 && n < 1<<53 && (uint64(n) == m.seq || m.loose && uint64(n) > m.seq), "%s is %s, it should be %d", name, member.raw, m.seq)
	m.seq = uint64(n)
	return m.seq
}

// snapshots checks a list of snapshots.
func (m *model) snapshots(c *conn, list *value, channels []string) {
	must(len(list.items) == len(channels), "%s gets %d snapshots, not %d", c.name, len(list.items), len(channels))
	for i, ch := range channels {
		m.isSnapshot(c, &list.items[i], ch)
	}
	if len(channels) > 0 {
		c.snapshot = c.sent + c.queue
	}
}

// isSnapshot checks a snapshot; from that of the catalogue on, c follows it.
func (m *model) isSnapshot(c *conn, v *value, channel string) {
	resource, _ := v.get("resource")
	must(resource.is(channel), "a snapshot of %s, not of %s", resource.raw, channel)
	seq := m.seqIs(v, "fromSeq")
	state, _ := v.get("state")
	if channel == channelRoot {
		must(state.raw == `{"agents":[]}`, "the root's state is %s", state.raw)
		return
	}
	services, _ := state.get("services")
	var want []string
	for _, s := range m.services {
		if m.rights(c, s).discover {
			want = append(want, s.object)
		}
	}
	must(services.raw == "["+strings.Join(want, ",")+"]", "%s sees the catalogue %s, not [%s]", c.name, services.raw, strings.Join(want, ","))
	c.look(m, &services, seq)
}

// capability checks what the results of initialize and reconnect have in common.
func (m *model) capability(c *conn, r *value) {
	services, _ := r.get("clientServices")
	channel, _ := services.get("channel")
	limits, _ := services.get("limits")
	frame, _ := limits.get("frameBytes")
	n, ok := frame.integer()
	must(channel.is(channelServices) && ok && int(n) == m.config.Limits.FrameBytesMax, "clientServices is %s", services.raw)
	meta, _ := r.get("_meta")
	token, _ := meta.get("ahprelay.resumeToken")
	text, ok := token.string()
	must(ok && len(text) >= 16 && !m.ids[text], "the resume token is %s", token.raw)
	m.ids[text] = true
	c.token, c.line = text, m.line
	m.names["$T"+strconv.Itoa(m.line)] = text
}

func (m *model) subscribe(c *conn, id string, params *value) {
	ch, n := params.get("channel")
	name, _ := ch.string()
	var wrong []failure
	switch {
	case n != 1 || ch.kind != '"':
		wrong = append(wrong, failure{-32602, ""})
	case name != channelRoot && name != channelServices:
		wrong = append(wrong, failure{-32008, ""})
	case name == channelServices && m.shutOut(c):
		wrong = append(wrong, m.authFailure(""))
	default:
		if !c.subscribed[name] && len(c.subscribed) >= m.config.Limits.SubscriptionsPerConnectionMax {
			wrong = append(wrong, limitFailure("subscriptionsPerConnection"))
		}
		if c.snapshot > c.sent && (c.stuck || c.snapshot-c.sent > 64<<10) {
			wrong = append(wrong, limitFailure("snapshots"))
		}
	}
	if len(wrong) > 0 {
		m.fails(c, id, wrong)
		return
	}
	c.subscribed[name] = true
	_, holes := m.read(c, result(id, `{"snapshot":`+holeRest+`}`))
	if holes == nil {
		return
	}
	v, ok := readJSON(holes[0], 128)
	must(ok, "a snapshot %s", holes[0])
	m.isSnapshot(c, &v, name)
	c.snapshot = c.sent + c.queue
}

func (m *model) unsubscribe(c *conn, ch *value) {
	name, _ := ch.string()
	delete(c.subscribed, name)
	if name == channelServices {
		c.mirror = nil
	}
}

// remember keeps what a client may be resumed from.
func (m *model) remember(c *conn) {
	if !m.reserves(c) {
		return
	}
	m.memories = slices.DeleteFunc(m.memories, func(r memory) bool { return r.client == c.client })
	subscribed := maps.Clone(c.subscribed)
	if c.snapshot > c.sent {
		clear(subscribed) // it has not got what a replay would build on
	}
	m.memories = append(m.memories, memory{c.client, c.version, c.principal, subscribed, m.era, c.since})
	if extra := len(m.memories) - m.config.Limits.ResumeEntries; extra > 0 {
		m.memories = m.memories[extra:]
	}
}
