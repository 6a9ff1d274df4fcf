package admin

import (
	"context"
	"sync"
	"time"

	"github.com/ahprelay/ahprelay/loop"
	"github.com/ahprelay/ahprelay/relay"
)

const (
	fresh    = 250 * time.Millisecond // how long an answer of the loop is good for
	patience = 2 * time.Second        // how long the loop may take to answer
	kept     = 10 * time.Second       // after which nobody seems to ask any more and the memory is freed
	pageMax  = 1024                   // places of a table looked at in one turn of the loop
)

// source reads the core, on the loop, and shares what it read.
type source struct {
	loop    Loop
	started time.Time

	levels      cache[levels]
	connections cache[[]relay.ConnectionInfo]
	services    cache[[]relay.ServiceInfo]
	requests    cache[[]relay.RequestInfo]
	notes       cache[[]relay.Note]
}

func newSource(l Loop) *source {
	s := &source{loop: l, started: time.Now()}
	s.levels.read = s.readLevels
	s.connections.read = paged(s, (*relay.Core).EachConnection)
	s.services.read = paged(s, (*relay.Core).EachService)
	s.requests.read = paged(s, (*relay.Core).EachRequest)
	s.notes.read = s.readNotes
	return s
}

// levels is everything about the relay that is one number.
type levels struct {
	counters relay.Counters
	gauges   relay.Gauges
	turns    loop.Turns
	draining bool
}

func (s *source) readLevels(ctx context.Context) (l levels, now time.Duration, err error) {
	err = s.loop.Inspect(ctx, func(core *relay.Core, at time.Duration) {
		l = levels{counters: *core.Counters(), gauges: core.Gauges(), turns: s.loop.Turns(), draining: core.Draining()}
		now = at
	})
	return l, now, err
}

// paged reads a whole table in as many turns of the loop as it takes.
func paged[T any](s *source, each func(core *relay.Core, from, max int, f func(T)) int) func(context.Context) ([]T, time.Duration, error) {
	return func(ctx context.Context) (all []T, now time.Duration, err error) {
		for from := 0; ; {
			err := s.loop.Inspect(ctx, func(core *relay.Core, at time.Duration) {
				from = each(core, from, pageMax, func(item T) { all = append(all, item) })
				now = at
			})
			if err != nil || from == 0 {
				return all, now, err
			}
		}
	}
}

// readNotes returns what the core still knows of closings and limits, newest first.
func (s *source) readNotes(ctx context.Context) (notes []relay.Note, now time.Duration, err error) {
	err = s.loop.Inspect(ctx, func(core *relay.Core, at time.Duration) {
		for n := core.LastNote(); ; n-- {
			note, ok := core.Note(n)
			if !ok {
				break
			}
			notes = append(notes, note)
		}
		now = at
	})
	return notes, now, err
}

// reading is a value with the times at which it was read.
type reading[T any] struct {
	value T
	at    time.Time     // by the clock
	now   time.Duration // by the relay's
}

// wall returns the time by the clock of a moment of the relay's.
func (r *reading[T]) wall(moment time.Duration) time.Time { return r.at.Add(moment - r.now) }

// age returns how long ago a moment of the relay's was.
func (r *reading[T]) age(moment time.Duration) time.Duration { return max(0, r.now-moment) }

// cache keeps a reading for a moment, or why there is none. Who comes while another is being made waits
// for that one.
type cache[T any] struct {
	read func(context.Context) (T, time.Duration, error)

	mu      sync.Mutex
	reading reading[T] // zero: none is kept
	err     error      // of the latest attempt
	tried   time.Time  // when that ended
	forget  *time.Timer
}

func (c *cache[T]) get() (reading[T], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.tried.IsZero() && time.Since(c.tried) < fresh {
		return c.reading, c.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	value, now, err := c.read(ctx)
	c.reading, c.err, c.tried = reading[T]{value: value, at: time.Now(), now: now}, err, time.Now()
	if err != nil {
		c.reading = reading[T]{}
	}
	if c.forget == nil {
		c.forget = time.AfterFunc(kept, c.clear)
	} else {
		c.forget.Reset(kept)
	}
	return c.reading, c.err
}

func (c *cache[T]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading, c.err, c.tried = reading[T]{}, nil, time.Time{}
}

// close frees what is kept and stops the timers.
func (s *source) close() {
	s.levels.stop()
	s.connections.stop()
	s.services.stop()
	s.requests.stop()
	s.notes.stop()
}

func (c *cache[T]) stop() {
	c.mu.Lock()
	if c.forget != nil {
		c.forget.Stop()
	}
	c.mu.Unlock()
	c.clear()
}
