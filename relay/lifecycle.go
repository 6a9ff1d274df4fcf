package relay

import (
	"strconv"
	"unicode/utf8"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/table"
)

// initialize handles the first request of a client that starts afresh.
func (c *Core) initialize(p *peer, id, params []byte) {
	names := []string{"channel", "protocolVersions", "clientId", "initialSubscriptions", "clientInfo"}
	var v [5][]byte
	if !members(params, names, v[:]) || v[0] != nil && !isString(v[0], codec.ChannelRoot) {
		c.fail(p, id, codec.CodeInvalidParams, "", nil)
		return
	}
	chosen, ok := chooseVersion(v[1])
	if !ok {
		c.fail(p, id, codec.CodeInvalidParams, "protocolVersions must list MAJOR.MINOR.PATCH versions", nil)
		return
	}
	clientID, ok := text(v[2], c.limits.ClientIDBytesMax)
	if !ok {
		c.fail(p, id, codec.CodeInvalidParams, "clientId must be text of limited length", nil)
		return
	}
	var order []uint8
	var set uint8
	if v[3] != nil {
		if set, order, _, ok = c.channels(p, v[3]); !ok {
			c.fail(p, id, codec.CodeInvalidParams, "initialSubscriptions must list channels", nil)
			return
		}
	}
	switch {
	case chosen == "":
		c.fail(p, id, codec.CodeUnsupportedVersion, "", unsupportedData)
		c.condemn(p, ReasonUnsupportedVersion, "none of the offered protocol versions is supported")
		return
	case c.draining:
		c.fail(p, id, codec.CodeOverloaded, "the relay is shutting down", limitData("never", ""))
		return
	case c.reserves(p) && !c.policy.mayBe(p.principal, clientID):
		c.fail(p, id, codec.CodePermissionDenied, "clientId is not this principal's to use", nil)
		return
	case c.reserves(p) && c.clients[clientID] != nil:
		c.fail(p, id, codec.CodeAlreadyExists, "clientId is in use", nil)
		return
	case subscriptions(set) > c.limits.SubscriptionsPerConnectionMax:
		c.fail(p, id, codec.CodeLimit, "", limitData("", "subscriptionsPerConnection"))
		return
	}
	p.clientName, p.clientVer = clientInfo(v[4])
	c.admit(p, clientID, chosen, set)
	c.respond(p, id, c.snapshotsBytes(p, set)+2048, func(b []byte) []byte {
		b = append(append(b, `{"protocolVersion":`...), codec.AppendQuoted(nil, chosen)...)
		b = strconv.AppendUint(append(b, `,"serverSeq":`...), c.seq, 10)
		b = append(b, `,"serverInfo":{"name":"ahprelay","version":`...)
		b = append(codec.AppendQuoted(b, c.config.Version), `,"title":"ahprelay, a relay for client services"},"snapshots":`...)
		b = c.appendSnapshots(b, p, order)
		if c.config.DefaultDirectory != "" {
			b = codec.AppendQuoted(append(b, `,"defaultDirectory":`...), c.config.DefaultDirectory)
		}
		return c.appendHandshakeTail(b, p)
	})
	p.snapshotEnd = snapshotEnd(p, order)
}

// handshakeBytesMax is more than the result of initialize or reconnect has besides its snapshots.
const handshakeBytesMax = 16 << 10

// admit opens a connection for good.
func (c *Core) admit(p *peer, clientID, version string, channels uint8) {
	p.state = stateOpen
	p.clientID, p.version = clientID, version
	p.client = codec.AppendQuoted(nil, clientID)
	p.resumeToken = c.newToken()
	p.since = c.seq
	if c.reserves(p) {
		c.clients[clientID] = p
	}
	c.observe(p, channels)
	c.rearm(p)
}

func snapshotEnd(p *peer, order []uint8) uint64 {
	if len(order) == 0 {
		return 0
	}
	return p.out.sent + uint64(p.out.size)
}

func (c *Core) appendSnapshots(b []byte, p *peer, order []uint8) []byte {
	b = append(b, '[')
	for i, ch := range order {
		if i > 0 {
			b = append(b, ',')
		}
		b = c.appendSnapshot(b, p, ch)
	}
	return append(b, ']')
}

// appendHandshakeTail ends the result of initialize and reconnect.
func (c *Core) appendHandshakeTail(b []byte, p *peer) []byte {
	b = append(b, `,"clientServices":{"channel":"`+codec.ChannelServices+`","limits":`...)
	b = c.limits.appendTo(b, p.usage)
	b = append(b, `},"_meta":{"ahprelay.resumeToken":"`...)
	return append(append(b, p.resumeToken...), `"}}`...)
}

// clientInfo reads what a client says of itself, for people only.
func clientInfo(raw []byte) (name, version string) {
	if codec.KindOf(raw) != codec.Object {
		return "", ""
	}
	var v [2][]byte
	members(raw, []string{"name", "version"}, v[:])
	return cut(v[0]), cut(v[1])
}

func cut(raw []byte) string {
	if codec.KindOf(raw) != codec.String {
		return ""
	}
	decoded, _ := codec.Unquote(nil, raw)
	for len(decoded) > clientInfoBytesMax {
		_, size := utf8.DecodeLastRune(decoded)
		decoded = decoded[:len(decoded)-size]
	}
	return string(decoded)
}

