package remote

import (
	"context"
	"strings"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/client/rpc"
	"github.com/ahprelay/ahprelay/client/rpc/harness"
)

// Protocol is by what the service of a harness is found.
const Protocol = "agent-harness"

// Adapter says how a harness is offered.
var Adapter = rpc.Adapter{
	Metadata: map[string]any{"protocol": Protocol, "version": 1},
	Root: rpc.Bind[AgentHarness, harness.AgentHarness](
		rpc.Object("CreateLane"),
		rpc.Object("Lane"),
		rpc.Object("Lanes"),
		rpc.Select("Session", nil, "sessionId"),
		rpc.Publish("Events", events),
		rpc.Exclude("Hooks", "GetTools", "SetTools"), // they change what happens here
	),
	Objects: []rpc.Binding{
		rpc.Bind[AgentLane, harness.AgentLane](
			rpc.Property("Name", nil),
			rpc.Synthetic("Transcript", transcript), // the lane's own takes a callback
			rpc.Exclude("RunWhenIdle"),
		),
		rpc.Bind[Session, harness.Session](
			rpc.Property("Metadata", nil),
			rpc.Property("SessionTree", harness.Session.SessionTree),
			rpc.Object("SessionTree"),
			rpc.Select("View", nil, "lane"),
			rpc.Override("Rename", rename),
			rpc.Exclude("Mutate", "IDGenerator"),
		),
		rpc.Bind[SessionTree, harness.SessionTree](
			rpc.Property("State", nil),
			rpc.Publish("Watch", changes),
		),
	},
}

// Expose offers h by c.
func Expose(ctx context.Context, c *client.Client, h harness.AgentHarness, opts ...rpc.Option) (*rpc.Host, error) {
	return rpc.Expose(ctx, c, h, Adapter, opts...)
}

// Connect waits until a harness is offered and returns it with its connection, to be closed.
func Connect(ctx context.Context, c *client.Client, opts ...rpc.Option) (AgentHarness, *rpc.Conn, error) {
	found, err := c.Find(ctx, "protocol="+Protocol)
	if err != nil {
		return nil, nil, err
	}
	conn := rpc.NewConn(c, found, opts...)
	h, err := NewAgentHarness(conn)
	return h, conn, err
}

var events = rpc.Publication[harness.AgentHarness, *harness.EventFilter, rpc.None, harness.Event]{
	Watch: func(_ context.Context, h harness.AgentHarness, filter *harness.EventFilter, emit func(context.Context, harness.Event)) (func(), error) {
		if filter == nil {
			filter = &harness.EventFilter{}
		}
		return h.Events(*filter, emit), nil
	},
}

var changes = rpc.Publication[harness.SessionTree, rpc.None, harness.TreeState, harness.Change]{
	Watch: func(_ context.Context, t harness.SessionTree, _ rpc.None, emit func(context.Context, harness.Change)) (func(), error) {
		return t.Watch(emit), nil
	},
	Snapshot: func(_ context.Context, t harness.SessionTree, _ rpc.None) (harness.TreeState, func(harness.Change) bool, error) {
		state := t.State()
		return state, func(c harness.Change) bool { return c.Revision <= state.Revision }, nil
	},
	Overflow: rpc.EndSlow, // a tree with holes would be of no use
}

func transcript(_ context.Context, l harness.AgentLane, limit *int) ([]harness.Message, error) {
	all := []harness.Message{}
	l.Transcript(func(m harness.Message) bool {
		all = append(all, m)
		return true
	})
	if limit != nil {
		all = all[max(0, len(all)-max(0, *limit)):]
	}
	return all, nil
}

func rename(ctx context.Context, s harness.Session, title string) error {
	return s.Rename(ctx, strings.TrimSpace(title))
}
