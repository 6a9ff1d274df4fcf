package sim

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// end is the transport of one connection.
type end struct {
	number  int
	name    string
	id      relay.PeerID
	open    bool
	half    bool // the peer has shut down its sending side
	room    int  // bytes that it still takes; negative: any number
	blocked bool // it did not take everything, and has not asked for more since

	waiting []byte   // what the core has for it and the transport has not taken, as last seen
	fresh   []string // lines of waiting that the model has not read
	midway  bool     // the transport has taken the beginning of a line
	step    relay.Step
	touched bool // waits to be flushed

	rest    []byte // held back by the last OpSend
	numbers []int  // of the lines that were sent and not handled yet
	got     []byte // what the transport has taken of a line, for the tape
	seen    []string
}

// outputMax is how much output of a connection the core shows at once, less what one line may add: what comes
// after is in another buffer, which Take returns later.
const outputMax = 900 << 10

// world runs the core the way the loop does, and shows all of its output to the model before any of it
// is taken.
type world struct {
	core    *relay.Core
	model   *model
	tape    *tape
	now     time.Duration
	ends    []*end // in the order of opening
	byID    map[relay.PeerID]*end
	touched []*end
	notes   []relay.Note // closings that the model has not accounted for, in order
	noted   uint64
	inParts bool // reads are handed over with ReceiveSome
	unasked bool // output is being offered to a transport that has not asked for it
}

func newWorld(core *relay.Core, t *tape) *world {
	w := &world{core: core, tape: t, now: time.Hour, byID: map[relay.PeerID]*end{}}
	core.Tick(w.now)
	return w
}

// exec makes one call into the core, lets the model follow, and then does what the core wants.
func (w *world) exec(call, follow func()) {
	call()
	w.look()
	follow()
	for _, e := range w.touched {
		must(len(e.fresh) == 0, "%s gets a line that nothing calls for: %s", e.name, strings.Join(e.fresh, "\n"))
	}
	must(len(w.notes) == 0, "the relay closes a connection without need: %+v", w.notes)
	w.flushAll()
}

// look takes in all output of the core and every closing that it notes.
func (w *world) look() {
	for w.noted < w.core.LastNote() {
		w.noted++
		n, ok := w.core.Note(w.noted)
		must(ok, "note %d is gone", w.noted)
		if n.Kind == relay.NoteClosed {
			w.notes = append(w.notes, n)
		}
	}
	for {
		id, ok := w.core.Dirty()
		if !ok {
			return
		}
		if e := w.byID[id]; e != nil && e.open {
			w.see(e)
		}
	}
}

// see takes in the output for one connection.
func (w *world) see(e *end) {
	if !e.touched {
		e.touched = true
		w.touched = append(w.touched, e)
	}
	out, step := w.core.Take(e.id)
	if len(out) == 0 {
		e.step = step
		must(len(e.waiting) == 0 || step == relay.Close, "%s: %d bytes of output are gone", e.name, len(e.waiting))
		e.waiting = nil
		return
	}
	if len(out) > outputMax {
		panic(enough{})
	}
	known := len(e.waiting)
	if !bytes.HasPrefix(out, e.waiting) {
		must(w.slow(e), "%s: its output has changed", e.name)
		known = e.begun()
		must(bytes.HasPrefix(out, e.waiting[:known]), "%s: the line that is being sent has changed: %q, was %q", e.name, out, e.waiting)
	}
	more := out[known:]
	e.waiting = append(e.waiting[:known], more...)
	if len(more) == 0 {
		return
	}
	must(more[len(more)-1] == '\n', "%s gets half a line: %q", e.name, more)
	for _, line := range strings.SplitAfter(string(more), "\n") {
		if line != "" {
			e.fresh = append(e.fresh, line[:len(line)-1])
		}
	}
}

// slow reports whether e is being closed as a slow consumer, which costs it what waits.
func (w *world) slow(e *end) bool {
	for _, n := range w.notes {
		if n.Peer == e.id && n.Word == "slowConsumer" {
			return true
		}
	}
	return false
}

// begun is how many of the waiting bytes belong to a line that is partly sent.
func (e *end) begun() int {
	if !e.midway {
		return 0
	}
	return bytes.IndexByte(e.waiting, '\n') + 1
}

// flushAll offers the waiting output to the transports.
func (w *world) flushAll() {
	list := w.touched
	w.touched = nil
	for _, e := range list {
		e.touched = false
		w.flush(e)
	}
}

