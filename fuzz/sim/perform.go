package sim

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/ahprelay/ahprelay/relay"
)

// perform carries out an operation on the core and the model.
func (r *run) perform(op Op) {
	w := r.world
	e := w.end(op.End)
	switch op.Kind {
	case OpOpen:
		if e == nil {
			r.tape.open(op)
			w.open(op.End, op.Info)
		}
	case OpTick:
		r.tape.line("tick " + op.Time.String())
		w.pass(op.Time)
	case OpReload:
		r.reload(op)
	case OpDrain:
		r.tape.line("drain")
		w.exec(func() { w.core.Drain(w.now) }, w.model.drain)
	default:
		if e != nil && e.open {
			r.onEnd(e, op)
		}
	}
}

// onEnd carries out what concerns one connection.
func (r *run) onEnd(e *end, op Op) {
	switch op.Kind {
	case OpSend:
		if !e.half {
			r.send(e, op)
		}
	case OpClose:
		r.tape.line("close " + e.name)
		r.world.closed(e)
	case OpHalf:
		if !e.half {
			r.tape.line("half " + e.name)
			r.world.halfClosed(e)
		}
	case OpStall:
		r.tape.line("stall " + e.name)
		e.room = 0
	case OpUnstall:
		r.tape.unstall(e, op.Room)
		r.world.unstall(e, op.Room)
	case OpRetry:
		r.tape.line("# retry " + e.name + " " + strconv.Itoa(op.Room))
		r.world.retry(e, op.Room)
	case OpCertify:
		if c := r.model.conn(e); !c.spoke && c.phase <= phaseSurplus {
			r.tape.line("# certify " + e.name + " " + strings.Join(op.Info.CertNames, " "))
			r.world.certify(e, op.Info.CertNames)
		}
	case OpViolate:
		r.tape.line("# violate " + e.name)
		r.world.violate(e)
	}
}

func (r *run) reload(op Op) {
	r.tape.config("reload", op.Config)
	bad := op.Config.Limits.Validate() != nil || r.model.config.Limits.Fixed(&op.Config.Limits) != nil || twice(op.Config)
	r.world.exec(func() {
		err := r.world.core.Reload(r.world.now, *op.Config)
		must(bad == (err != nil), "Reload: %v", err)
	}, func() {
		if !bad {
			r.model.reload(*op.Config)
		}
	})
}

// send sends lines in the pieces that the operation asks for.
func (r *run) send(e *end, op Op) {
	var data []byte
	data = append(data, e.rest...)
	for _, line := range op.Lines {
		text := r.model.names.fill(line.Text)
		for range max(line.Repeat, 1) {
			data = append(append(data, text...), '\n')
			if !blank(text) {
				e.numbers = append(e.numbers, line.Number)
			}
		}
	}
	hold := min(op.Hold, len(data))
	e.rest = bytes.Clone(data[len(data)-hold:])
	data = data[:len(data)-hold]
	var cuts []int
	for _, cut := range op.Cuts {
		if len(data) > 0 {
			cuts = append(cuts, cut%len(data))
		}
	}
	slices.Sort(cuts)
	start := 0
	for _, end := range append(cuts, len(data)) {
		r.pieces(e, data[start:end])
		start = end
	}
}

// pieces hands over what comes in one read. Where output may get lost before the model has seen it,
// because its reader is being closed, it is few lines at a time.
func (r *run) pieces(e *end, data []byte) {
	for len(data) > 0 && e.open {
		most := len(data)
		if n := r.linesAtOnce(e); n > 0 {
			at := 0
			for range n {
				if next := bytes.IndexByte(data[at:], '\n'); next >= 0 {
					at += next + 1
				} else {
					at = len(data)
				}
			}
			most = at
		}
		r.tape.send(e, data[:most])
		r.world.receive(e, data[:most])
		r.tape.results(r.world)
		data = data[most:]
	}
}

func (r *run) linesAtOnce(e *end) int {
	l := r.model.config.Limits
	switch {
	case len(e.waiting) > 0 || l.MemoryBytesMax > 0 || r.model.config.Overload == relay.OverloadDisconnect && l.QueueBytesSoft < 1<<20:
		return 1
	case l.QueueBytesHard < 1<<20 && 8*r.model.catalogBytes() > l.QueueBytesHard-8<<10: // snapshots
		return 1
	case l.QueueBytesHard < 1<<20:
		return 8
	}
	return 0
}
