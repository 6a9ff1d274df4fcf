package sim

import "strconv"

const actionHead = `{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-client-services://","action":{"type":"clientService/`

// set expects everybody who looks and may to hear of s as it is.
func (m *model) set(s *service) {
	m.publish(s, false, true, func(o *conn) bool { return m.rights(o, s).discover })
}

// removed expects some of those who look to hear that a service is gone, for them.
func (m *model) removed(s *service, who func(*conn) bool) { m.publish(s, true, true, who) }

// publish expects an action. counted says that it gets a number even when nobody hears of it.
func (m *model) publish(s *service, removed, counted bool, who func(*conn) bool) {
	known := counted && !m.loose
	if known {
		m.seq++
	}
	size := 0
	for _, o := range m.conns {
		if o.mirror == nil || !o.live() || !who(o) {
			continue
		}
		number := holeNumber
		if known {
			number = strconv.FormatUint(m.seq, 10)
		}
		form := actionHead + `set","service":` + s.object + `},"serverSeq":` + number + `}}`
		if removed {
			form = actionHead + `removed","serviceId":"` + s.id + `"},"serverSeq":` + number + `}}`
		}
		holes := m.expect(o, form)
		if s.id == holeText && holes != nil {
			m.named(s, holes[0])
			holes = holes[1:]
		}
		if !known && len(holes) > 0 {
			n, err := strconv.ParseUint(holes[0], 10, 64)
			must(err == nil && n > m.seq, "an action with serverSeq %s after %d", holes[0], m.seq)
			m.seq, known = n, true
		}
		size = len(form)
		if removed {
			o.hear(m, s.id, "")
		} else {
			o.hear(m, s.id, s.object)
		}
	}
	if known {
		if size == 0 {
			size = len(actionHead) + len(s.object) + 40
		}
		m.changes = append(m.changes, change{m.seq, size + 1, !removed && s != m.services[len(m.services)-1]})
	}
}
