// Package remote offers a harness to other programs: its interfaces are what callers may do with the
// objects of package harness, adapter.go says how these do it, and proxy.go, which is generated, holds
// the callers' side.
package remote

//go:generate go run github.com/ahprelay/ahprelay/client/rpc/gen/rpcgen AgentHarness AgentLane Session SessionTree

import (
	"context"

	"github.com/ahprelay/ahprelay/client/rpc"
	"github.com/ahprelay/ahprelay/client/rpc/harness"
)

// AgentHarness is a harness.AgentHarness as its callers see it.
type AgentHarness interface {
	rpc.Remote
	CreateLane(ctx context.Context, name string, options *harness.LaneOptions) (AgentLane, error)
	Lane(ctx context.Context, name string) (AgentLane, error) // nil if there is none
	Lanes(ctx context.Context) ([]AgentLane, error)
	Merge(ctx context.Context, from, into AgentLane) (int, error)
	CreateSession(ctx context.Context, title string) (string, error)
	Session(sessionId string) Session
	Events(ctx context.Context, filter *harness.EventFilter) (*rpc.Subscription[rpc.None, harness.Event], error)
}

// AgentLane is a harness.AgentLane as its callers see it.
type AgentLane interface {
	rpc.Remote
	Name(ctx context.Context) (string, error)
	Ask(ctx context.Context, text string) (harness.Reply, error)
	Transcript(ctx context.Context, limit *int) ([]harness.Message, error) // the last ones; nil: all
}

// Session is a harness.Session as its callers see it.
type Session interface {
	rpc.Remote
	Metadata(ctx context.Context) (harness.Metadata, error)
	SessionTree(ctx context.Context) (SessionTree, error)
	View(lane string) SessionTree
	Rename(ctx context.Context, title string) error // blanks around the title are cut off
}

// SessionTree is a harness.SessionTree as its callers see it.
type SessionTree interface {
	rpc.Remote
	Append(ctx context.Context, text string, parent *string) (harness.Node, error)
	State(ctx context.Context) (harness.TreeState, error)
	Watch(ctx context.Context) (*rpc.Subscription[harness.TreeState, harness.Change], error)
}
