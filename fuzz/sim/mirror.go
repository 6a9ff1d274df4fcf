package sim

import "maps"

// moment is something that a client heard about the catalogue: a snapshot or a change.
type moment struct {
	seq      uint64
	snapshot map[string]string // nil: a change
	id       string
	object   string // "": removed
}

// hear applies a change to what c sees of the catalogue.
func (c *conn) hear(m *model, id, object string) {
	must(m.seq > c.lastSeq || m.loose || c.lossy, "%s hears of serverSeq %d after %d", c.name, m.seq, c.lastSeq)
	c.lastSeq = m.seq
	apply(c.mirror, id, object)
	m.tell(c, moment{seq: m.seq, id: id, object: object})
}

func apply(mirror map[string]string, id, object string) {
	if object == "" {
		delete(mirror, id)
	} else {
		mirror[id] = object
	}
}

// look makes c an observer that starts from a snapshot.
func (c *conn) look(m *model, services *value, seq uint64) {
	c.mirror, c.lastSeq = map[string]string{}, seq
	for i := range services.items {
		id, _ := services.items[i].get("serviceId")
		text, _ := id.string()
		c.mirror[text] = services.items[i].raw
	}
	m.tell(c, moment{seq: seq, snapshot: maps.Clone(c.mirror)})
}

// tell keeps what a client hears, by its clientId: it may come back and say how far it got.
func (m *model) tell(c *conn, what moment) {
	if !c.lossy {
		m.stories[c.story()] = append(m.stories[c.story()], what)
	}
}

// recalled is the catalogue as a client knew it when it had heard everything up to seq.
func (m *model) recalled(story string, seq uint64) map[string]string {
	mirror := map[string]string{}
	for _, moment := range m.stories[story] {
		switch {
		case moment.seq > seq:
		case moment.snapshot != nil:
			mirror = maps.Clone(moment.snapshot)
		default:
			apply(mirror, moment.id, moment.object)
		}
	}
	return mirror
}

// visible is the catalogue as c may see it.
func (m *model) visible(c *conn) map[string]string {
	all := map[string]string{}
	for _, s := range m.services {
		if m.rights(c, s).discover {
			all[s.id] = s.object
		}
	}
	return all
}
