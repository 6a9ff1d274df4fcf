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
	n := &Notification{Service: s, Method: l.text(m.Name.Of(line)), Params: payload(m, line)}
	n.Sender, n.SenderPrincipal = l.senders(m, line)
	s.receive(n.Sender, item{note: n, link: l, size: len(line)})
	return nil
}

// reportLost passes on the relay's report of dropped notifications. It names no sender.
func (s *Service) reportLost(count uint64) {
	if s.onDropped != nil {
		s.receive("", item{lost: count})
	}
}

// payload returns a copy of the application's params.
func payload(m *codec.Message, line []byte) json.RawMessage {
	raw := m.Payload.Of(line)
	if raw == nil {
		return json.RawMessage("null")
	}
	return append(json.RawMessage(nil), raw...)
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

// senders returns the members that the relay stamps. They come before the application's params, which
// therefore are not walked through to find them.
func (l *link) senders(m *codec.Message, line []byte) (client, principal string) {
	params := m.Params.Of(line)
	if !m.Payload.Absent() {
		params = line[m.Params.Off:m.Payload.Off]
	}
	members := codec.ObjectMembers(params)
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
