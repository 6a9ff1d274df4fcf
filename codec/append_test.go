package codec

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// appended holds one call of every append function and what it must add.
var appended = []struct {
	name   string
	append func(dst []byte) []byte
	want   string
}{
	{"notification", func(b []byte) []byte {
		return AppendNotification(b, "s-1_A", []byte(`"me"`), []byte(`"prin"`), []byte(`"m\u0065"`), []byte(`{"b": 1.0,"a":"\u00e9"}`))
	}, `{"jsonrpc":"2.0","method":"clientService/notification","params":{"channel":"ahp-client-services://","serviceId":"s-1_A","senderClientId":"me","senderPrincipal":"prin","method":"m\u0065","params":{"b": 1.0,"a":"\u00e9"}}}` + "\n"},
	{"notification without principal and params", func(b []byte) []byte {
		return AppendNotification(b, "s", []byte(`"me"`), nil, []byte(`"m"`), nil)
	}, `{"jsonrpc":"2.0","method":"clientService/notification","params":{"channel":"ahp-client-services://","serviceId":"s","senderClientId":"me","method":"m","params":null}}` + "\n"},
	{"handleRequest", func(b []byte) []byte {
		return AppendHandleRequest(b, 1<<53-1, "s", []byte(`"me"`), []byte(`"prin"`), []byte(`"m"`), []byte(`[1]`), 30000)
	}, `{"jsonrpc":"2.0","id":9007199254740991,"method":"clientService/handleRequest","params":{"channel":"ahp-client-services://","serviceId":"s","senderClientId":"me","senderPrincipal":"prin","method":"m","params":[1],"timeoutMs":30000}}` + "\n"},
	{"handleRequest without principal and params", func(b []byte) []byte {
		return AppendHandleRequest(b, 1, "s", []byte(`"me"`), nil, []byte(`"m"`), nil, 1)
	}, `{"jsonrpc":"2.0","id":1,"method":"clientService/handleRequest","params":{"channel":"ahp-client-services://","serviceId":"s","senderClientId":"me","method":"m","params":null,"timeoutMs":1}}` + "\n"},
	{"result", func(b []byte) []byte { return AppendResult(b, []byte(`1e3`), []byte(`{"x":1}`)) }, `{"jsonrpc":"2.0","id":1e3,"result":{"x":1}}` + "\n"},
	{"result null", func(b []byte) []byte { return AppendResult(b, []byte(`"a"`), nil) }, `{"jsonrpc":"2.0","id":"a","result":null}` + "\n"},
	{"error", func(b []byte) []byte {
		return AppendError(b, []byte(`7`), CodeNotFound, "no \"such\"\n", []byte(`{"delivered":"never"}`))
	}, `{"jsonrpc":"2.0","id":7,"error":{"code":-32008,"message":"no \"such\"\n","data":{"delivered":"never"}}}` + "\n"},
	{"error without id and data", func(b []byte) []byte { return AppendError(b, nil, CodeParse, CodeParse.Text(), nil) }, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}` + "\n"},
	{"error raw", func(b []byte) []byte { return AppendErrorRaw(b, []byte(`7`), []byte(`{"code":1, "message":"m"}`)) }, `{"jsonrpc":"2.0","id":7,"error":{"code":1, "message":"m"}}` + "\n"},
	{"error raw without id", func(b []byte) []byte { return AppendErrorRaw(b, nil, []byte(`{}`)) }, `{"jsonrpc":"2.0","id":null,"error":{}}` + "\n"},
	{"cancel", func(b []byte) []byte { return AppendCancel(b, 12345) }, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"channel":"ahp-client-services://","id":12345}}` + "\n"},
	{"service object", func(b []byte) []byte { return AppendServiceObject(b, "s", []byte(`"me"`), []byte(`{"protocol":"p"}`)) }, `{"serviceId":"s","clientId":"me","metadata":{"protocol":"p"}}`},
	{"action set", func(b []byte) []byte { return AppendActionSet(b, []byte(`{"serviceId":"s"}`), math.MaxUint64) }, `{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-client-services://","action":{"type":"clientService/set","service":{"serviceId":"s"}},"serverSeq":18446744073709551615}}` + "\n"},
	{"action removed", func(b []byte) []byte { return AppendActionRemoved(b, "s", 1) }, `{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-client-services://","action":{"type":"clientService/removed","serviceId":"s"},"serverSeq":1}}` + "\n"},
	{"dropped", func(b []byte) []byte { return AppendDropped(b, "s", 3) }, `{"jsonrpc":"2.0","method":"x-relay/dropped","params":{"channel":"ahp-client-services://","serviceId":"s","count":3}}` + "\n"},
	{"closing", func(b []byte) []byte { return AppendClosing(b, "idle", "too quiet") }, `{"jsonrpc":"2.0","method":"x-relay/closing","params":{"channel":"ahp-root://","reason":"idle","message":"too quiet"}}` + "\n"},
	{"shutdown", func(b []byte) []byte { return AppendShutdown(b, "shutdown", "bye", 10000, 1500) }, `{"jsonrpc":"2.0","method":"x-relay/closing","params":{"channel":"ahp-root://","reason":"shutdown","message":"bye","graceMs":10000,"reconnectAfterMs":1500}}` + "\n"},
	{"auth required", func(b []byte) []byte { return AppendAuthRequired(b, "https://relay.example", "expired") }, `{"jsonrpc":"2.0","method":"auth/required","params":{"channel":"ahp-root://","resource":"https://relay.example","reason":"expired"}}` + "\n"},
}

