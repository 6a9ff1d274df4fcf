package codec

import (
	"fmt"
	"strings"
	"testing"
)

// describe spells out everything that Parse found, absent things left out.
func describe(line string) string {
	var m Message
	if !Parse([]byte(line), 128, &m) {
		return "invalid"
	}
	out := [...]string{"none", "notification", "request", "answer"}[m.Kind]
	add := func(condition bool, format string, args ...any) {
		if condition {
			out += " " + fmt.Sprintf(format, args...)
		}
	}
	add(m.Version, "2.0")
	add(m.IDKind != IDAbsent, "idKind=%d", m.IDKind)
	add(m.Method != MethodNone, "method=%d", m.Method)
	add(m.ParamsKind != Absent, "paramsKind=%d", m.ParamsKind)
	add(m.Duplicates != 0, "duplicates=%b", m.Duplicates)
	for _, s := range []struct {
		name string
		span Span
	}{
		{"id", m.ID}, {"methodText", m.MethodText}, {"params", m.Params}, {"result", m.Result}, {"error", m.Error},
		{".channel", m.Channel}, {".serviceId", m.ServiceID}, {".method", m.Name}, {".params", m.Payload},
		{".timeoutMs", m.TimeoutMs}, {".id", m.Target}, {".metadata", m.Metadata},
	} {
		raw := s.span.Of([]byte(line))
		add(raw != nil, "%s=%s", s.name, raw)
		if s.span.Absent() != (raw == nil) || raw != nil && len(raw) == 0 {
			out += " broken span " + s.name
		}
	}
	return out
}

