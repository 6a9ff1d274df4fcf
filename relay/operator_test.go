package relay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// tapLog keeps what a tap sees, one line an envelope.
type tapLog []string

func (l *tapLog) Envelope(e *relay.Envelope) {
	*l = append(*l, fmt.Sprintf("%s %s code=%d %s>%s %q %s %s age=%s", e.Kind, e.Word, e.Code, e.Sender, e.Owner, e.Protocol, e.Method, e.Payload, e.Age))
}

func (g *rig) say(now time.Duration, id relay.PeerID, lines ...string) string {
	var out strings.Builder
	for _, line := range lines {
		g.c.Receive(now, id, []byte(strings.ReplaceAll(line, "SERVICE", g.service)+"\n"))
	}
	for {
		id, ok := g.c.Dirty()
		if !ok {
			return out.String()
		}
		for b, _ := g.c.Take(id); len(b) > 0; b, _ = g.c.Take(id) {
			out.Write(b)
			g.c.Wrote(now, id, len(b))
		}
	}
}

const (
	notifyLine  = `{"jsonrpc":"2.0","method":"clientService/notify","params":{"serviceId":"SERVICE","method":"n","params":[1]}}`
	requestLine = `{"jsonrpc":"2.0","id":7,"method":"clientService/request","params":{"serviceId":"SERVICE","method":"r","params":{"a":1}}}`
)

