package sim

// message handles one line, sorted by its members.
func (m *model) message(c *conn, line string) {
	v, ok := readJSON(line, m.config.Limits.DepthMax)
	if !ok {
		m.breach(c, "null", -32700, "")
		m.stranger(c)
		return
	}
	_, ids := v.get("id")
	_, methods := v.get("method")
	switch {
	case v.kind != '{' || ids+methods == 0:
		m.breach(c, "null", -32600, "")
		m.stranger(c)
	case methods == 0 && c.phase == phaseOpen:
		m.answer(c, &v)
	case methods == 0:
		m.stranger(c)
	case ids == 0:
		m.notification(c, &v)
	default:
		m.request(c, &v)
	}
}

// stranger closes a connection that does not speak the protocol, before its handshake.
func (m *model) stranger(c *conn) {
	if c.phase != phaseOpen {
		m.condemn(c, "protocolErrors")
	}
}

// proper reports whether an envelope is JSON-RPC 2.0, params and id aside.
func proper(v *value) bool {
	if !v.distinct() {
		return false
	}
	version, _ := v.get("jsonrpc")
	return version.is("2.0")
}

// once reports whether none of the named members occurs twice.
func once(v *value, names ...string) bool {
	for _, name := range names {
		if _, n := v.get(name); n > 1 {
			return false
		}
	}
	return true
}

// on reports whether params name the right channel, or none.
func on(params *value, channel string) bool {
	ch, n := params.get("channel")
	return n == 0 || n == 1 && ch.is(channel)
}

// methodOf is the method of an envelope; no method of the contract when it is no proper string.
func methodOf(v *value) string {
	method, _ := v.get("method")
	s, ok := method.string()
	if !ok {
		return "?"
	}
	return s
}

// notification handles a message that nothing may ever be sent back for.
func (m *model) notification(c *conn, v *value) {
	if c.phase != phaseOpen {
		return
	}
	params, n := v.get("params")
	fine := proper(v) && (n == 0 || params.kind == '{')
	switch methodOf(v) {
	case "clientService/notify":
		m.counts.notifies++
		if fine && n == 1 {
			m.notify(c, &params)
		}
	case "$/cancelRequest":
		if id, n := params.get("id"); fine && n == 1 && on(&params, channelServices) {
			m.cancel(c, id.raw)
		}
	case "unsubscribe":
		if ch, n := params.get("channel"); fine && n == 1 {
			m.unsubscribe(c, &ch)
		}
	}
}

// request handles a message that must be answered once.
func (m *model) request(c *conn, v *value) {
	idValue, ids := v.get("id")
	id := idValue.raw
	if ids != 1 || idValue.kind != '"' && idValue.kind != number || len(id) > m.config.Limits.IDBytesMax {
		m.breach(c, "null", -32600, "")
		return
	}
	for _, k := range m.calls {
		if k.caller == c && !k.ghost && k.id == id {
			m.breach(c, "null", -32600, `{"duplicateId":`+id+`}`)
			return
		}
	}
	if method, _ := v.get("method"); !proper(v) || method.kind != '"' {
		m.breach(c, id, -32600, "")
		return
	}
	if c.phase == phaseSurplus {
		m.fails(c, id, []failure{{-32052, `{"limit":"connections"}`}})
		m.condemn(c, "connectionLimit")
		return
	}
	params, n := v.get("params")
	if n == 1 && params.kind != '{' {
		m.fails(c, id, []failure{{-32602, "?"}})
		return
	}
	m.dispatch(c, id, methodOf(v), &params)
}

func (m *model) dispatch(c *conn, id, method string, params *value) {
	switch method {
	case "ping":
		if !on(params, channelRoot) {
			m.fails(c, id, []failure{{-32602, ""}})
			return
		}
		m.expect(c, result(id, "null"))
		return
	case "authenticate":
		m.authenticate(c, id, params)
		return
	case "initialize":
		if c.phase == phaseNew {
			m.initialize(c, id, params)
			return
		}
	case "reconnect":
		if c.phase == phaseNew {
			m.reconnect(c, id, params)
			return
		}
	}
	if c.phase == phaseNew {
		m.breach(c, id, -32600, "")
		return
	}
	switch method {
	case "subscribe":
		m.subscribe(c, id, params)
	case "client/registerService":
		m.register(c, id, params)
	case "client/updateService":
		m.update(c, id, params)
	case "client/unregisterService":
		m.unregister(c, id, params)
	case "clientService/request":
		m.serviceRequest(c, id, params)
	case "initialize", "reconnect", "clientService/notify", "unsubscribe", "$/cancelRequest", "dispatchAction":
		m.breach(c, id, -32600, "")
	default:
		m.fails(c, id, []failure{{-32601, ""}})
	}
}

// authFailure is the error for those who have to authenticate first.
func (m *model) authFailure(delivered string) failure {
	name := m.config.Auth.ResourceName
	if name == "" {
		name = "ahprelay"
	}
	return failure{-32007, `{` + delivered + `"resources":[{"resource":` + quote(m.config.Auth.Resource) + `,"resource_name":` + quote(name) + `}]}`}
}
