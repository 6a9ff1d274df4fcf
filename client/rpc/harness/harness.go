// Package harness is an example of a program's own objects, made to be offered by client/rpc: a harness
// that asks a model in lanes and keeps sessions of branching notes, all in memory. It knows nothing of
// relays, and imports nothing of the RPC layer: some of its methods cannot be called from afar at all,
// others only in another form. Package remote says which, and how.
//
// Everything is safe for concurrent use. The slices that methods return are the caller's. Watchers are
// called one at a time, with the watched object locked, so that they see everything in order; they must
// not call it.
package harness

import "context"

// AgentHarness owns lanes and sessions.
type AgentHarness interface {
	// CreateLane makes a lane; nil options are the zero ones. A name can be used once.
	CreateLane(ctx context.Context, name string, options *LaneOptions) (AgentLane, error)
	// Lane returns the lane of this name, nil if there is none.
	Lane(ctx context.Context, name string) (AgentLane, error)
	// Lanes returns all lanes, in order of creation.
	Lanes(ctx context.Context) ([]AgentLane, error)
	// Merge appends what was said in one lane to another and returns how many messages that were.
	Merge(ctx context.Context, from, into AgentLane) (int, error)
	// CreateSession makes a session and returns its id.
	CreateSession(ctx context.Context, title string) (id string, err error)
	// Session returns the session of this id, nil if there is none.
	Session(id string) Session
	// Events calls f for everything that happens, until stop is called.
	Events(filter EventFilter, f func(context.Context, Event)) (stop func())

	// Hooks are called while a question is asked, and can change it.
	Hooks() *Hooks
	// GetTools and SetTools handle the functions that the model may call.
	GetTools() []Tool
	SetTools(tools []Tool)
}

// AgentLane is one conversation with the model.
type AgentLane interface {
	Name() string
	// Ask asks the model. Who asks what is being asked already joins that run and gets the same reply. ctx
	// ends the waiting, not the run, which others may have joined.
	Ask(ctx context.Context, text string) (Reply, error)
	// Transcript calls f for each message, until it returns false.
	Transcript(f func(Message) bool)
	// RunWhenIdle runs f as soon as nothing is being asked.
	RunWhenIdle(f func())
}

// Session is a titled collection of trees, one for each lane.
type Session interface {
	Metadata() Metadata
	// SessionTree returns the tree of the main lane.
	SessionTree() SessionTree
	// View returns the tree of a lane.
	View(lane string) SessionTree
	Rename(ctx context.Context, title string) error
	// Mutate changes the session in one step.
	Mutate(f func(*Metadata))
	// IDGenerator returns the function that makes the ids of nodes.
	IDGenerator() func() string
}

// SessionTree is a tree of notes that grows.
type SessionTree interface {
	// Append adds a note, as a root if parent is nil.
	Append(ctx context.Context, text string, parent *string) (Node, error)
	// State returns all notes.
	State() TreeState
	// Watch calls f for every change until stop is called.
	Watch(f func(context.Context, Change)) (stop func())
}

// LaneOptions says how a lane asks.
type LaneOptions struct {
	System string `json:"system,omitempty"` // put before every question
}

// Reply is the model's answer.
type Reply struct {
	Text string `json:"text"`
	Run  int    `json:"run"` // which run of the lane it comes from, the first being 1
}

// Message is one part of a conversation.
type Message struct {
	Role string `json:"role"` // user or model
	Text string `json:"text"`
}

// Metadata is what a session says of itself.
type Metadata struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Node is a note in a tree.
type Node struct {
	ID     string  `json:"id"`
	Parent *string `json:"parent"`
	Text   string  `json:"text"`
}

// TreeState is a tree after some number of changes.
type TreeState struct {
	Revision uint64 `json:"revision"`
	Nodes    []Node `json:"nodes"`
}

// Change is the addition of a node; the tree's revision is then Revision.
type Change struct {
	Revision uint64 `json:"revision"`
	Node     Node   `json:"node"`
}

// EventFilter selects events; an empty member selects all.
type EventFilter struct {
	Kinds []string `json:"kinds,omitempty"`
	Lane  string   `json:"lane,omitempty"`
}

// Event is something that happened: laneCreated, asked, answered, failed or sessionCreated.
type Event struct {
	Kind string `json:"kind"`
	Lane string `json:"lane,omitempty"`
	Text string `json:"text,omitempty"`
}

// Hooks are functions that the harness calls.
type Hooks struct {
	BeforeAsk func(text string) string
}

// Tool is a function that the model may call.
type Tool struct {
	Name string
	Run  func(ctx context.Context, input string) (string, error)
}
