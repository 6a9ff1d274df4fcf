package relay

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ahprelay/ahprelay/codec"
)

// What is parsed by comparing with the request before is what the parser finds, or is left to it.
func TestMoldAgreesWithTheParser(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var x mold
	pressed := 0
	for range 200_000 {
		line := []byte(spoil(r, askLine(r)))
		var want, got codec.Message
		ok := codec.Parse(line, 128, &want)
		if len(x.in) > 0 && x.press(line, 1, 128, &got) {
			pressed++
			if !ok || got != want {
				t.Fatalf("%s\npressed %+v\nparsed  %+v, %v", line, got, want, ok)
			}
			continue
		}
		if ok && want.Kind == codec.KindRequest && want.Method == codec.MethodRequest {
			x.remember(line, &want, 1)
		}
	}
	if pressed < 2_000 {
		t.Fatalf("only %d lines were pressed", pressed)
	}
}

// askLine makes a request of one of a few shapes, most of them alike.
func askLine(r *rand.Rand) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	id := pick(fmt.Sprint(r.IntN(1_000_000)), "7", "0", `"a"`, `"`+fmt.Sprint(r.IntN(1000))+`"`, "01", "-1", "1e3", "null", `"a\u0062"`, `"é"`, `""`)
	service := pick("AAAAAAAAABBBBBBBBBBCCC", "AAABAAAAABBBBBBBBBBCCC", "AAACAAAAABBBBBBBBBBCC", "AAAC AAAABBBBBBBBBBCC ", `AAAA\u0041AABBBBBBBBBB`)
	payload := pick("1", `{"x":1}`, `[1,2,{"y":"z"}]`, `"s"`, `"é"`, "tru", `{"a":}`, "null", `"\u2028"`, "[[[[[[]]]]]]")
	if r.IntN(12) == 0 {
		return pick(
			`{"jsonrpc":"2.0","method":"clientService/request","id":`+id+`,"params":{"serviceId":"`+service+`","method":"m","params":`+payload+`}}`,
			`{"jsonrpc":"2.0","id":`+id+`,"method":"clientService/request","params":{"method":"m","params":`+payload+`,"serviceId":"`+service+`"}}`,
			`{"jsonrpc":"2.0","id":`+id+`,"method":"clientService/request","params":{"serviceId":"`+service+`","method":"m","params":`+payload+`,"timeoutMs":5}}`,
			`{"jsonrpc":"2.0","id":`+id+`,"method":"clientService/request","params":{"serviceId":"`+service+`","method":"m","params":`+payload+`},"id":1}`)
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"clientService/request","params":{"channel":"ahp-client-services://","serviceId":"` + service + `","method":"m","params":` + payload + `}}`
}
