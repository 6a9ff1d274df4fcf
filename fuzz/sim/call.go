package sim

import (
	"slices"
	"strconv"
	"time"
)

const (
	never = `"delivered":"never"`
	maybe = `"delivered":"maybe"`
)

// find returns the service that a params.serviceId names, if c may know of it.
func (m *model) find(c *conn, id *value) *service {
	text, ok := id.string()
	for _, s := range m.services {
		if ok && s.id == text && m.rights(c, s).discover {
			return s
		}
	}
	return nil
}

// callable reports whether the members of a notification or request are as they must be.
func (m *model) callable(params *value) bool {
	id, _ := params.get("serviceId")
	method, _ := params.get("method")
	if !once(params, "channel", "serviceId", "method", "params") || !on(params, channelServices) || id.kind != '"' || method.kind != '"' {
		return false
	}
	return decodedLength(method.raw) <= m.config.Limits.MethodBytesMax
}

// decodedLength is the length of a string's text; half a surrogate pair counts as U+FFFD.
func decodedLength(raw string) int {
	text, _ := unquote(raw)
	return len(text)
}

func (m *model) notify(c *conn, params *value) {
	if !m.callable(params) || m.shutOut(c) {
		return
	}
	id, _ := params.get("serviceId")
	s := m.find(c, &id)
	if s == nil || !m.rights(c, s).notify {
		return
	}
	owner := s.owner
	if owner.queue > m.config.Limits.QueueBytesSoft/2 || owner.shedding {
		m.counts.dropped++
		if m.config.Overload == 1 {
			m.condemn(owner, "slowConsumer")
			return
		}
		owner.shedding = true
		s.dropped++
		return
	}
	m.tellDropped(s)
	m.counts.forwarded++
	m.tally.add("notification")
	m.expect(owner, `{"jsonrpc":"2.0","method":"clientService/notification","params":{`+m.delivery(c, s, params)+`}}`)
}

// delivery is what a message looks like to the owner of its service.
func (m *model) delivery(c *conn, s *service, params *value) string {
	method, _ := params.get("method")
	payload, n := params.get("params")
	if n == 0 {
		payload.raw = "null"
	}
	principal := ""
	if c.credential != "" {
		principal = `,"senderPrincipal":` + quote(c.principal)
	}
	return `"channel":"ahp-client-services://","serviceId":"` + s.id + `","senderClientId":` + quote(c.client) + principal +
		`,"method":` + method.raw + `,"params":` + payload.raw
}

// tellDropped expects the owner to learn what it has lost, before the next message for that service.
func (m *model) tellDropped(s *service) {
	if s.dropped == 0 {
		return
	}
	m.tally.add("dropped told")
	m.expect(s.owner, `{"jsonrpc":"2.0","method":"x-relay/dropped","params":{"channel":"ahp-client-services://","serviceId":"`+s.id+`","count":`+strconv.Itoa(s.dropped)+`}}`)
	s.dropped = 0
}

func (m *model) serviceRequest(c *conn, id string, params *value) {
	timeout := m.config.Limits.RequestTimeout
	ms, given := params.get("timeoutMs")
	n, integral := ms.integer()
	if given > 0 {
		timeout = m.config.Limits.RequestTimeoutMax
		if n < timeout.Milliseconds() {
			timeout = time.Duration(n) * time.Millisecond
		}
	}
	var wrong []failure
	if !m.callable(params) || given > 1 || given == 1 && (!integral || n < 1) {
		wrong = append(wrong, failure{-32602, "{" + never + "}"})
	}
	if m.shutOut(c) {
		wrong = append(wrong, m.authFailure(never+","))
	}
	serviceID, _ := params.get("serviceId")
	s := m.find(c, &serviceID)
	if s == nil {
		wrong = append(wrong, failure{-32008, "{" + never + "}"})
	} else if len(wrong) == 0 {
		wrong = m.obstacles(c, s, id)
	}
	if len(wrong) > 0 {
		m.fails(c, id, wrong)
		return
	}
	m.tellDropped(s)
	holes := m.expect(s.owner, `{"jsonrpc":"2.0","id":`+holeNumber+`,"method":"clientService/handleRequest","params":{`+m.delivery(c, s, params)+`,"timeoutMs":`+strconv.FormatInt(timeout.Milliseconds(), 10)+`}}`)
	k := &call{caller: c, service: s, id: id, payer: c.principal, deadline: m.now() + timeout}
	if holes != nil {
		k.relayID = holes[0]
		n, err := strconv.ParseUint(k.relayID, 10, 64)
		must(err == nil && n >= 1 && n < 1<<53 && strconv.FormatUint(n, 10) == k.relayID, "relay id %s", k.relayID)
		must(!m.ids[k.relayID], "relay id %s for the second time", k.relayID)
		m.ids[k.relayID] = true
		k.line = m.line
		m.names["$R"+strconv.Itoa(m.line)] = k.relayID
	}
	m.calls = append(m.calls, k)
	m.counts.requests++
}

