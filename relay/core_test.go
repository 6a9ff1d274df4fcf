package relay

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

const pingLine = `{"jsonrpc":"2.0","id":"` + "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" + `","method":"ping"}` + "\n" // answered with 100 bytes

// Who is being closed but does not take its output is cut off when memory runs short, before anybody who
// does no harm is closed.
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

// Memory that nobody in particular holds closes nobody twice and does not make the core spin.
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

// A transport may be late: what names a connection that is gone, or another's, has no effect.
func TestStalePeerIDs(t *testing.T) {
	w := newWorld(t, testConfig())
	first := w.open("first", PeerInfo{UID: -1})
	w.close(first)
	second := w.hello("second", PeerInfo{UID: -1})
	if uint32(first.id) != uint32(second.id) || first.id == second.id {
		t.Fatalf("ids %x and %x", first.id, second.id)
	}
	for _, id := range []PeerID{first.id, 99, second.id + 1<<32} {
		w.core.Receive(w.now, id, []byte("{\n"))
		w.core.Wrote(w.now, id, 10)
		w.core.HalfClosed(w.now, id)
		w.core.Closed(w.now, id)
		if out, step := w.core.Take(id); out != nil || step != Close {
			t.Errorf("%x: %q, %d", id, out, step)
		}
	}
	w.drain()
	if got := second.read(); got != nil || w.core.Peers() != 1 {
		t.Errorf("second got %q, %d connections", got, w.core.Peers())
	}
	w.finish()
}

// What the relay announces as the most that a client must be ready to receive is enough in the worst
// case: a full frame in the longest envelope, and a full catalogue.
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
	_, rest, ok := strings.Cut(string(l.appendTo(nil)), `"`+name+`":`)
	if _, err := fmt.Sscanf(rest, "%d", &n); !ok || err != nil {
		t.Fatalf("no limit %s", name)
	}
	return n
}

// The size by which a replay is judged is the size of the snapshots.
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
func TestClientInfoIsCut(t *testing.T) {
	for _, c := range []struct{ raw, name, version string }{
		{`{"name":"n","version":"v"}`, "n", "v"},
		{`{"name":"` + strings.Repeat("x", 5000) + `","version":"` + strings.Repeat(`\u00e9`, 200) + `"}`, strings.Repeat("x", 256), strings.Repeat("é", 128)},
		{`{"name":"x` + strings.Repeat("é", 128) + `"}`, "x" + strings.Repeat("é", 127), ""},
		{`{"name":5,"version":null}`, "", ""},
		{`[]`, "", ""},
		{``, "", ""},
	} {
		if name, version := clientInfo([]byte(c.raw)); name != c.name || version != c.version {
			t.Errorf("%.40s: %q, %q", c.raw, name, version)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{`["1.0.0"]`, "1.0.0"}, {`["1.0.0","1.0.0"]`, "1.0.0"}, {`["0.9.0","0.10.0"]`, "0.9.0"}, {`["0.3.9","0.3.10"]`, "0.3.10"}, {`["1.2.0","1.1.9"]`, "1.2.0"},
		{`["0.2.0","2.0.0","10.0.0","0.0.0","00.3.0"]`, "malformed"}, {`["0.2.0"]`, ""}, {`["` + strings.Repeat("1", 300) + `.0.0"]`, "malformed"},
	} {
		got, ok := chooseVersion([]byte(c.list))
		if !ok {
			got = "malformed"
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.list, got, c.want)
		}
	}
}

// Notes tell the operator of closings and limits, those of one connection at most once a second.
func TestNotes(t *testing.T) {
	config := testConfig()
	config.Limits.ServicesPerConnectionMax = 1
	w := newWorld(t, config)
	a := w.hello("a", PeerInfo{UID: -1, Remote: "192.0.2.7:9"})
	w.register(a, `{}`)
	over := []byte(`{"jsonrpc":"2.0","id":1,"method":"client/registerService","params":{"metadata":{}}}` + "\n")
	for range 3 {
		w.send(a, over)
	}
	w.pass(time.Second)
	w.send(a, over)
	w.send(a, []byte(strings.Repeat("{\n", 100)))
	a.read()
	var got []Note
	for n := w.core.LastNote(); n > 0; n-- {
		note, ok := w.core.Note(n)
		if !ok {
			t.Fatalf("no note %d", n)
		}
		got = append(got, note)
	}
	limit := Note{Kind: NoteLimit, Peer: a.id, Remote: "192.0.2.7:9", ClientID: "a", Principal: "anonymous", Word: "servicesPerConnection", Detail: "catalogue change refused"}
	first, second, closed := limit, limit, limit
	first.Number, first.At = 1, w.now-time.Second
	second.Number, second.At = 2, w.now
	closed.Number, closed.At, closed.Kind, closed.Word, closed.Detail = 3, w.now, NoteClosed, "protocolErrors", "too many lines broke the protocol"
	closed.Queue = 100 * len(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`+"\n")
	if want := []Note{closed, second, first}; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for range notesMax {
		w.core.note(nil, NoteLimit, "connections", "x")
	}
	if _, ok := w.core.Note(3); ok {
		t.Error("a note that has been overwritten is still there")
	}
	if _, ok := w.core.Note(0); ok {
		t.Error("there is a note 0")
	}
	w.finish()
}
