package relay

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const pingLine = `{"jsonrpc":"2.0","id":"` + "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" + `","method":"ping"}` + "\n" // answered with 100 bytes

func TestMemoryOfClosingConnections(t *testing.T) {
	config := testConfig()
	config.Limits.MemoryBytesMax = 20000
	config.Limits.ReplayActions = 0
	w := newWorld(t, config)
	old, b := w.hello("a", PeerInfo{UID: -1}), w.hello("b", PeerInfo{UID: -1})
	old.room, b.room = 0, 0
	w.send(old, []byte(strings.Repeat(pingLine, 100)))
	again := w.open("a", PeerInfo{UID: -1})
	token := w.core.peer(old.id).resumeToken
	w.send(again, []byte(`{"jsonrpc":"2.0","id":1,"method":"reconnect","params":{"clientId":"a","lastSeenServerSeq":0,"subscriptions":[],"_meta":{"ahprelay.resumeToken":"`+token+`"}}}`+"\n"))
	if s := w.core.peer(old.id).state; s != stateClosing {
		t.Fatalf("the superseded connection is in state %d", s)
	}
	w.send(b, []byte(strings.Repeat(pingLine, 99)))
	if got := old.read(); !reflect.DeepEqual(got, []string{"eof"}) {
		t.Errorf("the superseded connection got %q", got)
	}
	if err := w.core.Check(); err != nil {
		t.Error(err)
	}
	w.unstall(b, -1)
	if got := b.read(); len(got) != 99 {
		t.Errorf("b got %d answers", len(got))
	}
	w.finish()
}

func TestMemoryWithoutHolder(t *testing.T) {
	config := testConfig()
	config.Limits.MemoryBytesMax = 5000
	w := newWorld(t, config)
	owner := w.hello("owner", PeerInfo{UID: -1})
	w.send(owner, []byte(`{"jsonrpc":"2.0","id":1,"method":"client/registerService","params":{"metadata":{"x":"`+strings.Repeat("x", 4500)+`"}}}`+"\n"))
	if got := owner.read(); len(got) == 0 || got[len(got)-1] != "shut" {
		t.Fatalf("got %q", got)
	}
	w.finish()
}

func TestAnnouncedSizesAreEnough(t *testing.T) {
	config := testConfig()
	config.Limits.FrameBytesMax, config.Limits.MetadataBytesMax = 4096, 1024
	config.Limits.CatalogBytesMax, config.Limits.ServicesMax, config.Limits.ServicesPerConnectionMax = 4096, 64, 64
	worst := strings.Repeat("\x01", 128)
	uid := 1
	all := []string{"*"}
	config.Principals = []Principal{{Name: worst, UID: &uid, ClientIDs: all, Register: all, Discover: all, Notify: all, Request: all}}
	w := newWorld(t, config)
	e := w.hello(strings.Repeat(`\u0001`, 128), PeerInfo{UID: uid})
	id := w.register(e, `{}`)
	line := `{"jsonrpc":"2.0","id":1,"method":"clientService/request","params":{"serviceId":"` + id + `","method":"m","params":""}}`
	line = line[:len(line)-3] + strings.Repeat("x", config.Limits.FrameBytesMax-len(line)) + line[len(line)-3:]
	w.send(e, []byte(line+"\n"))
	if got, most := w.one(e), announcedOf(t, "deliveredBytes", &config.Limits); len(got) <= config.Limits.FrameBytesMax || len(got) > most {
		t.Errorf("a frame of %d bytes was delivered in %d, announced are %d", len(line), len(got), most)
	}
	for w.core.services.Bytes < config.Limits.CatalogBytesMax-1000 {
		w.register(e, `{}`)
	}
	w.send(e, []byte(`{"jsonrpc":"2.0","id":2,"method":"subscribe","params":{"channel":"ahp-client-services://"}}`+"\n"))
	if got := w.one(e); len(got) < w.core.services.Bytes || len(got) > announcedOf(t, "snapshotBytes", &config.Limits) {
		t.Errorf("a catalogue of %d bytes was sent in %d: %.200s", w.core.services.Bytes, len(got), got)
	}
	w.finish()
}

// announcedOf reads one limit of a handshake's reply.
func announcedOf(t *testing.T, name string, l *Limits) (n int) {
	t.Helper()
	_, rest, ok := strings.Cut(string(l.appendTo(nil, &usage{})), `"`+name+`":`)
	if _, err := fmt.Sscanf(rest, "%d", &n); !ok || err != nil {
		t.Fatalf("no limit %s", name)
	}
	return n
}

func TestSnapshotsBytes(t *testing.T) {
	w := newWorld(t, testConfig())
	e := w.hello("a", PeerInfo{UID: -1})
	for n := range 4 {
		p := w.core.peer(e.id)
		for _, order := range [][]uint8{nil, {channelRoot}, {channelServices}, {channelServices, channelRoot}} {
			set := uint8(0)
			for _, ch := range order {
				set |= ch
			}
			if got, want := w.core.snapshotsBytes(p, set), len(w.core.appendSnapshots(nil, p, order)); got != want {
				t.Errorf("%d services, channels %v: %d, are %d", n, order, got, want)
			}
		}
		w.register(e, fmt.Sprintf(`{"n":%d}`, n))
	}
	w.finish()
}

// clientInfo is cut to 256 bytes of whole characters.
func TestUnfinishedLinesAreBounded(t *testing.T) {
	config := testConfig()
	config.Limits.FrameBytesMax, config.Limits.MetadataBytesMax = 5000, 1000
	w := newWorld(t, config)
	e := w.hello("a", PeerInfo{UID: -1})
	for sent := 0; sent < 5000; sent += 100 {
		w.send(e, []byte(strings.Repeat("x", 100)))
		if held := w.core.peer(e.id).framer.Held(); held > 5000+4 || w.core.Gauges().QueueBytes != int64(held) {
			t.Fatalf("%d bytes are held, %d charged", held, w.core.Gauges().QueueBytes)
		}
	}
	if got := e.read(); got != nil {
		t.Fatalf("got %q", got)
	}
	w.send(e, []byte("x"))
	if got := e.read(); len(got) != 2 || !strings.Contains(got[0], `"frameTooLarge"`) || w.core.peer(e.id).framer.Held() != 0 {
		t.Fatalf("got %q, %d bytes held", got, w.core.peer(e.id).framer.Held())
	}
	w.finish()
}
