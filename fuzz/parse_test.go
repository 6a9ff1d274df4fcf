package fuzz

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ahprelay/ahprelay/codec"
)

const depthMax = 128

// valid is what Parse must answer, by the standard library: JSON that is UTF-8 and not too deep.
func valid(line []byte) bool {
	return utf8.Valid(line) && json.Valid(line) && codec.DepthOf(line) <= depthMax
}

func FuzzParse(f *testing.F) {
	for _, line := range lines {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var m codec.Message
		got := codec.Parse(line, depthMax, &m)
		if want := valid(line); got != want {
			t.Fatalf("Parse says %v, encoding/json %v", got, want)
		}
		if !got {
			if m != (codec.Message{}) {
				t.Fatalf("invalid, yet %+v", m)
			}
			return
		}
		checkMessage(t, line, &m)
	})
}

// member is one member of an object as the standard library reads it, or the fact that it is there
// twice.
type member struct {
	raw   json.RawMessage
	twice bool
}

// membersOf decodes the top level of an object with json.Decoder, nil for other values. Names with lone
// surrogates come out with U+FFFD, which no name of the contract has.
func membersOf(raw []byte) map[string]member {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	found := map[string]member{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			panic(err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			panic(err)
		}
		if first, ok := found[name.(string)]; ok {
			found[name.(string)] = member{first.raw, true}
		} else {
			found[name.(string)] = member{value, false}
		}
	}
	return found
}

func checkMessage(t *testing.T, line []byte, m *codec.Message) {
	envelope := membersOf(line)
	params := membersOf(envelope["params"].raw)
	for _, c := range []struct {
		in   map[string]member
		name string
		span codec.Span
		bit  codec.Members
	}{
		{envelope, "id", m.ID, codec.MemberID},
		{envelope, "method", m.MethodText, codec.MemberMethod},
		{envelope, "params", m.Params, codec.MemberParams},
		{envelope, "result", m.Result, codec.MemberResult},
		{envelope, "error", m.Error, codec.MemberError},
		{params, "channel", m.Channel, codec.MemberChannel},
		{params, "serviceId", m.ServiceID, codec.MemberServiceID},
		{params, "method", m.Name, codec.MemberName},
		{params, "params", m.Payload, codec.MemberPayload},
		{params, "timeoutMs", m.TimeoutMs, codec.MemberTimeoutMs},
		{params, "id", m.Target, codec.MemberTarget},
		{params, "metadata", m.Metadata, codec.MemberMetadata},
	} {
		want := c.in[c.name]
		if !bytes.Equal(c.span.Of(line), want.raw) || c.span.Absent() != (want.raw == nil) {
			t.Fatalf("%s is %q, want %q", c.name, c.span.Of(line), want.raw)
		}
		if want.raw != nil {
			if end := codec.SkipValue(line, int(c.span.Off), depthMax-1); end != int(c.span.End) {
				t.Fatalf("%s ends at %d, SkipValue says %d", c.name, c.span.End, end)
			}
		}
		if got := m.Duplicates&c.bit != 0; got != want.twice {
			t.Fatalf("%s twice: %v", c.name, got)
		}
	}
	if got := m.Duplicates&codec.MemberJSONRPC != 0; got != envelope["jsonrpc"].twice {
		t.Fatalf("jsonrpc twice: %v", got)
	}
	if want := text(envelope["jsonrpc"].raw) == "2.0"; m.Version != want {
		t.Fatalf("version %v", m.Version)
	}
	checkKinds(t, m, envelope)
}

func checkKinds(t *testing.T, m *codec.Message, envelope map[string]member) {
	_, id := envelope["id"]
	_, method := envelope["method"]
	kind := codec.KindNone
	switch {
	case id && method:
		kind = codec.KindRequest
	case method:
		kind = codec.KindNotification
	case id:
		kind = codec.KindAnswer
	}
	if m.Kind != kind {
		t.Fatalf("kind %d, want %d", m.Kind, kind)
	}
	if got := m.ParamsKind; got != codec.KindOf(envelope["params"].raw) {
		t.Fatalf("kind of params %d", got)
	}
	idKind := codec.IDOther
	switch codec.KindOf(envelope["id"].raw) {
	case codec.Absent:
		idKind = codec.IDAbsent
	case codec.String:
		idKind = codec.IDString
	case codec.Number:
		idKind = codec.IDNumber
	}
	if m.IDKind != idKind {
		t.Fatalf("kind of id %d, want %d", m.IDKind, idKind)
	}
	want := codec.MethodNone
	if raw := envelope["method"].raw; codec.KindOf(raw) == codec.String {
		want = codec.MethodUnknown
		if known, ok := methods[text(raw)]; ok {
			want = known
		}
	}
	if m.Method != want {
		t.Fatalf("method %d, want %d", m.Method, want)
	}
}

var methods = map[string]codec.Method{
	"initialize": codec.MethodInitialize, "reconnect": codec.MethodReconnect, "ping": codec.MethodPing, "authenticate": codec.MethodAuthenticate,
	"subscribe": codec.MethodSubscribe, "unsubscribe": codec.MethodUnsubscribe, "dispatchAction": codec.MethodDispatchAction,
	"client/registerService": codec.MethodRegisterService, "client/updateService": codec.MethodUpdateService, "client/unregisterService": codec.MethodUnregisterService,
	"clientService/notify": codec.MethodNotify, "clientService/request": codec.MethodRequest, "$/cancelRequest": codec.MethodCancelRequest,
}

// text decodes a JSON string; other values give something that no test looks for.
func text(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) != nil || !strings.HasPrefix(string(raw), `"`) {
		return "\x00no string"
	}
	return s
}
