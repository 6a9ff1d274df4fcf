package admin

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/relay"
)

const (
	tapsMax         = 8       // at the same time
	tapBytesMax     = 1 << 20 // that wait for one of them; beyond that envelopes are counted as missed
	tapPayloadMax   = 4 << 20 // instead, with payloads
	tapRequestsMax  = 4096    // requests whose answers a tap can name the method of
	tapEnvelopeRoom = 512     // what an envelope takes beside its texts
)

var errTooManyTaps = errors.New("as many taps as may be are open")

// taps shows the core's envelopes to those who look. The core gets it as its tap only while somebody does.
type taps struct {
	loop   Loop
	open   atomic.Int32
	closed chan struct{}
	once   sync.Once

	active []*tapper // the loop's
}

func newTaps(l Loop) *taps { return &taps{loop: l, closed: make(chan struct{})} }

func (t *taps) count() int { return int(t.open.Load()) }

func (t *taps) close() { t.once.Do(func() { close(t.closed) }) }

// Envelope runs on the loop.
func (t *taps) Envelope(e *relay.Envelope) {
	for _, tp := range t.active {
		if method, ok := tp.wants(e); ok {
			tp.add(e, method)
		}
	}
}

// add starts a tap, which must be removed.
func (t *taps) add(ctx context.Context, f tapFilter) (*tapper, error) {
	if t.open.Add(1) > tapsMax {
		t.open.Add(-1)
		return nil, errTooManyTaps
	}
	tp := &tapper{filter: f, wake: make(chan struct{}, 1), bytesMax: tapBytesMax, methods: map[uint64]string{}}
	if f.payload {
		tp.bytesMax = tapPayloadMax
	}
	err := t.loop.Inspect(ctx, func(core *relay.Core, now time.Duration) {
		tp.start = time.Now().Add(-now)
		t.active = append(t.active, tp)
		core.SetTap(t)
	})
	if err != nil {
		t.remove(tp) // it may yet be added
		return nil, err
	}
	return tp, nil
}

func (t *taps) remove(tp *tapper) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = t.loop.Inspect(ctx, func(core *relay.Core, _ time.Duration) {
		t.active = slices.DeleteFunc(t.active, func(other *tapper) bool { return other == tp })
		if len(t.active) == 0 {
			core.SetTap(nil)
		}
	})
	t.open.Add(-1)
}

// tapFilter says what a tap wants to see; the zero value: everything, without payloads.
type tapFilter struct {
	service  string // its id, or protocol=NAME
	client   string // clientId of the sender or the owner
	method   string
	kinds    []string
	payload  bool
	protocol string // of service
}

// tapper is one tap. The loop adds to its buffer, the request that streams it takes that away.
type tapper struct {
	filter   tapFilter
	start    time.Time         // when the relay's clock was 0
	methods  map[uint64]string // of requests in flight, by relay id; the loop's
	bytesMax int
	wake     chan struct{} // has room for one

	missed atomic.Uint64
	mu     sync.Mutex
	buffer []byte // lines of JSON
}

// wants reports whether an envelope passes the filter, and its method, which for an answer is that of
// the request.
func (tp *tapper) wants(e *relay.Envelope) (method []byte, ok bool) {
	f := &tp.filter
	if f.client != "" && f.client != e.Sender && f.client != e.Owner ||
		f.protocol != "" && f.protocol != e.Protocol || f.service != "" && f.service != e.Service {
		return nil, false
	}
	method = e.Method
	if e.Kind == relay.EnvelopeAnswer {
		if remembered, found := tp.methods[e.RelayID]; found {
			method = []byte(remembered)
			delete(tp.methods, e.RelayID)
		}
	}
	if f.method != "" && (method == nil || !codec.EqualString(method, f.method)) {
		return nil, false
	}
	if e.Kind == relay.EnvelopeRequest && len(tp.methods) < tapRequestsMax {
		tp.methods[e.RelayID] = string(e.Method)
	}
	return method, len(f.kinds) == 0 || slices.Contains(f.kinds, e.Kind.String())
}

// add takes an envelope, or counts it as missed: when there is no room, or when the buffer is just being
// taken away, for the loop never waits.
func (tp *tapper) add(e *relay.Envelope, method []byte) {
	room := tapEnvelopeRoom + len(method) + len(e.Sender) + len(e.Owner) + len(e.Protocol)
	if tp.filter.payload {
		room += len(e.Payload)
	}
	if !tp.mu.TryLock() {
		tp.missed.Add(1)
		return
	}
	if len(tp.buffer)+room > tp.bytesMax {
		tp.missed.Add(1)
	} else {
		tp.buffer = tp.append(tp.buffer, e, method)
	}
	tp.mu.Unlock()
	select {
	case tp.wake <- struct{}{}:
	default:
	}
}

// append appends an envelope as a line of JSON; see Envelope.
func (tp *tapper) append(b []byte, e *relay.Envelope, method []byte) []byte {
	b = append(b, `{"time":`...)
	b = strconv.AppendInt(b, tp.start.Add(e.At).UnixMicro(), 10)
	b = append(append(append(b, `,"kind":"`...), e.Kind.String()...), '"')
	b = appendText(b, `,"sender":`, e.Sender)
	b = appendText(b, `,"service":`, e.Service)
	b = appendText(b, `,"owner":`, e.Owner)
	b = appendText(b, `,"protocol":`, e.Protocol)
	if method != nil {
		b = append(append(b, `,"method":`...), method...)
	}
	b = appendText(b, `,"word":`, e.Word)
	if e.Code != 0 {
		b = strconv.AppendInt(append(b, `,"code":`...), int64(e.Code), 10)
	}
	if e.RelayID != 0 {
		b = strconv.AppendUint(append(b, `,"relayId":`...), e.RelayID, 10)
	}
	if e.Kind == relay.EnvelopeAnswer {
		b = strconv.AppendInt(append(b, `,"ageMicros":`...), e.Age.Microseconds(), 10)
	}
	b = strconv.AppendInt(append(b, `,"bytes":`...), int64(len(e.Payload)), 10)
	if tp.filter.payload && e.Payload != nil {
		b = append(append(b, `,"payload":`...), e.Payload...)
	}
	return append(b, "}\n"...)
}

func appendText(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return codec.AppendQuoted(append(b, name...), value)
}

// take returns what has come in since it was called last, and how much was missed meanwhile. The slice
// given back by an earlier call may be handed in as spare.
func (tp *tapper) take(spare []byte) (lines []byte, missed uint64) {
	tp.mu.Lock()
	lines, tp.buffer = tp.buffer, spare[:0]
	tp.mu.Unlock()
	return lines, tp.missed.Swap(0)
}

// setService reads what a tap is told of the service: an id, or protocol=NAME.
func (f *tapFilter) setService(text string) {
	if name, ok := strings.CutPrefix(text, "protocol="); ok {
		f.protocol = name
		return
	}
	f.service = text
}
