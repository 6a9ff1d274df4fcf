package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Model answers a question.
type Model func(ctx context.Context, text string) (string, error)

// Memory is an AgentHarness in memory. New makes one.
type Memory struct {
	model  Model
	ctx    context.Context // of the runs
	cancel context.CancelFunc
	runs   sync.WaitGroup
	events feed[Event]
	hooks  Hooks
	asking atomic.Int64 // callers that wait for a reply

	mu       sync.Mutex
	lanes    []*lane
	sessions []*session
	tools    []Tool
}

// New makes a harness that asks model.
func New(model Model) *Memory {
	m := &Memory{model: model}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// Close ends all runs and waits for them. Nothing may be asked after that.
func (m *Memory) Close() {
	m.cancel()
	m.runs.Wait()
}

// Watchers returns how many watchers of the harness and of its trees there are.
func (m *Memory) Watchers() int {
	m.mu.Lock()
	sessions := slices.Clone(m.sessions)
	m.mu.Unlock()
	n := m.events.count()
	for _, s := range sessions {
		n += s.watchers()
	}
	return n
}

// Asking returns how many callers wait for a reply, joined ones included.
func (m *Memory) Asking() int { return int(m.asking.Load()) }

// CreateLane makes a lane.
func (m *Memory) CreateLane(ctx context.Context, name string, options *LaneOptions) (AgentLane, error) {
	if name == "" {
		return nil, errors.New("harness: a lane needs a name")
	}
	if options == nil {
		options = &LaneOptions{}
	}
	l := &lane{m: m, name: name, options: *options, runs: map[string]*run{}}
	m.mu.Lock()
	if m.lane(name) != nil {
		m.mu.Unlock()
		return nil, fmt.Errorf("harness: there is a lane %q already", name)
	}
	m.lanes = append(m.lanes, l)
	m.mu.Unlock()
	m.events.emit(ctx, Event{Kind: "laneCreated", Lane: name})
	return l, nil
}

// lane returns the lane of this name or nil. m.mu is held.
func (m *Memory) lane(name string) *lane {
	for _, l := range m.lanes {
		if l.name == name {
			return l
		}
	}
	return nil
}

// Lane returns the lane of this name, nil if there is none.
func (m *Memory) Lane(_ context.Context, name string) (AgentLane, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.lane(name); l != nil {
		return l, nil
	}
	return nil, nil
}

// Lanes returns all lanes.
func (m *Memory) Lanes(context.Context) ([]AgentLane, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]AgentLane, 0, len(m.lanes))
	for _, l := range m.lanes {
		all = append(all, l)
	}
	return all, nil
}

// Merge appends what was said in one lane to another.
func (m *Memory) Merge(_ context.Context, from, into AgentLane) (int, error) {
	target, ok := into.(*lane)
	if !ok || from == nil {
		return 0, errors.New("harness: merging wants two lanes")
	}
	var said []Message
	from.Transcript(func(message Message) bool {
		said = append(said, message)
		return true
	})
	target.say(said...)
	return len(said), nil
}

// CreateSession makes a session.
func (m *Memory) CreateSession(ctx context.Context, title string) (string, error) {
	m.mu.Lock()
	id := fmt.Sprintf("s%d", len(m.sessions)+1)
	m.sessions = append(m.sessions, newSession(id, title))
	m.mu.Unlock()
	m.events.emit(ctx, Event{Kind: "sessionCreated", Text: title})
	return id, nil
}

// Session returns the session of this id, nil if there is none.
func (m *Memory) Session(id string) Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if s.metadata.ID == id {
			return s
		}
	}
	return nil
}

// Events calls f for what happens and passes the filter.
func (m *Memory) Events(filter EventFilter, f func(context.Context, Event)) (stop func()) {
	return m.events.watch(func(ctx context.Context, e Event) {
		if (len(filter.Kinds) == 0 || slices.Contains(filter.Kinds, e.Kind)) && (filter.Lane == "" || filter.Lane == e.Lane) {
			f(ctx, e)
		}
	})
}

// Hooks returns the hooks, to be set before anything is asked.
func (m *Memory) Hooks() *Hooks { return &m.hooks }

// GetTools returns the tools.
func (m *Memory) GetTools() []Tool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.tools)
}

// SetTools replaces the tools.
func (m *Memory) SetTools(tools []Tool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tools = slices.Clone(tools)
}
