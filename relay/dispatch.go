package relay

import (
	"github.com/ahprelay/ahprelay/codec"
)

const (
	envelopeMembers = codec.MemberJSONRPC | codec.MemberID | codec.MemberMethod | codec.MemberParams | codec.MemberResult | codec.MemberError | codec.MemberStranger
	callMembers     = codec.MemberChannel | codec.MemberServiceID | codec.MemberName | codec.MemberPayload
)

// notification handles a message with a method and no id. Whatever is wrong with it, nothing is ever
// sent back for it.
func (c *Core) notification(p *peer, line []byte, m *codec.Message) {
	if m.Method == codec.MethodNotify && p.state == stateOpen {
		c.notify(p, line, m)
		return
	}
	if !m.Version || m.Duplicates&envelopeMembers != 0 || m.ParamsKind != codec.Object && m.ParamsKind != codec.Absent || p.state != stateOpen {
		c.counters.Ignored++
		return
	}
	switch m.Method {
	case codec.MethodCancelRequest:
		c.cancel(p, line, m)
	case codec.MethodUnsubscribe:
		c.unsubscribe(p, line, m)
	default:
		c.counters.Ignored++
	}
}

// request handles a message with a method and an id.
func (c *Core) request(p *peer, line []byte, m *codec.Message) {
	id := m.ID.Of(line)
	if m.IDKind == codec.IDOther || m.Duplicates&codec.MemberID != 0 || len(id) > c.limits.IDBytesMax {
		c.fail(p, nil, codec.CodeInvalidRequest, "id must be one string or number of limited length", nil)
		return
	}
	if p.inflight.Used > 0 {
		if _, found := c.slots.Find(p.index, id); found {
			c.fail(p, nil, codec.CodeInvalidRequest, "id is in flight already", append(append([]byte(`{"duplicateId":`), id...), '}'))
			return
		}
	}
	if !m.Version || m.Duplicates&envelopeMembers != 0 || m.Method == codec.MethodNone {
		c.fail(p, id, codec.CodeInvalidRequest, "", nil)
		return
	}
	if p.state == stateSurplus {
		c.fail(p, id, codec.CodeLimit, "too many connections", limitData("", "connections"))
		c.condemn(p, ReasonConnectionLimit, "too many connections")
		return
	}
	if m.ParamsKind != codec.Object && m.ParamsKind != codec.Absent {
		c.misshapen(p, id, m)
		return
	}
	if p.state == stateNew {
		c.early(p, id, line, m)
		return
	}
	c.dispatch(p, id, line, m)
}

// misshapen answers a request whose params are neither an object nor absent.
func (c *Core) misshapen(p *peer, id []byte, m *codec.Message) {
	const message = "params must be an object"
	if m.Method == codec.MethodRequest {
		c.refuse(p, id, codec.CodeInvalidParams, message, "")
		return
	}
	c.fail(p, id, codec.CodeInvalidParams, message, nil)
}

// early handles a request before the handshake has succeeded.
func (c *Core) early(p *peer, id, line []byte, m *codec.Message) {
	switch m.Method {
	case codec.MethodInitialize:
		c.initialize(p, id, m.Params.Of(line))
	case codec.MethodReconnect:
		c.reconnect(p, id, m.Params.Of(line))
	case codec.MethodPing:
		c.ping(p, id, line, m)
	case codec.MethodAuthenticate:
		c.authenticate(p, id, m.Params.Of(line))
	default:
		c.fail(p, id, codec.CodeInvalidRequest, "the connection is not initialized", nil)
	}
}

// dispatch handles a request on an open connection.
func (c *Core) dispatch(p *peer, id, line []byte, m *codec.Message) {
	switch m.Method {
	case codec.MethodPing:
		c.ping(p, id, line, m)
		return
	case codec.MethodAuthenticate:
		c.authenticate(p, id, m.Params.Of(line))
		return
	case codec.MethodSubscribe:
		c.subscribe(p, id, line, m)
		return
	case codec.MethodRegisterService, codec.MethodUpdateService, codec.MethodUnregisterService, codec.MethodRequest:
		if c.anonymous(p) {
			c.fail(p, id, codec.CodeAuthRequired, "", c.authData("never"))
			return
		}
	}
	switch m.Method {
	case codec.MethodRequest:
		c.serviceRequest(p, id, line, m)
	case codec.MethodRegisterService:
		c.register(p, id, line, m)
	case codec.MethodUpdateService:
		c.update(p, id, line, m)
	case codec.MethodUnregisterService:
		c.unregister(p, id, line, m)
	case codec.MethodInitialize, codec.MethodReconnect:
		c.fail(p, id, codec.CodeInvalidRequest, "the connection is initialized already", nil)
	case codec.MethodNotify, codec.MethodUnsubscribe, codec.MethodCancelRequest, codec.MethodDispatchAction:
		c.fail(p, id, codec.CodeInvalidRequest, "this method is a notification", nil)
	default:
		c.fail(p, id, codec.CodeMethodNotFound, "", nil)
	}
}

func (c *Core) ping(p *peer, id, line []byte, m *codec.Message) {
	if !channelIs(m, line, codec.ChannelRoot) {
		c.fail(p, id, codec.CodeInvalidParams, "channel must be "+codec.ChannelRoot, nil)
		return
	}
	c.reply(p, id, nil)
}

// channelIs reports whether params.channel is absent or the one that the method belongs to.
func channelIs(m *codec.Message, line []byte, want string) bool {
	if m.Channel.Absent() {
		return true
	}
	return m.Duplicates&codec.MemberChannel == 0 && isString(m.Channel.Of(line), want)
}

func isString(raw []byte, want string) bool {
	return len(raw) > 0 && raw[0] == '"' && codec.EqualString(raw, want)
}

// members finds the named members of a valid JSON object; absent ones are nil. It returns false when
// one of them occurs twice.
func members(object []byte, names []string, values [][]byte) bool {
	for it := codec.ObjectMembers(object); ; {
		name, value, ok := it.Next()
		if !ok {
			return true
		}
		for i, want := range names {
			if !codec.EqualString(name, want) {
				continue
			}
			if values[i] != nil {
				return false
			}
			values[i] = value
		}
	}
}

// text decodes a JSON string of at least one and at most max bytes of text.
func text(raw []byte, max int) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	if n := codec.DecodedLen(raw); n < 1 || n > max {
		return "", false
	}
	decoded, ok := codec.Unquote(nil, raw)
	return string(decoded), ok
}
