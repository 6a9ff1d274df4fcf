package relay

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// Who is being closed but does not take its output is cut off when memory runs short, before anybody who
// does no harm is closed.
// Memory that nobody in particular holds closes nobody twice and does not make the core spin.
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
// The size by which a replay is judged is the size of the snapshots.
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

// An unfinished line is never buffered beyond the limit, and given up as soon as it exceeds it.
// A notification leaves no trace behind it but counters.
func TestNotificationLeavesNothing(t *testing.T) {
	w := newWorld(t, testConfig())
	owner, caller := w.hello("owner", PeerInfo{UID: -1}), w.hello("caller", PeerInfo{UID: -1})
	id := w.register(owner, `{}`)
	before, deadline := w.core.Gauges(), w.core.alarms.Len()
	for range 5 {
		w.send(caller, []byte(`{"jsonrpc":"2.0","method":"clientService/notify","params":{"serviceId":"`+id+`","method":"m","params":1}}`+"\n"))
	}
	after := w.core.Gauges()
	after.QueueBytes, before.QueueBytes, after.Memory, before.Memory = 0, 0, 0, 0
	if len(owner.read()) != 5 || after != before || w.core.timers.Len() != 0 || w.core.alarms.Len() != deadline || w.core.LastNote() != 0 {
		t.Errorf("before %+v\nafter  %+v", before, after)
	}
	w.finish()
}

// Timeouts come at most 100 ms late when the core is ticked no more often than it asks for.
func TestTimeoutPrecision(t *testing.T) {
	w := newWorld(t, testConfig())
	owner, caller := w.hello("owner", PeerInfo{UID: -1}), w.hello("caller", PeerInfo{UID: -1})
	id := w.register(owner, `{}`)
	for ms := int64(1); ms < 500000; ms = ms*7/4 + 1 {
		w.send(caller, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"clientService/request","params":{"serviceId":"%s","method":"m","timeoutMs":%d}}`+"\n", id, ms))
		start := w.now
		for {
			at, ok := w.core.NextDeadline()
			if !ok || at <= w.now {
				t.Fatalf("timeout %d ms: at %v the next deadline is %v", ms, w.now-start, at-start)
			}
			w.now = at
			w.tick()
			if seen := caller.read(); len(seen) > 0 {
				break
			}
		}
		if late := w.now - start - time.Duration(ms)*time.Millisecond; late < 0 || late > 100*time.Millisecond {
			t.Errorf("timeout %d ms: %v late", ms, late)
		}
		w.pass(time.Minute)
	}
	w.finish()
}

// Clients are told to come back at different times.
func TestReconnectAfterIsJittered(t *testing.T) {
	w := newWorld(t, testConfig())
	var ends []*end
	for i := range 20 {
		ends = append(ends, w.hello(fmt.Sprint(i), PeerInfo{UID: -1}))
	}
	w.core.Drain(w.now)
	w.drain()
	after := map[string]bool{}
	for _, e := range ends {
		m := jitter.FindStringSubmatch(e.read()[0])
		if m == nil || len(m[1]) < 3 || len(m[1]) > 4 {
			t.Fatalf("reconnectAfterMs: %v", m)
		}
		after[m[1]] = true
	}
	if len(after) < 15 {
		t.Errorf("only %d different times", len(after))
	}
	w.finish()
	if !w.core.Drained() {
		t.Error("not drained")
	}
}

// A bucket refills by the time that has passed, however long that is.
func TestPace(t *testing.T) {
	var b pace
	taken := func(now time.Duration, perSecond int) (n int) {
		for b.take(now, perSecond) {
			n++
		}
		return n
	}
	for _, c := range []struct {
		now       time.Duration
		perSecond int
		want      int
	}{{time.Hour, 100, 256}, {time.Hour, 100, 0}, {time.Hour + 9*time.Millisecond, 100, 0}, {time.Hour + 10*time.Millisecond, 100, 1},
		{time.Hour + time.Second, 100, 99}, {10000 * time.Hour, 1 << 20, 256}, {10000*time.Hour + time.Microsecond, 1 << 20, 1}, {20000 * time.Hour, 1, 256}} {
		if got := taken(c.now, c.perSecond); got != c.want {
			t.Errorf("at %v, %d a second: %d, want %d", c.now, c.perSecond, got, c.want)
		}
	}
	if !b.take(0, 0) {
		t.Error("without pacing a change is refused")
	}
}
