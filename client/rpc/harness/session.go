package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// mainLane is the lane whose tree is a session's own.
const mainLane = "main"

// session is a Session in memory.
type session struct {
	lastID atomic.Int64

	mu       sync.Mutex
	metadata Metadata // its id never changes
	trees    map[string]*tree
}

func newSession(id, title string) *session {
	return &session{metadata: Metadata{ID: id, Title: title}, trees: map[string]*tree{}}
}

// Metadata returns what the session says of itself.
func (s *session) Metadata() Metadata {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.metadata
}

// SessionTree returns the tree of the main lane.
func (s *session) SessionTree() SessionTree { return s.View(mainLane) }

// View returns the tree of a lane.
func (s *session) View(lane string) SessionTree {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.trees[lane]
	if t == nil {
		t = &tree{newID: s.IDGenerator()}
		s.trees[lane] = t
	}
	return t
}

// Rename changes the title.
func (s *session) Rename(_ context.Context, title string) error {
	if title == "" {
		return errors.New("harness: a session needs a title")
	}
	s.Mutate(func(m *Metadata) { m.Title = title })
	return nil
}

// Mutate changes the session in one step, but not its id.
func (s *session) Mutate(f func(*Metadata)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.metadata.ID
	f(&s.metadata)
	s.metadata.ID = id
}

// IDGenerator returns the function that makes the ids of nodes.
func (s *session) IDGenerator() func() string {
	return func() string { return fmt.Sprintf("n%d", s.lastID.Add(1)) }
}

func (s *session) watchers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, t := range s.trees {
		n += t.changes.count()
	}
	return n
}

// tree is a SessionTree in memory.
type tree struct {
	newID   func() string
	changes feed[Change]

	mu    sync.Mutex
	nodes []Node
}

// Append adds a note.
func (t *tree) Append(ctx context.Context, text string, parent *string) (Node, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if parent != nil && !slices.ContainsFunc(t.nodes, func(n Node) bool { return n.ID == *parent }) {
		return Node{}, fmt.Errorf("harness: there is no note %q", *parent)
	}
	n := Node{ID: t.newID(), Parent: parent, Text: text}
	t.nodes = append(t.nodes, n)
	t.changes.emit(ctx, Change{Revision: uint64(len(t.nodes)), Node: n})
	return n, nil
}

// State returns all notes; each change adds one, so their number is the revision.
func (t *tree) State() TreeState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return TreeState{Revision: uint64(len(t.nodes)), Nodes: slices.Clone(t.nodes)}
}

// Watch calls f for every change.
func (t *tree) Watch(f func(context.Context, Change)) (stop func()) { return t.changes.watch(f) }