// reconnect handles the first request of a client that was here before.
func (c *Core) reconnect(p *peer, id, params []byte) {
	names := []string{"channel", "clientId", "lastSeenServerSeq", "subscriptions", "_meta"}
	var v [5][]byte
	if !members(params, names, v[:]) || v[0] != nil && !isString(v[0], codec.ChannelRoot) {
		c.fail(p, id, codec.CodeInvalidParams, "", nil)
		return
	}
	clientID, ok := text(v[1], c.limits.ClientIDBytesMax)
	_, okSeq := codec.IsInteger(v[2])
	seen, issued := codec.Integer(v[2])
	set, order, missing, okList := c.channels(p, v[3])
	if !ok || !okSeq || !okList {
		c.fail(p, id, codec.CodeInvalidParams, "clientId must be text, lastSeenServerSeq an integer and subscriptions a list of channels", nil)
		return
	}
	switch {
	case c.draining:
		c.fail(p, id, codec.CodeOverloaded, "the relay is shutting down", limitData("never", ""))
		return
	case c.reserves(p) && !c.policy.mayBe(p.principal, clientID):
		c.fail(p, id, codec.CodePermissionDenied, "clientId is not this principal's to use", nil)
		return
	case subscriptions(set) > c.limits.SubscriptionsPerConnectionMax:
		c.fail(p, id, codec.CodeLimit, "", limitData("", "subscriptionsPerConnection"))
		return
	}
	if old := c.clients[clientID]; old != nil && c.reserves(p) {
		if !c.supersedes(p, old, v[4]) {
			c.fail(p, id, codec.CodeAlreadyExists, "clientId is in use", nil)
			return
		}
		c.close(old, ReasonSuperseded, "the client connected again")
	}
	was, known := table.Resumable{}, false
	if c.reserves(p) {
		was, known = c.resume.Get(clientID)
	}
	pr := &c.policy.principals[p.principal]
	known = known && was.Principal == pr.name
	c.admit(p, clientID, was.Version, set)
	if !known {
		p.version = ""
	}
	replay, ok := c.replayable(p, was, known && issued && seen >= 0, uint64(seen), set)
	if ok {
		p.since = was.Since
		c.respond(p, id, 2048, func(b []byte) []byte { return c.appendReplay(b, p, replay, missing) })
		return
	}
	c.respond(p, id, c.snapshotsBytes(p, set)+2048, func(b []byte) []byte {
		b = c.appendSnapshots(append(b, `{"type":"snapshot","snapshots":`...), p, order)
		return c.appendHandshakeTail(c.appendVersion(b, p), p)
	})
	p.snapshotEnd = snapshotEnd(p, order)
}

// supersedes reports whether p may take over the clientId of a live connection.
func (c *Core) supersedes(p, old *peer, meta []byte) bool {
	if p.label != nil || old.label != nil {
		return p.label != nil && old.label != nil && p.principal == old.principal
	}
	if codec.KindOf(meta) != codec.Object {
		return false
	}
	var token [1][]byte
	if !members(meta, []string{"ahprelay.resumeToken"}, token[:]) {
		return false
	}
	given, ok := text(token[0], 256)
	return ok && equalSecret(given, old.resumeToken)
}

// replayable returns how many of the latest actions, visible to p or not, lie behind what the client has
// seen, if a replay of them is possible and worth while.
func (c *Core) replayable(p *peer, was table.Resumable, known bool, seen uint64, set uint8) (count int, ok bool) {
	pr := &c.policy.principals[p.principal]
	if !known || was.Epoch != pr.epoch || seen < was.Since || seen > c.seq || set&^was.Subscribed != 0 || c.limits.ReplayActions == 0 {
		return 0, false
	}
	count, ok = c.replay.After(seen)
	if !ok {
		return 0, false
	}
	size := len("[]")
	for i := count; i > 0 && set&channelServices != 0; i-- {
		a := c.replay.Latest(i)
		if a.Moved != nil && a.Moved[p.principal]&rightDiscover != 0 {
			return 0, false // the services would be in another order than in a snapshot
		}
		if c.replayed(p, a) {
			size += len(envelope(a.Line)) + len(",")
		}
	}
	if size == len("[]") {
		return count, true // nothing has been missed
	}
	return count, size-len(",") < c.snapshotsBytes(p, set)
}

// replayed reports whether a replay to p holds a.
func (c *Core) replayed(p *peer, a *table.Action) bool {
	return a.Rights[p.principal]&rightDiscover != 0 || a.Owner == p.clientID
}

func (c *Core) appendReplay(b []byte, p *peer, count int, missing [][]byte) []byte {
	b = append(b, `{"type":"replay","actions":[`...)
	first := true
	for i := count; i > 0 && p.subscribed&channelServices != 0; i-- {
		a := c.replay.Latest(i)
		if !c.replayed(p, a) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		b, first = append(b, envelope(a.Line)...), false
	}
	b = append(b, `],"missing":[`...)
	for i, name := range missing {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, name...)
	}
	return c.appendHandshakeTail(c.appendVersion(append(b, ']'), p), p)
}

func (c *Core) appendVersion(b []byte, p *peer) []byte {
	if p.version == "" {
		return b
	}
	return codec.AppendQuoted(append(b, `,"protocolVersion":`...), p.version)
}

// envelope returns the params of an encoded action: AHP's ActionEnvelope.
func envelope(line []byte) []byte {
	const head = `{"jsonrpc":"2.0","method":"action","params":`
	return line[len(head) : len(line)-len("}\n")]
}
