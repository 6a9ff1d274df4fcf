package rpc

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/goccy/go-json"
)

// publisher is the host's end of a subscription. Events go through it in three steps: they wait until
// the snapshot is taken and what it contains is sorted out, then until the subscriber says that it is
// ready, and then for room in the window.
type publisher struct {
	guest    *guest
	id       string
	key      string // by which the subscriber asked for it, "" for none
	window   uint64
	buffer   int
	overflow Overflow
	ctx      context.Context // ends with the subscription
	cancel   context.CancelFunc
	stopped  chan struct{} // closed when the watcher is gone

	mu       sync.Mutex
	queue    []published
	bytes    int                      // of what waits in queue
	flight   []int                    // sizes of what was sent and not acknowledged
	aloft    int                      // their sum
	dropped  uint64                   // lost since the last event that was sent
	pending  bool                     // the snapshot has not been taken yet
	contains func(reflect.Value) bool // after that: what is in it; nil: nothing more
	started  bool
	pumping  bool   // a goroutine is sending
	sent     uint64 // sequence of the newest event that was taken to be sent
	written  uint64 // of the newest that has been
	acked    uint64
	over     error // why it ended
	stop     func()
	hasStop  bool
	timer    *time.Timer // for $rpc/start, then for the next $rpc/sync
	pause    time.Duration
}

// published is an event that waits.
type published struct {
	value   json.RawMessage
	carrier []byte
	event   reflect.Value // until the snapshot is taken
}

// emit puts an event into the buffer. It never blocks and may be called with the object's locks held.
func (p *publisher) emit(ctx context.Context, event reflect.Value) {
	if p.ended() != nil {
		return
	}
	e := encoder{depthMax: depthFor(p.guest.host.client)}
	raw, err := e.encode(nil, event, &path{name: rootEvent})
	if err != nil {
		p.end(err)
		return
	}
	item := published{value: raw, carrier: p.guest.host.opt.tracing.inject(ctx), event: event}
	p.mu.Lock()
	if p.over != nil || !p.pending && p.contains != nil && p.contains(event) {
		p.mu.Unlock()
		return
	}
	if !p.pending {
		item.event = reflect.Value{}
	}
	for len(p.queue) >= p.buffer || len(p.queue) > 0 && p.bytes+item.size() > bufferBytesMax {
		if p.overflow == EndSlow {
			p.mu.Unlock()
			p.end(&Error{Reason: reasonOverflow, Message: "the subscriber is too slow"})
			return
		}
		p.shift()
		p.dropped++
	}
	p.queue = append(p.queue, item)
	p.bytes += item.size()
	p.pump()
	p.mu.Unlock()
}

func (e *published) size() int { return len(e.value) + len(e.carrier) }

// shift takes the oldest event out of the queue. p.mu is held.
func (p *publisher) shift() published {
	item := p.queue[0]
	p.queue[0] = published{}
	p.queue = p.queue[1:]
	p.bytes -= item.size()
	return item
}

// ready reports whether an event may be sent now. p.mu is held.
func (p *publisher) ready() bool {
	return p.started && p.over == nil && len(p.queue) > 0 && p.sent-p.acked < p.window &&
		(len(p.flight) == 0 || p.aloft+p.queue[0].size() <= flightBytesMax)
}

// installed notes how to stop the watcher, and stops it if the subscription has ended meanwhile.
func (p *publisher) installed(stop func()) {
	p.mu.Lock()
	p.stop, p.hasStop = stop, true
	over := p.over != nil
	p.mu.Unlock()
	if over {
		p.unwatch()
	}
}

// settled notes that the snapshot has been taken, and drops the events that it contains.
func (p *publisher) settled(contains func(reflect.Value) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending, p.contains = false, contains
	if contains != nil {
		p.queue = slices.DeleteFunc(p.queue, func(e published) bool {
			known := contains(e.event)
			if known {
				p.bytes -= e.size()
			}
			return known
		})
	}
	for i := range p.queue {
		p.queue[i].event = reflect.Value{}
	}
}

// begin lets events flow.
func (p *publisher) begin() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over != nil {
		return p.over
	}
	if !p.started {
		p.started = true
		p.timer.Stop()
		p.pump()
	}
	return nil
}

// pump makes sure that a goroutine sends what may be sent. p.mu is held.
func (p *publisher) pump() {
	if !p.pumping && p.ready() {
		p.pumping = true
		p.guest.host.wg.Go(p.send)
	}
}

// send sends events until there are no more, or no more may be on the wire.
func (p *publisher) send() {
	for {
		p.mu.Lock()
		if !p.ready() {
			p.pumping = false
			p.mu.Unlock()
			return
		}
		item, dropped := p.shift(), p.dropped
		p.flight = append(p.flight, item.size())
		p.aloft += item.size()
		p.sent++
		sequence := p.sent
		p.dropped = 0
		if p.sent-p.acked == 1 { // from now on an answer is due
			p.pause = p.guest.host.opt.probe
			p.wait(p.pause, p.sync)
		}
		p.mu.Unlock()
		err := p.guest.host.client.Notify(p.guest.service, methodEvent, p.params(item, sequence, dropped))
		if err != nil {
			p.end(&Error{Reason: reasonEnded, Message: "an event cannot be sent: " + err.Error()})
		}
		p.mu.Lock()
		p.written = sequence
		p.mu.Unlock()
	}
}

func (p *publisher) params(item published, sequence, dropped uint64) json.RawMessage {
	out := make([]byte, 0, len(item.value)+len(item.carrier)+128)
	out = appendText(append(out, `{"subscriptionId":`...), p.id)
	out = appendNumber(append(out, `,"sequence":`...), sequence)
	if dropped > 0 {
		out = appendNumber(append(out, `,"dropped":`...), dropped)
	}
	out = append(append(out, `,"value":`...), item.value...)
	return append(appendCarrier(out, item.carrier), '}')
}

// acknowledge makes room in the window for what the subscriber has taken.
func (p *publisher) acknowledge(sequence uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if sequence <= p.acked || sequence > p.sent || p.over != nil {
		return
	}
	taken := int(sequence - p.acked)
	for _, size := range p.flight[:taken] {
		p.aloft -= size
	}
	p.flight = slices.Delete(p.flight, 0, taken)
	p.acked = sequence
	p.pause = p.guest.host.opt.probe
	if p.acked == p.sent {
		p.timer.Stop()
	} else {
		p.wait(p.pause, p.sync)
	}
	p.pump()
}

// wait makes f run after d, instead of what the timer was set for. p.mu is held.
func (p *publisher) wait(d time.Duration, f func()) {
	if p.timer != nil {
		p.timer.Stop()
	}
	p.timer = time.AfterFunc(d, f)
}

// ended returns why the subscription ended, nil before.
func (p *publisher) ended() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}
