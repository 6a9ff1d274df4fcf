package client

import (
	"time"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
)

// receive acts on one message of the relay. line is valid during the call only. An error ends the link.
func (l *link) receive(line []byte) error {
	var m codec.Message
	if !codec.Parse(line, depthMax, &m) {
		return protocolError("a line that is not JSON")
	}
	if !m.Version || m.Duplicates != 0 {
		return protocolError("a line that is not one JSON-RPC 2.0 message")
	}
	switch m.Kind {
	case codec.KindAnswer:
		return l.answer(&m, line)
	case codec.KindRequest:
		return l.receiveRequest(&m, line)
	case codec.KindNotification:
		return l.receiveNotification(&m, line)
	}
	return protocolError("a line that is neither request, notification nor answer")
}

func (l *link) receiveNotification(m *codec.Message, line []byte) error {
	if m.Method == codec.MethodCancelRequest {
		if id, ok := codec.Integer(m.Target.Of(line)); ok {
			l.running.cancel(uint64(id), ErrCancelled)
		}
		return nil
	}
	name, params := m.MethodText.Of(line), m.Params.Of(line)
	switch {
	case string(name) == `"clientService/notification"`, codec.EqualString(name, "clientService/notification"):
		return l.deliver(m, line)
	case codec.EqualString(name, "action"):
		return l.c.cat.action(l, params)
	case codec.EqualString(name, "x-relay/dropped"):
		return l.dropped(params)
	case codec.EqualString(name, "x-relay/closing"):
		return l.announced(params)
	case codec.EqualString(name, "auth/required"):
		var p struct {
			Resource string `json:"resource"`
			Reason   string `json:"reason"`
		}
		if err := decodeObject(params, &p, "auth/required"); err != nil {
			return err
		}
		l.c.ev.emit(AuthRequired{Resource: p.Resource, Reason: p.Reason})
	}
	return nil // one of a later version of the protocol
}

// dropped passes the relay's report of lost notifications on to the service and the event function.
func (l *link) dropped(params []byte) error {
	var p struct {
		ServiceID string `json:"serviceId"`
		Count     uint64 `json:"count"`
	}
	if err := decodeObject(params, &p, "x-relay/dropped"); err != nil {
		return err
	}
	if s := l.services[p.ServiceID]; s != nil {
		s.reportLost(p.Count)
	}
	l.c.ev.emit(Dropped{ServiceID: p.ServiceID, Count: p.Count})
	return nil
}

// announced notes why the relay is about to close the connection.
func (l *link) announced(params []byte) error {
	var p struct {
		Reason           string `json:"reason"`
		Message          string `json:"message"`
		GraceMs          int64  `json:"graceMs"`
		ReconnectAfterMs int64  `json:"reconnectAfterMs"`
	}
	if err := decodeObject(params, &p, "x-relay/closing"); err != nil {
		return err
	}
	ev := Closing{Reason: p.Reason, Message: p.Message, Grace: millis(p.GraceMs), ReconnectAfter: millis(p.ReconnectAfterMs)}
	l.mu.Lock()
	l.closing = &ev
	l.mu.Unlock()
	l.c.opt.log.Info("the relay closes the connection", "reason", p.Reason, "message", p.Message)
	l.c.ev.emit(ev)
	return nil
}

// millis converts, within a day either way, what the relay sent as milliseconds.
func millis(n int64) time.Duration {
	const day = 24 * 60 * 60 * 1000
	return time.Duration(max(0, min(n, day))) * time.Millisecond
}

// decodeObject decodes a raw JSON object of the relay's into v.
func decodeObject(raw []byte, v any, what string) error {
	if codec.KindOf(raw) != codec.Object {
		return protocolError("%s is no object", what)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return protocolError("%s: %v", what, err)
	}
	return nil
}

// decodeError decodes the error member of an answer.
func decodeError(raw []byte) (*Error, error) {
	shape := codec.ParseError(raw)
	if !shape.OK() || shape.Code != int64(codec.Code(shape.Code)) {
		return nil, protocolError("an error that is no JSON-RPC error object")
	}
	e := &Error{Code: codec.Code(shape.Code)}
	members := codec.ObjectMembers(raw)
	for name, value, ok := members.Next(); ok; name, value, ok = members.Next() {
		switch {
		case codec.EqualString(name, "message"):
			text, _ := codec.Unquote(nil, value)
			e.Message = string(text)
		case codec.EqualString(name, "data"):
			e.Data = append(json.RawMessage(nil), value...)
		}
	}
	return e, nil
}