// flush does what the loop's flush does.
func (w *world) flush(e *end) {
	step := e.step
	e.step = relay.Keep
	for e.open {
		if step == relay.Keep {
			var out []byte
			if out, step = w.core.Take(e.id); len(out) > 0 {
				must(bytes.Equal(out, e.waiting), "%s: output that was not seen before", e.name)
				if e.blocked || !w.write(e, out) {
					return
				}
				continue
			}
		}
		switch step {
		case relay.Shut:
			w.tape.event(e, "shut")
			w.model.shut(e)
			return
		case relay.Close:
			w.tape.event(e, "eof")
			w.model.shutDown(e)
			w.closed(e)
			return
		}
		return
	}
}

// write offers bytes to a transport and reports whether it takes more.
func (w *world) write(e *end, out []byte) bool {
	n := len(out)
	if e.room >= 0 {
		n = min(n, e.room)
		e.room -= n
	}
	all := n == len(out)
	if n > 0 {
		e.midway = out[n-1] != '\n'
		w.tape.took(e, out[:n])
	}
	if w.unasked {
		w.core.Retried(w.now, e.id, n)
	} else {
		w.core.Wrote(w.now, e.id, n)
	}
	e.waiting = append(e.waiting[:0], e.waiting[n:]...)
	w.model.wrote(e, n, all)
	e.blocked = !all
	return all
}

// end returns the connection of that number, nil when there is none.
func (w *world) end(number int) *end {
	for _, e := range w.ends {
		if e.number == number {
			return e
		}
	}
	return nil
}

func (w *world) open(number int, info relay.PeerInfo) {
	e := &end{number: number, name: "c" + strconv.Itoa(number), room: -1}
	w.ends = append(w.ends, e)
	w.exec(func() {
		if e.id, e.open = w.core.Open(w.now, info); e.open {
			w.byID[e.id] = e
		} else {
			w.tape.event(e, "refused")
		}
	}, func() { w.model.open(e, info) })
}

// closed tells the core that a transport is gone.
func (w *world) closed(e *end) {
	e.open, e.waiting, e.fresh = false, nil, nil
	w.exec(func() { w.core.Closed(w.now, e.id) }, func() { w.model.closed(e) })
	delete(w.byID, e.id)
}

func (w *world) halfClosed(e *end) {
	e.half = true
	w.exec(func() { w.core.HalfClosed(w.now, e.id) }, func() { w.model.halfClosed(e) })
}

func (w *world) unstall(e *end, room int) {
	e.room, e.blocked = room, false
	if e.open {
		w.flush(e)
	}
}

// retry offers output again to a transport that may take room more bytes.
func (w *world) retry(e *end, room int) {
	if !e.blocked {
		return
	}
	w.unasked = true
	w.unstall(e, room)
	w.unasked = false
	if e.room == 0 {
		return
	}
	e.room = 0 // it took less than it might have: nothing more for now
}

func (w *world) certify(e *end, names []string) {
	w.exec(func() { w.core.Certify(w.now, e.id, names) }, func() { w.model.certify(e, names) })
}

func (w *world) violate(e *end) {
	w.exec(func() { w.core.Violate(w.now, e.id, "it broke the rules") }, func() { w.model.violate(e) })
}

// receive hands over what comes in one read, as the loop does: all of it, or so much at a time that what
// comes together for somebody is offered to its transport in between.
func (w *world) receive(e *end, data []byte) {
	for len(data) > 0 && e.open {
		var rest []byte
		w.exec(func() {
			own := bytes.Clone(data) // as the read buffer of the loop, which is used again
			if w.inParts {
				rest = w.core.ReceiveSome(w.now, e.id, own)
			} else {
				w.core.Receive(w.now, e.id, own)
			}
			rest = data[len(data)-len(rest):]
			for i := range own {
				own[i] = '#'
			}
		}, func() {
			w.model.receive(e, data[:len(data)-len(rest)])
		})
		data = rest
	}
}

// pass lets time pass, calling Tick when the core asks for it and no more often.
func (w *world) pass(d time.Duration) {
	target := w.now + d
	for steps := 0; ; steps++ {
		at, ok := w.core.NextDeadline()
		w.model.promised(at, ok)
		if !ok || at > target {
			break
		}
		must(steps < 5000, "the core asks for too many ticks")
		w.now = max(at, w.now)
		w.tick()
	}
	w.now = target
	w.tick()
}

func (w *world) tick() {
	w.exec(func() { w.core.Tick(w.now) }, func() { w.model.tick() })
	at, ok := w.core.NextDeadline()
	must(!ok || at > w.now, "busy timer: at %v the next deadline is %v", w.now, at)
}