func TestTap(t *testing.T) {
	g := newRig(t)
	for range 4 { // the fast path is in use when the tap comes
		g.say(2, g.caller, notifyLine)
	}
	var seen tapLog
	g.c.SetTap(&seen)
	g.say(2, g.caller, notifyLine)
	asked := g.say(2, g.caller, requestLine)
	_, rest, _ := strings.Cut(asked, `"id":`)
	id, _, _ := strings.Cut(rest, ",")
	g.say(3, g.owner, `{"jsonrpc":"2.0","id":`+id+`,"result":{"b":2}}`)
	g.say(3, g.caller, strings.Replace(notifyLine, "SERVICE", "nobody", 1), strings.Replace(notifyLine, `"n"`, "1", 1),
		strings.Replace(requestLine, "SERVICE", "nobody", 1), requestLine, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}}`)
	g.c.SetTap(nil)
	g.say(4, g.caller, notifyLine)
	want := []string{
		`notification  code=0 client-1>client-0 "p" "n" [1] age=0s`,
		`request  code=0 client-1>client-0 "p" "r" {"a":1} age=0s`,
		`answer result code=0 client-1>client-0 "p"  {"b":2} age=1ns`,
		`dropped unknownService code=0 client-1> "" "n" [1] age=0s`,
		`dropped malformed code=0 client-1> ""   age=0s`,
		`refused  code=-32008 client-1> ""   age=0s`,
		`request  code=0 client-1>client-0 "p" "r" {"a":1} age=0s`,
		`answer cancelled code=-32800 client-1>client-0 "p"   age=0s`,
	}
	if !slices.Equal(seen, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
}

// TestTapChangesNothing: what is delivered is the same with a tap as without.
func TestTapChangesNothing(t *testing.T) {
	plain, tapped := newRig(t), newRig(t)
	var seen tapLog
	tapped.c.SetTap(&seen)
	for i := range 200 {
		line := strings.Replace(notifyLine, "[1]", fmt.Sprintf(`{"i":%d,"s":"\u00e9"}`, i), 1)
		if a, b := plain.say(2, plain.caller, line), tapped.say(2, tapped.caller, line); a != b || a == "" {
			t.Fatalf("%d: %q, tapped %q", i, a, b)
		}
	}
	if len(seen) != 200 {
		t.Errorf("the tap saw %d", len(seen))
	}
}

// TestTraffic: every frame and byte counts under one kind, on the fast path too.
func TestTraffic(t *testing.T) {
	g := newRig(t)
	before := *g.c.Counters()
	notify := strings.Replace(notifyLine, "SERVICE", g.service, 1)
	request := strings.Replace(requestLine, "SERVICE", g.service, 1)
	var out int
	for range 10 {
		out += len(g.say(2, g.caller, notify))
	}
	asked := g.say(2, g.caller, request)
	cancel := `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}}`
	ended := g.say(2, g.caller, cancel)
	broken := g.say(2, g.caller, "{")
	after := g.c.Counters()
	check := func(what string, of func(*relay.Counters) relay.Traffic, frames, bytes int) {
		t.Helper()
		a, b := of(after), of(&before)
		if got := (relay.Traffic{Frames: a.Frames - b.Frames, Bytes: a.Bytes - b.Bytes}); got != (relay.Traffic{Frames: uint64(frames), Bytes: uint64(bytes)}) {
			t.Errorf("%s: %+v, want %d frames and %d bytes", what, got, frames, bytes)
		}
	}
	in := func(k relay.Kind) func(*relay.Counters) relay.Traffic {
		return func(c *relay.Counters) relay.Traffic { return c.Received(k) }
	}
	sent := func(k relay.Kind) func(*relay.Counters) relay.Traffic {
		return func(c *relay.Counters) relay.Traffic { return c.Sent(k) }
	}
	check("notifications in", in(relay.KindNotification), 11, 10*(len(notify)+1)+len(cancel)+1)
	check("requests in", in(relay.KindRequest), 1, len(request)+1)
	check("answers in", in(relay.KindAnswer), 0, 0)
	check("invalid", in(relay.KindInvalid), 1, 2)
	check("notifications out", sent(relay.KindNotification), 10, out)
	check("requests out", sent(relay.KindRequest), 1, len(asked))
	answer := len(ended) - strings.Index(ended, `{"jsonrpc":"2.0","id":7`)
	if i := strings.Index(ended, `{"jsonrpc":"2.0","method":"$/cancelRequest"`); i > 0 {
		answer = i
	}
	check("answers out", sent(relay.KindAnswer), 2, answer+len(broken))
	check("control out", sent(relay.KindControl), 1, len(ended)-answer)
	check("actions out", sent(relay.KindAction), 0, 0)
}

// TestInspect: page by page, each entry once.
func TestInspect(t *testing.T) {
	g := newRig(t)
	for range 9 {
		g.say(5, g.owner, `{"jsonrpc":"2.0","id":3,"method":"client/registerService","params":{"metadata":{}}}`)
	}
	g.say(10, g.caller, requestLine, strings.Replace(requestLine, "7", `"b"`, 1), `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}}`)
	var clients, services, requests []string
	for from, first := 0, true; first || from > 0; first = false {
		from = g.c.EachConnection(from, 1, func(i relay.ConnectionInfo) {
			clients = append(clients, fmt.Sprintf("%s %s %s %d %d", i.ClientID, i.State, i.Principal, i.Services, i.Inflight))
		})
	}
	for from, first := 0, true; first || from > 0; first = false {
		from = g.c.EachService(from, 3, func(i relay.ServiceInfo) {
			services = append(services, fmt.Sprintf("%s %q %d", i.Owner, i.Protocol, i.Inflight))
		})
	}
	for from, first := 0, true; first || from > 0; first = false {
		from = g.c.EachRequest(from, 4, func(i relay.RequestInfo) {
			requests = append(requests, fmt.Sprintf("%s %s>%s %t %s", i.ID, i.Caller, i.Owner, i.Abandoned, i.Started))
		})
	}
	if want := []string{"client-0 open anonymous 10 0", "client-1 open anonymous 0 2"}; !slices.Equal(clients, want) {
		t.Errorf("connections %q", clients)
	}
	if want := append([]string{`client-0 "p" 2`}, slices.Repeat([]string{`client-0 "" 0`}, 9)...); !slices.Equal(services, want) {
		t.Errorf("services %q", services)
	}
	slices.Sort(requests)
	if want := []string{`"b" client-1>client-0 false 10ns`, `7 client-1>client-0 true 10ns`}; !slices.Equal(requests, want) {
		t.Errorf("requests %q", requests)
	}
	g.c.Closed(11, g.caller)
	g.c.Closed(11, g.owner)
	if g.c.EachConnection(0, 100, func(relay.ConnectionInfo) { t.Error("a connection is left") }) != 0 {
		t.Error("a further page")
	}
}

// BenchmarkPage is what one page of connections costs the loop.
func BenchmarkPage(b *testing.B) {
	g := newRig(b)
	for range 1022 {
		g.c.Open(1, relay.PeerInfo{Transport: "tcp", Remote: "127.0.0.1:1", UID: -1})
	}
	var all []relay.ConnectionInfo
	for b.Loop() {
		all = all[:0]
		g.c.EachConnection(0, 1024, func(i relay.ConnectionInfo) { all = append(all, i) })
	}
	if len(all) != 1024 {
		b.Fatal(len(all))
	}
}