func TestAppend(t *testing.T) {
	buffer := make([]byte, 0, 4096)
	for _, test := range appended {
		if got := string(test.append([]byte("before"))); got != "before"+test.want {
			t.Errorf("%s:\n got %s\nwant before%s", test.name, got, test.want)
		}
		if !Parse([]byte(strings.TrimSuffix(test.want, "\n")), 128, new(Message)) {
			t.Errorf("%s is no JSON", test.name)
		}
		if n := testing.AllocsPerRun(10, func() { test.append(buffer) }); n != 0 {
			t.Errorf("%s: %v allocations", test.name, n)
		}
	}
}

// TestAppendCutOut appends spans of a line, which have no capacity behind them, over and over.
func TestAppendCutOut(t *testing.T) {
	line := []byte(`{"id":7,"params":{"serviceId":"s","method":"m","params":[1]}}`)
	before := string(line)
	var m Message
	if !Parse(line, 128, &m) {
		t.Fatal("refused")
	}
	AppendError(m.ID.Of(line), nil, CodeLimit, "", nil)
	AppendNotification(m.ID.Of(line), "x", m.Name.Of(line), nil, m.Name.Of(line), m.Payload.Of(line))
	if string(line) != before {
		t.Errorf("appending to a span wrote into the line: %s", line)
	}
}

func TestEnvelopeBytesMax(t *testing.T) {
	id, raw := strings.Repeat("x", ServiceIDBytesMax), []byte(`"x"`)
	request := AppendHandleRequest(nil, math.MaxUint64, id, raw, raw, raw, nil, math.MinInt64)
	if got := len(bytes.TrimSuffix(request, []byte("\n"))) - 3*len(raw); got != EnvelopeBytesMax {
		t.Errorf("a request has %d, EnvelopeBytesMax is %d", got, EnvelopeBytesMax)
	}
	notification := AppendNotification(nil, id, raw, raw, raw, nil)
	if got := len(notification) - 1 - 3*len(raw); got > EnvelopeBytesMax {
		t.Errorf("a notification has %d", got)
	}
}

func TestCode(t *testing.T) {
	for _, c := range []Code{CodeUnavailable, CodeTimeout, CodeLimit, CodeOverloaded} {
		if !c.RelayOnly() || c.Text() == "error" {
			t.Error(c, c.RelayOnly(), c.Text())
		}
	}
	for _, c := range []Code{CodeParse, CodeInvalidRequest, CodeMethodNotFound, CodeInvalidParams, CodeInternal, CodeUnsupportedVersion, CodeAuthRequired,
		CodeNotFound, CodePermissionDenied, CodeAlreadyExists, CodeCancelled} {
		if c.RelayOnly() || c.Text() == "error" {
			t.Error(c, c.RelayOnly(), c.Text())
		}
	}
	for _, c := range []Code{0, 1, -32049, -32054} {
		if c.RelayOnly() || c.Text() != "error" {
			t.Error(c, c.RelayOnly(), c.Text())
		}
	}
}