// obstacles lists why a request to a service that the caller sees cannot be forwarded.
func (m *model) obstacles(c *conn, s *service, id string) (wrong []failure) {
	l := m.config.Limits
	if !m.rights(c, s).request {
		return []failure{{-32009, "{" + never + "}"}}
	}
	if m.draining {
		wrong = append(wrong, failure{-32053, "{" + never + "}"})
	}
	ofCaller, ofService, live := 0, 0, 0
	for _, k := range m.calls {
		if k.caller == c {
			ofCaller++
		}
		if k.service == s {
			ofService++
		}
		if !k.ghost {
			live++
		}
	}
	for _, limit := range []struct {
		name string
		hit  bool
	}{
		{"inflightPerConnection", ofCaller >= l.InflightPerConnectionMax},
		{"inflightPerService", ofService >= l.InflightPerServiceMax},
		{"inflightPerPrincipal", over(m.used(c.principal).inflight+1, m.quotas(c.principal).Inflight)},
		{"slots", live >= l.SlotsMax || len(m.calls) >= 2*l.SlotsMax},
	} {
		if limit.hit {
			wrong = append(wrong, failure{-32052, "{" + never + `,"limit":"` + limit.name + `"}`})
		}
	}
	overloaded := failure{-32053, "{" + never + "}"}
	switch {
	case s.owner.lossy: // whether it was too full by then cannot be seen, but from the answer
		if m.next(c, overloaded.forms(id)[0]) {
			wrong = append(wrong, overloaded)
		}
	case s.owner.queue > l.QueueBytesSoft || s.owner.doomed != "":
		wrong = append(wrong, overloaded)
	}
	return wrong
}

// answer handles the owner's answer to a request.
func (m *model) answer(c *conn, v *value) {
	id, ids := v.get("id")
	n, ok := id.integer()
	if ids == 0 || !ok { // of several ids the first counts
		return
	}
	for _, k := range m.calls {
		if k.relayID == strconv.FormatInt(n, 10) && k.service.owner == c {
			m.answered(k, v)
			return
		}
	}
}

func (m *model) answered(k *call, v *value) {
	m.drop(k)
	if k.ghost {
		m.tally.add("late answer")
		return
	}
	res, results := v.get("result")
	failed, failures := v.get("error")
	switch {
	case !proper(v) || results > 0 && failures > 0 || failures > 0 && !acceptable(&failed):
		data := "{" + maybe
		if failures > 0 {
			data += `,"error":` + failed.raw
		}
		m.fails(k.caller, k.id, []failure{{-32603, data + "}"}})
	case failures > 0:
		m.tally.add("error answered")
		m.expect(k.caller, `{"jsonrpc":"2.0","id":`+k.id+`,"error":`+failed.raw+`}`)
	case results == 0:
		m.expect(k.caller, result(k.id, "null"))
	default:
		m.tally.add("result answered")
		m.expect(k.caller, result(k.id, res.raw))
	}
}

// acceptable reports whether an owner's error may go to its caller as it is.
func acceptable(e *value) bool {
	code, _ := e.get("code")
	message, _ := e.get("message")
	n, ok := code.integer()
	return e.kind == '{' && e.distinct() && ok && message.kind == '"' && (n < -32053 || n > -32050)
}

// drop forgets a call and with it all that it charges.
func (m *model) drop(k *call) {
	m.calls = slices.DeleteFunc(m.calls, func(other *call) bool { return other == k })
	if !k.ghost {
		m.counts.endings++
	}
}

// give ends a call for its caller with an error of the relay; the owner is told, and the call goes on
// charging those who pay for it.
func (m *model) give(k *call, code int) {
	m.anyOrder(func() {
		m.tally.add("ended " + strconv.Itoa(code))
		if code != 0 {
			m.expect(k.caller, failure{code, "{" + maybe + "}"}.forms(k.id)[0])
		} else {
			k.caller = nil
		}
		m.cancelAtOwner(k)
	})
	k.ghost, k.deadline = true, m.now()+m.config.Limits.RequestTimeout
	m.counts.endings++
}

func (m *model) cancelAtOwner(k *call) {
	if !k.service.owner.live() {
		return
	}
	id := k.relayID
	if id == "" {
		id = holeNumber
	}
	m.expect(k.service.owner, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"channel":"ahp-client-services://","id":`+id+`}}`)
}

// cancel handles a caller's $/cancelRequest.
func (m *model) cancel(c *conn, id string) {
	for _, k := range m.calls {
		if k.caller == c && !k.ghost && k.id == id {
			m.give(k, -32800)
			return
		}
	}
}
