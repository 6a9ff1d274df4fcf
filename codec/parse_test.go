package codec

import "testing"

func TestParseNotify(t *testing.T) {
	line := []byte(`{"jsonrpc":"2.0","method":"clientService/notify","params":{"channel":"ahp-client-services://","serviceId":"s1","method":"m","params":{"a":[1,2,{"b":"é"}]}}}`)
	var m Message
	if !Parse(line, 128, &m) {
		t.Fatal("refused")
	}
	if m.Kind != KindNotification || m.Method != MethodNotify || !m.Version || m.ParamsKind != Object {
		t.Fatalf("%+v", m)
	}
	for _, c := range []struct {
		span Span
		want string
	}{
		{m.ServiceID, `"s1"`}, {m.Name, `"m"`}, {m.Payload, `{"a":[1,2,{"b":"é"}]}`}, {m.Channel, `"ahp-client-services://"`},
	} {
		if got := string(c.span.Of(line)); got != c.want {
			t.Errorf("got %s want %s", got, c.want)
		}
	}
}
