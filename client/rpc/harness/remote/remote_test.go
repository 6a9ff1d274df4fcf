package remote_test

import (
	"bytes"
	"context"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/client/rpc"
	"github.com/ahprelay/ahprelay/client/rpc/gen"
	"github.com/ahprelay/ahprelay/client/rpc/harness"
	"github.com/ahprelay/ahprelay/client/rpc/harness/remote"
	"github.com/ahprelay/ahprelay/client/rpc/relaytest"
)

func TestMain(m *testing.M) { relaytest.Main(m) }

func TestProxiesAreCurrent(t *testing.T) {
	want, err := gen.Generate(".", "AgentHarness", "AgentLane", "Session", "SessionTree")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("proxy.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("proxy.go is not what the interfaces amount to: run go generate ./client/rpc/...")
	}
}

func TestContract(t *testing.T) {
	if err := remote.Contract.Check(); err != nil {
		t.Error(err)
	}
	// What the objects have beyond that cannot be called from afar as it is.
	for name, err := range map[string]error{
		"AgentHarness": rpc.Check[harness.AgentHarness]("CreateLane", "Lane", "Lanes", "Merge", "Session", "Events", "Hooks", "GetTools", "SetTools"),
		"AgentLane":    rpc.Check[harness.AgentLane]("Name", "Transcript", "RunWhenIdle"),
		"Session":      rpc.Check[harness.Session]("Metadata", "SessionTree", "View", "Mutate", "IDGenerator"),
		"SessionTree":  rpc.Check[harness.SessionTree]("State", "Watch"),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestObjectsKnowNothingOfTransport makes sure that the harness is an ordinary package.
func TestObjectsKnowNothingOfTransport(t *testing.T) {
	files, err := filepath.Glob("../*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if strings.Contains(i.Path.Value, ".") {
				t.Errorf("%s imports %s", file, i.Path.Value)
			}
		}
	}
}

// stage is a harness that is offered, and a user of it.
type stage struct {
	ctx   context.Context
	h     *harness.Memory
	owner *client.Client
	host  *rpc.Host
	user  *client.Client
	conn  *rpc.Conn
	x     remote.AgentHarness
}

func newStage(t *testing.T, model harness.Model) *stage {
	t.Helper()
	s := &stage{ctx: relaytest.Context(t), h: harness.New(model)}
	t.Cleanup(s.h.Close)
	s.owner = relaytest.Joined(t, "host")
	var err error
	if s.host, err = remote.Expose(s.ctx, s.owner, s.h); err != nil {
		t.Fatal(err)
	}
	s.user = relaytest.Joined(t, "user")
	s.conn = rpc.NewConn(s.user, client.ServiceInfo{ID: s.host.Service().ID(), ClientID: s.owner.ClientID()})
	if s.x, err = remote.NewAgentHarness(s.conn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := relaytest.Context(t)
		if err := s.conn.Close(ctx); err != nil {
			t.Error(err)
		}
		relaytest.Eventually(t, "no watcher is left", func() bool { return s.h.Watchers() == 0 })
		if err := s.host.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

func echo(_ context.Context, text string) (string, error) { return "re: " + text, nil }