func TestParse(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		// Sorting.
		{`{}`, `none`},
		{`[]`, `none`},
		{`"method"`, `none`},
		{`[{"jsonrpc":"2.0","method":"ping","id":1}]`, `none`},
		{`{"jsonrpc":"2.0"}`, `none 2.0`},
		{`{"jsonrpc":"2.0","result":1}`, `none 2.0 result=1`},
		{`{"jsonrpc":"2.0","method":"ping"}`, `notification 2.0 method=4 methodText="ping"`},
		{`{"jsonrpc":"2.0","method":"ping","id":1}`, `request 2.0 idKind=2 method=4 id=1 methodText="ping"`},
		{`{"jsonrpc":"2.0","id":1}`, `answer 2.0 idKind=2 id=1`},
		{`{"jsonrpc":"2.0","id":"a","result":{"x":[1]}}`, `answer 2.0 idKind=1 id="a" result={"x":[1]}`},
		{`{"jsonrpc":"2.0","id":"a","error":null,"result":null}`, `answer 2.0 idKind=1 id="a" result=null error=null`},
		{`{"id":null,"method":null}`, `request idKind=3 id=null methodText=null`},
		{`{"id":true,"method":["ping"]}`, `request idKind=3 id=true methodText=["ping"]`},
		{`{"id":{},"method":1}`, `request idKind=3 id={} methodText=1`},
		{`{"id":[]}`, `answer idKind=3 id=[]`},
		{`{"method":""}`, `notification method=1 methodText=""`},
		{`{"method":"ping "}`, `notification method=1 methodText="ping "`},
		{`{"method":"Ping"}`, `notification method=1 methodText="Ping"`},
		{`{"method":"pin\u0067"}`, `notification method=4 methodText="pin\u0067"`},
		{`{"method":"clientService\/notify"}`, `notification method=12 methodText="clientService\/notify"`},
		{`{"method":"ping\ud800"}`, `notification method=1 methodText="ping\ud800"`},
		// Versions.
		{`{"jsonrpc":2.0,"method":"x"}`, `notification method=1 methodText="x"`},
		{`{"jsonrpc":"2","method":"x"}`, `notification method=1 methodText="x"`},
		{`{"jsonrpc":"2.\u0030","method":"x"}`, `notification 2.0 method=1 methodText="x"`},
		{`{"jsonrpc":"1.0","jsonrpc":"2.0"}`, `none duplicates=1`},
		{`{"jsonrpc":"2.0","jsonrpc":"1.0"}`, `none 2.0 duplicates=1`},
		{`{"jsonrpc":null,"jsonrpc":"2.0"}`, `none duplicates=1`},
		// Ids keep their spelling.
		{`{"id":1e3}`, `answer idKind=2 id=1e3`},
		{`{"id":-0}`, `answer idKind=2 id=-0`},
		{`{"id":9007199254740993.5}`, `answer idKind=2 id=9007199254740993.5`},
		{`{"id":123456789012345678901234567890}`, `answer idKind=2 id=123456789012345678901234567890`},
		{`{"id":"a\u0062"}`, `answer idKind=1 id="a\u0062"`},
		{`{"id":""}`, `answer idKind=1 id=""`},
		// Names.
		{`{"m\u0065thod":"ping"}`, `notification method=4 methodText="ping"`},
		{`{"\u006d\u0065\u0074\u0068\u006F\u0064":"ping"}`, `notification method=4 methodText="ping"`},
		{`{"Method":"ping","ID":1,"JSONRPC":"2.0"}`, `none`},
		{`{"method\u0000":"ping","\ud800id":1,"id\udc00":1,"id\ud800\udc00":1,"":1}`, `none`},
		{`{"meth":1,"methodx":1,"m":1,"\u006d":1,"method ":1," id":1}`, `none`},
		{`{"` + strings.Repeat("m", 5000) + `":1,"` + strings.Repeat(`\u006d`, 5000) + `":2,"id":3}`, `answer idKind=2 id=3`},
		{`{"p\u0061rams":{"\u0063hannel":1,"service\u0049d":2,"m\u0065thod":3,"p\u0061rams":4,"timeout\u004ds":5,"i\u0064":6,"metad\u0061ta":7}}`,
			`none paramsKind=6 params={"\u0063hannel":1,"service\u0049d":2,"m\u0065thod":3,"p\u0061rams":4,"timeout\u004ds":5,"i\u0064":6,"metad\u0061ta":7} .channel=1 .serviceId=2 .method=3 .params=4 .timeoutMs=5 .id=6 .metadata=7`},
		// White space.
		{" \t{ \"id\" :\t1 ,\r\"method\" : \"ping\" } \r", `request idKind=2 method=4 id=1 methodText="ping"`},
		{`{"params" : { "params" : [ 1 , 2 ] , "id" : 3 } }`, `none paramsKind=6 params={ "params" : [ 1 , 2 ] , "id" : 3 } .params=[ 1 , 2 ] .id=3`},
		{`{"params":{ },"method":"ping"}`, `notification method=4 paramsKind=6 methodText="ping" params={ }`},
		// Params.
		{`{"params":{"serviceId":"s","x":{"channel":1},"metadata":{"id":1}},"method":"clientService/request","id":7}`,
			`request idKind=2 method=13 paramsKind=6 id=7 methodText="clientService/request" params={"serviceId":"s","x":{"channel":1},"metadata":{"id":1}} .serviceId="s" .metadata={"id":1}`},
		{`{"params":[{"serviceId":"s"}]}`, `none paramsKind=5 params=[{"serviceId":"s"}]`},
		{`{"params":null}`, `none paramsKind=1 params=null`},
		{`{"params":true}`, `none paramsKind=2 params=true`},
		{`{"params":-1}`, `none paramsKind=3 params=-1`},
		{`{"params":"{}"}`, `none paramsKind=4 params="{}"`},
		{`{"x":{"serviceId":"s"},"serviceId":"t","result":{"channel":"c"}}`, `none result={"channel":"c"}`},
		{`{"params":{"params":{"params":{"serviceId":"s"}}}}`, `none paramsKind=6 params={"params":{"params":{"serviceId":"s"}}} .params={"params":{"serviceId":"s"}}`},
		{`{"params":{"channel":null,"timeoutMs":null}}`, `none paramsKind=6 params={"channel":null,"timeoutMs":null} .channel=null .timeoutMs=null`},
		// Duplicates.
		{`{"id":1,"id":2}`, `answer idKind=2 duplicates=10 id=1`},
		{`{"id":1,"\u0069d":null}`, `answer idKind=2 duplicates=10 id=1`},
		{`{"method":1,"method":"ping"}`, `notification duplicates=100 methodText=1`},
		{`{"params":1,"params":{"serviceId":"s"}}`, `none paramsKind=3 duplicates=1000 params=1`},
		{`{"params":{"serviceId":"s"},"params":{"serviceId":"t","id":4}}`, `none paramsKind=6 duplicates=1000 params={"serviceId":"s"} .serviceId="s"`},
		{`{"result":1,"result":2,"error":3,"error":4,"error":5}`, `none duplicates=110000 result=1 error=3`},
		{`{"params":{"channel":1,"channel":2}}`, `none paramsKind=6 duplicates=1000000 params={"channel":1,"channel":2} .channel=1`},
		{`{"params":{"serviceId":1,"serviceId":2,"method":1,"method":2}}`, `none paramsKind=6 duplicates=110000000 params={"serviceId":1,"serviceId":2,"method":1,"method":2} .serviceId=1 .method=1`},
		{`{"params":{"params":1,"p\u0061rams":2,"timeoutMs":1,"timeoutMs":2}}`, `none paramsKind=6 duplicates=11000000000 params={"params":1,"p\u0061rams":2,"timeoutMs":1,"timeoutMs":2} .params=1 .timeoutMs=1`},
		{`{"params":{"id":1,"id":2,"metadata":1,"metadata":2}}`, `none paramsKind=6 duplicates=1100000000000 params={"id":1,"id":2,"metadata":1,"metadata":2} .id=1 .metadata=1`},
		{`{"x":1,"x":2,"params":{"y":1,"y":2,"jsonrpc":1,"jsonrpc":2,"params":{"id":1,"id":2}}}`,
			`none paramsKind=6 params={"y":1,"y":2,"jsonrpc":1,"jsonrpc":2,"params":{"id":1,"id":2}} .params={"id":1,"id":2}`},
		// The usual beginnings, whole, broken and twice.
		{`{"jsonrpc":"2.0","method":"clientService/notify","params":{"channel":"ahp-client-services://","id":1}}`,
			`notification 2.0 method=12 paramsKind=6 methodText="clientService/notify" params={"channel":"ahp-client-services://","id":1} .channel="ahp-client-services://" .id=1`},
		{`{"jsonrpc":"2.0","id":1,"method":"clientService/request","params":{"channel":"ahp-client-services://"}}`,
			`request 2.0 idKind=2 method=13 paramsKind=6 id=1 methodText="clientService/request" params={"channel":"ahp-client-services://"} .channel="ahp-client-services://"`},
		{`{"method":"clientService/request", "id":1}`, `request idKind=2 method=13 id=1 methodText="clientService/request"`},
		{"{\"jsonrpc\":\"2.0\",\t\"method\":\"clientService/notify\", \"id\":1}", `request 2.0 idKind=2 method=12 id=1 methodText="clientService/notify"`},
		{`{"jsonrpc":"2.0","jsonrpc":"2.0","id":1}`, `answer 2.0 idKind=2 duplicates=1 id=1`},
		{`{"id":1,"jsonrpc":"2.0","jsonrpc":"1.0","x":1}`, `answer 2.0 idKind=2 duplicates=1 id=1`},
		{`{"jsonrpc":null,"jsonrpc":"2.0","x":1}`, `none duplicates=1`},
		{`{"method":"clientService/notify","method":"clientService/request","x":1}`, `notification method=12 duplicates=100 methodText="clientService/notify"`},
		{`{"method":null,"method":"clientService/request","x":1}`, `notification duplicates=100 methodText=null`},
		{`{"params":{"channel":"ahp-client-services://","channel":"ahp-client-services://","x":1}}`,
			`none paramsKind=6 duplicates=1000000 params={"channel":"ahp-client-services://","channel":"ahp-client-services://","x":1} .channel="ahp-client-services://"`},
		{`{"method":"clientService/notify!","x":1}`, `notification method=1 methodText="clientService/notify!"`},
		{`{"method":"clientService/reques","x":1}`, `notification method=1 methodText="clientService/reques"`},
		{`{"jsonrpc":"2.0",}`, `invalid`},
		{`{"jsonrpc":"2.0",`, `invalid`},
		{`{"jsonrpc":"2.0","method":"clientService/notify",}`, `invalid`},
		{`{"jsonrpc":"2.0","method":"clientService/notify",`, `invalid`},
		{`{"method":"clientService/notify",,"id":1}`, `invalid`},
		{`{"params":{"channel":"ahp-client-services://",}}`, `invalid`},
		{`{"params":{"channel":"ahp-client-services://",`, `invalid`},
		// Invalid.
		{`{"method":"ping"`, `invalid`},
		{`{"method":"ping"}x`, `invalid`},
		{`{"method":"ping","params":{"serviceId":"s"]}`, `invalid`},
		{`{"method":"ping","params":{"serviceId":"s",}}`, `invalid`},
		{`{"method":"ping","params":{"serviceId"}}`, `invalid`},
		{`{"method":"ping";"params":{}}`, `invalid`},
		{`{"params":{"serviceId":"s"}:"id":1}`, `invalid`},
		{`{"jsonrpc":"2.0","method":"ping","params":{"params":"` + "\xff" + `"}}`, `invalid`},
	} {
		if got := describe(test.line); got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.line, got, test.want)
		}
	}
}

