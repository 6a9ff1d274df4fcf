package remote_test

import (
	"bytes"
	"context"
	"os"
	"testing"

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
}

func echo(_ context.Context, text string) (string, error) { return "re: " + text, nil }

func TestSmoke(t *testing.T) {
	ctx := relaytest.Context(t)
	h := harness.New(echo)
	defer h.Close()
	host, err := remote.Expose(ctx, relaytest.Joined(t, "host"), h)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close(ctx)
	user, conn, err := remote.Connect(ctx, relaytest.Joined(t, "user"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	lane, err := user.CreateLane(ctx, "main", nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := lane.Ask(ctx, "hello")
	if err != nil || reply != (harness.Reply{Text: "re: hello", Run: 1}) {
		t.Fatal(reply, err)
	}
	again, err := user.Lane(ctx, "main")
	if err != nil || again != lane {
		t.Fatal(again, err)
	}
	id, err := user.CreateSession(ctx, "first")
	if err != nil {
		t.Fatal(err)
	}
	tree := user.Session(id).View("main")
	sub, err := tree.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Append(ctx, "note", nil); err != nil {
		t.Fatal(err)
	}
	ev, err := sub.Next(ctx)
	if err != nil || ev.Value.Node.Text != "note" || ev.Sequence != 1 {
		t.Fatal(ev, err)
	}
	sub.Close()
	relaytest.Eventually(t, "the watcher is gone", func() bool { return h.Watchers() == 0 })
}
