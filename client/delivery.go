package client

import (
	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
)

// deliver takes a clientService/notification.
func (l *link) deliver(m *codec.Message, line []byte) error {
	s := l.services[string(unquoted(m.ServiceID.Of(line)))]
	if s == nil || s.onNotify == nil {
		return nil
	}
	if len(l.slab) == 0 {
		l.slab = make([]Notification, slabNotes)
	}
	n := &l.slab[0]
	l.slab = l.slab[1:]
	n.Service, n.Method, n.Params = s, l.text(m.Name.Of(line)), l.payload(m, line)
	n.Sender, n.SenderPrincipal = l.senders(m, line)
	s.receive(n.Sender, item{note: n, link: l, size: len(line)})
	return nil
}

const (
	slabNotes  = 16      // notifications allocated at once
	chunkBytes = 2 << 10 // small params are cut from chunks of this size: one kept alive keeps this much
	smallBytes = 256
)

// reportLost passes on the relay's report of dropped notifications. It names no sender.
func (s *Service) reportLost(count uint64) {
	if s.onDropped != nil {
		s.receive("", item{lost: count})
	}
}

// payload returns a copy of the application's params.
func (l *link) payload(m *codec.Message, line []byte) json.RawMessage {
	raw := m.Payload.Of(line)
	if raw == nil {
		return json.RawMessage("null")
	}
	n := len(raw)
	if n > smallBytes {
		return append(json.RawMessage(nil), raw...)
	}
	if len(l.chunk) < n {
		l.chunk = make([]byte, chunkBytes)
	}
	out := l.chunk[:n:n]
	l.chunk = l.chunk[n:]
	copy(out, raw)
	return out
}

// unquoted returns the text of a raw JSON string without escapes, which is how the relay spells ids.
func unquoted(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	return raw[1 : len(raw)-1]
}

// textsMax is how many strings a link remembers.
const textsMax = 1024

// text decodes a raw JSON string. Method names and clientIds repeat, so the link remembers them.
func (l *link) text(raw []byte) string {
	if s, ok := l.texts[string(raw)]; ok {
		return s
	}
	text, _ := codec.Unquote(nil, raw)
	s := string(text)
	if len(raw) <= 512 {
		if len(l.texts) >= textsMax {
			clear(l.texts)
		}
		l.texts[string(raw)] = s
	}
	return s
}

// senders returns the members that the relay stamps.
func (l *link) senders(m *codec.Message, line []byte) (client, principal string) {
	if raw, rest, ok := cutMember(line, m.ServiceID.End, `,"senderClientId":"`); ok && !m.ServiceID.Absent() {
		if p, _, ok := cutMember(line, rest, `,"senderPrincipal":"`); ok {
			principal = l.text(p)
		}
		return l.text(raw), principal
	}
	// Not in the order or the spelling that the relay uses.
	members := codec.ObjectMembers(m.Params.Of(line))
	for name, value, ok := members.Next(); ok; name, value, ok = members.Next() {
		switch {
		case codec.EqualString(name, "senderClientId"):
			client = l.text(value)
		case codec.EqualString(name, "senderPrincipal"):
			principal = l.text(value)
		}
	}
	return client, principal
}

// cutMember returns the raw string, without escapes, whose member begins with key at line[at:], and the
// offset behind it.
func cutMember(line []byte, at uint32, key string) (raw []byte, rest uint32, ok bool) {
	tail := line[at:]
	if len(tail) <= len(key) || string(tail[:len(key)]) != key {
		return nil, 0, false
	}
	for i := len(key); i < len(tail); i++ {
		switch tail[i] {
		case '\\':
			return nil, 0, false
		case '"':
			return tail[len(key)-1 : i+1], at + uint32(i) + 1, true
		}
	}
	return nil, 0, false
}