func TestParseMethods(t *testing.T) {
	for _, n := range methodNames {
		for _, line := range []string{
			`{"method":"` + n.name + `"}`,
			`{"method":"` + strings.ReplaceAll(n.name, "e", `\u0065`) + `"}`,
			`{"method":"\u00` + fmt.Sprintf("%02X", n.name[0]) + n.name[1:] + `"}`,
			`{"method":"` + strings.ReplaceAll(n.name, "/", `\/`) + `"}`,
		} {
			var m Message
			if !Parse([]byte(line), 128, &m) || m.Method != n.method {
				t.Errorf("%s: method %d, want %d", line, m.Method, n.method)
			}
		}
		for _, wrong := range []string{n.name + "x", n.name[1:], n.name[:len(n.name)-1], strings.ToUpper(n.name), n.name + `\u0000`} {
			var m Message
			if !Parse([]byte(`{"method":"`+wrong+`"}`), 128, &m) || m.Method != MethodUnknown {
				t.Errorf("%s: method %d", wrong, m.Method)
			}
		}
	}
}

func TestParseResets(t *testing.T) {
	full := []byte(`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","params":{"channel":1,"serviceId":2,"method":3,"params":4,"timeoutMs":5,"id":6,"metadata":7},"result":1,"error":2}`)
	var m Message
	if !Parse(full, 128, &m) || m.Metadata.Absent() || m.Error.Absent() {
		t.Fatalf("%+v", m)
	}
	if !Parse([]byte(`[]`), 128, &m) || m != (Message{}) {
		t.Errorf("after a valid line: %+v", m)
	}
	Parse(full, 128, &m)
	if Parse(full[:len(full)-1], 128, &m) || m != (Message{}) {
		t.Errorf("after an invalid line: %+v", m)
	}
}

func TestParseAllocatesNothing(t *testing.T) {
	deep := strings.Repeat(`[`, 126) + strings.Repeat(`]`, 126)
	for _, line := range []string{
		`{"jsonrpc":"2.0","method":"clientService/notify","params":{"channel":"ahp-client-services://","serviceId":"s1","method":"m","params":{"a":[1,2,{"b":"é"}]}}}`,
		`{"jsonrpc":"2.0","id":"x","m\u0065thod":"client\u0053ervice/request","p\u0061rams":{"service\u0049d":"s","\ud800":1}}`,
		`{"method":"m","params":{"params":` + deep + `}}`,
		`{"id":1,"result":` + deep + `}`,
		`{"id":1,`,
		`{"id":1,"result":[` + strings.Repeat(`{"k":[1.5,null,"v\n"]},`, 100) + deep + `]}`,
		`{"id":1,"result":"` + strings.Repeat(`日本`, 500) + `"}`,
		`{"` + strings.Repeat(`\u006d`, 1000) + `":1}`,
	} {
		text := []byte(line)
		var m Message
		if n := testing.AllocsPerRun(100, func() { Parse(text, 128, &m) }); n != 0 {
			t.Errorf("%.99s: %v allocations", line, n)
		}
	}
}
