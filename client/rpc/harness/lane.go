package harness

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// lane is an AgentLane in memory.
type lane struct {
	m       *Memory
	name    string
	options LaneOptions

	mu    sync.Mutex
	said  []Message
	count int             // of runs so far
	runs  map[string]*run // by what is asked
	idle  []func()
}

// run is a question that is being asked, with whoever has joined it.
type run struct {
	done  chan struct{}
	reply Reply
	err   error
}

// Name returns the lane's name.
func (l *lane) Name() string { return l.name }

// Ask starts a run, or joins it, and waits for its reply.
func (l *lane) Ask(ctx context.Context, text string) (Reply, error) {
	if text == "" {
		return Reply{}, errors.New("harness: nothing is asked")
	}
	if before := l.m.hooks.BeforeAsk; before != nil {
		text = before(text)
	}
	l.mu.Lock()
	r := l.runs[text]
	if r == nil {
		r = &run{done: make(chan struct{})}
		l.runs[text] = r
		l.count++
		r.reply.Run = l.count
		// The run has the values of who started it, not the end: it belongs to the lane.
		values := context.WithoutCancel(ctx)
		l.m.runs.Go(func() { l.perform(values, r, text) })
	}
	l.mu.Unlock()
	l.m.asking.Add(1)
	defer l.m.asking.Add(-1)
	select {
	case <-r.done:
		return r.reply, r.err
	case <-ctx.Done():
		return Reply{}, ctx.Err()
	}
}

// perform asks the model.
func (l *lane) perform(values context.Context, r *run, text string) {
	ctx, cancel := context.WithCancel(values)
	defer cancel()
	defer context.AfterFunc(l.m.ctx, cancel)()
	l.m.events.emit(ctx, Event{Kind: "asked", Lane: l.name, Text: text})
	question := text
	if l.options.System != "" {
		question = l.options.System + "\n" + text
	}
	answer, err := l.m.model(ctx, question)
	if err != nil {
		l.m.events.emit(ctx, Event{Kind: "failed", Lane: l.name, Text: err.Error()})
	} else {
		l.say(Message{Role: "user", Text: text}, Message{Role: "model", Text: answer})
		l.m.events.emit(ctx, Event{Kind: "answered", Lane: l.name, Text: answer})
	}
	l.mu.Lock()
	r.reply.Text, r.err = answer, err
	delete(l.runs, text)
	var idle []func()
	if len(l.runs) == 0 {
		idle, l.idle = l.idle, nil
	}
	l.mu.Unlock()
	close(r.done)
	for _, f := range idle {
		f()
	}
}

func (l *lane) say(messages ...Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, messages...)
}

// Transcript calls f for each message.
func (l *lane) Transcript(f func(Message) bool) {
	l.mu.Lock()
	said := slices.Clone(l.said)
	l.mu.Unlock()
	for _, message := range said {
		if !f(message) {
			return
		}
	}
}

// RunWhenIdle runs f when nothing is being asked, at once if that is so now.
func (l *lane) RunWhenIdle(f func()) {
	l.mu.Lock()
	if len(l.runs) > 0 {
		l.idle = append(l.idle, f)
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	f()
}
