package relay

import (
	"bytes"
	"strings"
	"time"

	"github.com/ahprelay/ahprelay/table"
)

// testBoot makes ids and numbers that are the same in every run. The salt makes relay ids long enough
// to be told from other numbers.
var testBoot = table.Boot{Tag: [table.TagBytes]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, Salt: 1<<33 - 12345, Seq: 1000}

// tester is what testing.T and rapid.T have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// end is the transport of one connection: what the core gave it, and how much it is willing to take.
type end struct {
	name    string
	id      PeerID
	open    bool
	blocked bool
	room    int    // bytes that it still takes; negative: any number
	got     []byte // the line that has not ended yet
	seen    []string
}

// world runs a core under virtual time, as the loop does under real time.
type world struct {
	t       tester
	core    *Core
	now     time.Duration
	ends    []*end // in the order of opening
	trickle bool   // transports take a few bytes at a time
	counted Counters
}

func newWorld(t tester, config Config) *world {
	t.Helper()
	core, err := New(config, testBoot, [32]byte{})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	w := &world{t: t, core: core, now: time.Hour}
	core.Tick(w.now)
	return w
}

// end returns the latest connection of that name.
func (w *world) end(name string) *end {
	for i := len(w.ends) - 1; i >= 0; i-- {
		if w.ends[i].name == name {
			return w.ends[i]
		}
	}
	return nil
}

func (w *world) open(name string, info PeerInfo) *end {
	e := &end{name: name, room: -1}
	w.ends = append(w.ends, e)
	e.id, e.open = w.core.Open(w.now, info)
	if !e.open {
		e.seen = append(e.seen, "refused")
	}
	w.drain()
	return e
}

func (w *world) send(e *end, chunks ...[]byte) {
	for _, chunk := range chunks {
		if e.open {
			w.core.Receive(w.now, e.id, chunk)
		}
	}
	w.drain()
}

func (w *world) close(e *end) {
	if e.open {
		e.open = false
		w.core.Closed(w.now, e.id)
	}
	w.drain()
}

func (w *world) half(e *end) {
	w.core.HalfClosed(w.now, e.id)
	w.flush(e)
	w.drain()
}

// drain does what the loop's settle does.
func (w *world) drain() {
	for {
		id, ok := w.core.Dirty()
		if !ok {
			return
		}
		for _, e := range w.ends {
			if e.open && e.id == id {
				w.flush(e)
			}
		}
	}
}

// flush does what the loop's flush does.
func (w *world) flush(e *end) {
	for e.open {
		out, step := w.core.Take(e.id)
		switch {
		case len(out) > 0:
			if e.blocked || !w.write(e, out) {
				return
			}
		case step == Shut:
			e.event("shut")
			return
		case step == Close:
			e.event("eof")
			e.open = false
			w.core.Closed(w.now, e.id)
		default:
			return
		}
	}
}

// write offers bytes to a transport and reports whether it takes more.
func (w *world) write(e *end, out []byte) bool {
	n := len(out)
	if w.trickle {
		n = min(n, 7)
	}
	if e.room >= 0 {
		n = min(n, e.room)
		e.room -= n
	}
	e.got = append(e.got, out[:n]...)
	w.core.Wrote(w.now, e.id, n)
	e.blocked = n < len(out) && e.room == 0
	return !e.blocked
}

// unstall lets a transport take room more bytes; negative: any number.
func (w *world) unstall(e *end, room int) {
	e.room, e.blocked = room, false
	w.flush(e)
	w.drain()
}

// pass lets time pass, calling Tick no more often than the core asks for.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	target := w.now + d
	for steps := 0; ; steps++ {
		at, ok := w.core.NextDeadline()
		if !ok || at > target {
			break
		}
		if steps > 10000 {
			w.t.Fatal("the core asks for too many ticks")
		}
		w.now = max(at, w.now)
		w.tick()
	}
	w.now = target
	w.tick()
}

func (w *world) tick() {
	w.t.Helper()
	w.core.Tick(w.now)
	w.drain()
	if at, ok := w.core.NextDeadline(); ok && at <= w.now {
		w.t.Fatalf("busy timer: at %v the next deadline is %v", w.now, at)
	}
}

// finish closes every connection, waits for the ghosts and has everything counted.
func (w *world) finish() {
	w.t.Helper()
	for _, e := range w.ends {
		w.close(e)
	}
	w.pass(w.core.limits.RequestTimeoutMax + time.Second)
	if err := w.core.CheckEmpty(); err != nil {
		w.t.Errorf("after everybody has gone: %v", err)
	}
}

// lines moves complete lines out of what was received.
func (e *end) lines() {
	for {
		i := bytes.IndexByte(e.got, '\n')
		if i < 0 {
			return
		}
		e.seen = append(e.seen, string(e.got[:i]))
		e.got = e.got[i+1:]
	}
}

// event notes something that is no line, behind what was received before it.
func (e *end) event(what string) {
	e.lines()
	if len(e.got) > 0 {
		e.seen = append(e.seen, "half a line: "+string(e.got))
		e.got = nil
	}
	e.seen = append(e.seen, what)
}

// read returns what came since it was called last.
func (e *end) read() []string {
	e.lines()
	seen := e.seen
	e.seen = nil
	return seen
}

// one returns the only thing that came since it was read last.
func (w *world) one(e *end) string {
	w.t.Helper()
	seen := e.read()
	if len(seen) != 1 {
		w.t.Fatalf("%s got %d lines, want 1: %q", e.name, len(seen), seen)
	}
	return seen[0]
}

// hello opens a connection and shakes hands.
func (w *world) hello(clientID string, info PeerInfo) *end {
	w.t.Helper()
	e := w.open(clientID, info)
	w.send(e, []byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersions":["1.0.0"],"clientId":"`+clientID+`"}}`+"\n"))
	if line := w.one(e); !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"1.0.0",`) {
		w.t.Fatalf("initialize: %s", line)
	}
	return e
}

// register makes a service and returns its id; the owner must not be an observer.
func (w *world) register(e *end, metadata string) string {
	w.t.Helper()
	w.send(e, []byte(`{"jsonrpc":"2.0","id":"r","method":"client/registerService","params":{"metadata":`+metadata+"}}\n"))
	line := w.one(e)
	const head, tail = `{"jsonrpc":"2.0","id":"r","result":{"serviceId":"`, `"}}`
	if !strings.HasPrefix(line, head) || !strings.HasSuffix(line, tail) {
		w.t.Fatalf("register: %s", line)
	}
	return line[len(head) : len(line)-len(tail)]
}
