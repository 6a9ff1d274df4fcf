package relay

import (
	"strings"
	"testing"
)

// Bytes that have been taken do not come again, whatever else happens in the same call: here what is kept of
// an unfinished line takes the last memory, and those who follow the catalogue hear that the services of the
// connection that held most are gone.
func TestReceiveSomeTakesBytesOnce(t *testing.T) {
	config := testConfig()
	config.Limits.MemoryBytesMax, config.Limits.QueueBytesSoft, config.Limits.ReplayActions = 9000, 1024, 0
	w := newWorld(t, config)
	owner, observer, sender := w.hello("owner", PeerInfo{UID: -1}), w.hello("observer", PeerInfo{UID: -1}), w.hello("sender", PeerInfo{UID: -1})
	w.send(observer, []byte(`{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"channel":"ahp-client-services://"}}`+"\n"))
	for range 6 {
		w.register(owner, `{"pad":"`+strings.Repeat("x", 850)+`"}`)
	}
	observer.read()
	line := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"pad":"` + strings.Repeat("y", 3800) + `"}}`
	for _, part := range []string{line[:3500], line[3500:] + "\n"} {
		for rest := []byte(part); len(rest) > 0; {
			rest = w.core.ReceiveSome(w.now, sender.id, rest)
			w.drain()
		}
	}
	if got := sender.read(); len(got) != 1 || got[0] != `{"jsonrpc":"2.0","id":1,"result":null}` {
		t.Errorf("the line that came in two pieces drew %q", got)
	}
	if got := owner.read(); len(got) != 2 || !strings.Contains(got[0], "slowConsumer") {
		t.Errorf("the owner got %q", got)
	}
	if got := observer.read(); len(got) != 6 {
		t.Errorf("the observer got %q", got)
	}
	w.finish()
}
