package loop

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// gnet keeps one pool of workers for the life of the process.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"))
}

func TestNotificationAndRequest(t *testing.T) {
	_, addr := serve(t, nil)
	owner, caller := hello(t, addr, "owner"), hello(t, addr, "caller")
	id := owner.register(`{"protocol":"echo"}`)
	caller.send(`{"jsonrpc":"2.0","method":"clientService/notify","params":{"serviceId":"`+id+`","method":"hi","params":{"a": 1.0}}}`,
		`{"jsonrpc":"2.0","id":1e3,"method":"clientService/request","params":{"serviceId":"`+id+`","method":"ask","params":[1]}}`)
	owner.expect(`{"jsonrpc":"2.0","method":"clientService/notification","params":{"channel":"ahp-client-services://","serviceId":"` + id + `","senderClientId":"caller","method":"hi","params":{"a": 1.0}}}`)
	line := owner.line()
	if !strings.HasSuffix(line, `,"method":"clientService/handleRequest","params":{"channel":"ahp-client-services://","serviceId":"`+id+`","senderClientId":"caller","method":"ask","params":[1],"timeoutMs":30000}}`) {
		t.Fatal(line)
	}
	relayID := line[len(`{"jsonrpc":"2.0","id":`):strings.Index(line, `,"method"`)]
	owner.send(`{"jsonrpc":"2.0","id":` + relayID + `,"result":{"b":2}}`)
	caller.expect(`{"jsonrpc":"2.0","id":1e3,"result":{"b":2}}`)
}

func TestHalfCloseStillGetsAnswers(t *testing.T) {
	_, addr := serve(t, nil)
	p := hello(t, addr, "a")
	var lines []string
	for range 5000 {
		lines = append(lines, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	}
	p.send(lines...)
	p.closeWrite()
	for range 5000 {
		p.expect(`{"jsonrpc":"2.0","id":1,"result":null}`)
	}
	p.eof()
}

// Lines may come in any pieces.
func TestByteByByte(t *testing.T) {
	_, addr := serve(t, nil)
	p := dial(t, addr)
	lines := "\xef\xbb\xbf" + initialize("a") + "\r\n\n\r\n" + `{"jsonrpc":"2.0","id":"\u00fc","method":"ping"}` + "\n"
	for i := range len(lines) {
		if _, err := p.Write([]byte{lines[i]}); err != nil {
			t.Fatal(err)
		}
	}
	if line := p.line(); !strings.HasPrefix(line, initialized) {
		t.Fatal(line)
	}
	p.expect(result(`"\u00fc"`, `null`))
	p.quiet()
}
