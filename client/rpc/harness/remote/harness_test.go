package remote_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/client/rpc"
	"github.com/ahprelay/ahprelay/client/rpc/harness"
	"github.com/ahprelay/ahprelay/client/rpc/relaytest"
	"github.com/goccy/go-json"
)

func TestLanesAreReferences(t *testing.T) {
	s := newStage(t, echo)
	lane, err := s.x.CreateLane(s.ctx, "main", &harness.LaneOptions{System: "short"})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.x.Lane(s.ctx, "main"); again != lane || err != nil {
		t.Error(again, err)
	}
	if none, err := s.x.Lane(s.ctx, "none"); none != nil || err != nil {
		t.Error(none, err)
	}
	other, err := s.x.CreateLane(s.ctx, "other", nil)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := s.x.Lanes(s.ctx); err != nil || len(all) != 2 || all[0] != lane || all[1] != other {
		t.Error(all, err)
	}
	if reply, err := lane.Ask(s.ctx, "hello"); reply != (harness.Reply{Text: "re: short\nhello", Run: 1}) || err != nil {
		t.Error(reply, err)
	}
	if n, err := s.x.Merge(s.ctx, lane, other); n != 2 || err != nil {
		t.Error(n, err)
	}
	one := 1
	for limit, want := range map[*int][]harness.Message{
		nil:  {{Role: "user", Text: "hello"}, {Role: "model", Text: "re: short\nhello"}},
		&one: {{Role: "model", Text: "re: short\nhello"}},
	} {
		if said, err := other.Transcript(s.ctx, limit); !slices.Equal(said, want) || err != nil {
			t.Error(said, err)
		}
	}
	if name, err := other.Name(s.ctx); name != "other" || err != nil {
		t.Error(name, err)
	}
	if _, err := s.x.CreateLane(s.ctx, "main", nil); err == nil || errors.Is(err, rpc.ErrValue) {
		t.Error(err)
	}
}

func TestSessionsAreSelected(t *testing.T) {
	s := newStage(t, echo)
	id, err := s.x.CreateSession(s.ctx, "first")
	if err != nil {
		t.Fatal(err)
	}
	session := s.x.Session(id)
	if session != s.x.Session(id) {
		t.Error("two selections of one session differ")
	}
	if err := session.Rename(s.ctx, "  second "); err != nil { // the adapter cuts the blanks off
		t.Error(err)
	}
	if m, err := session.Metadata(s.ctx); m != (harness.Metadata{ID: id, Title: "second"}) || err != nil {
		t.Error(m, err)
	}
	view := session.View("main")
	if got, want := view.Identity().Selector, fmt.Sprintf(`{"lane":"main","sessionId":%q}`, id); got != want {
		t.Error(got)
	}
	first, err := view.Append(s.ctx, "root", nil)
	if err != nil || first.ID == "" || first.Parent != nil {
		t.Fatal(first, err)
	}
	tree, err := session.SessionTree(s.ctx) // the same tree, by reference
	if err != nil || tree == view {
		t.Fatal(tree, err)
	}
	if _, err := tree.Append(s.ctx, "leaf", &first.ID); err != nil {
		t.Error(err)
	}
	want := harness.TreeState{Revision: 2, Nodes: []harness.Node{first, {ID: "n2", Parent: &first.ID, Text: "leaf"}}}
	if state, err := view.State(s.ctx); err != nil || !reflect.DeepEqual(state, want) {
		t.Error(state, err)
	}
	if state, err := session.View("other").State(s.ctx); err != nil || state.Revision != 0 {
		t.Error(state, err)
	}
	for _, err := range []error{s.x.Session("none").Rename(s.ctx, "x"), s.x.Session("none").View("x").Release(s.ctx)} {
		if err != nil && !errors.Is(err, rpc.ErrTarget) {
			t.Error(err)
		}
	}
	if _, err := s.x.Session("none").View("main").State(s.ctx); !errors.Is(err, rpc.ErrTarget) {
		t.Error(err)
	}
}

func TestEventsOfTheHarness(t *testing.T) {
	s := newStage(t, echo)
	all, err := s.x.Events(s.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	some, err := s.x.Events(s.ctx, &harness.EventFilter{Kinds: []string{"answered"}, Lane: "b"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		lane, err := s.x.CreateLane(s.ctx, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lane.Ask(s.ctx, "x"); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []harness.Event{
		{Kind: "laneCreated", Lane: "a"}, {Kind: "asked", Lane: "a", Text: "x"}, {Kind: "answered", Lane: "a", Text: "re: x"},
		{Kind: "laneCreated", Lane: "b"}, {Kind: "asked", Lane: "b", Text: "x"}, {Kind: "answered", Lane: "b", Text: "re: x"},
	} {
		if ev, err := all.Next(s.ctx); err != nil || ev.Value != want || ev.Sequence != uint64(i+1) {
			t.Fatal(ev, err)
		}
	}
	if ev, err := some.Next(s.ctx); err != nil || ev.Value != (harness.Event{Kind: "answered", Lane: "b", Text: "re: x"}) || ev.Sequence != 1 {
		t.Fatal(ev, err)
	}
}

// TestWatchHasNeitherGapNorOverlap subscribes to a tree, whose watcher and snapshot are separate steps,
// while many write to it.
func TestWatchHasNeitherGapNorOverlap(t *testing.T) {
	s := newStage(t, echo)
	id, err := s.x.CreateSession(s.ctx, "busy")
	if err != nil {
		t.Fatal(err)
	}
	local := s.h.Session(id).View("main")
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for i := range 3 {
		writers.Go(func() {
			for n := 0; n < 300; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := local.Append(s.ctx, fmt.Sprint(i, n), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 10 {
		sub, err := s.x.Session(id).View("main").Watch(s.ctx)
		if err != nil {
			t.Fatal(err)
		}
		state := sub.Snapshot()
		if state.Revision != uint64(len(state.Nodes)) {
			t.Fatal(state.Revision, len(state.Nodes))
		}
		if _, err := local.Append(s.ctx, "one more", nil); err != nil {
			t.Fatal(err)
		}
		for last := uint64(local.State().Revision); state.Revision < last; {
			ev, err := sub.Next(s.ctx)
			if err != nil || ev.Value.Revision != state.Revision+1 {
				t.Fatalf("revision %d after %d: %v", ev.Value.Revision, state.Revision, err)
			}
			state.Revision++
			state.Nodes = append(state.Nodes, ev.Value.Node)
		}
		if whole := local.State().Nodes[:state.Revision]; !reflect.DeepEqual(whole, state.Nodes) {
			t.Fatal("the state is not what the snapshot and the events make")
		}
		sub.Close()
	}
	close(stop)
	writers.Wait()
}

// TestJoinersOfOneRun cancels some of many callers that wait for the same run.
func TestJoinersOfOneRun(t *testing.T) {
	release := make(chan struct{})
	s := newStage(t, func(ctx context.Context, text string) (string, error) {
		select {
		case <-release:
			return "done", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	lane, err := s.x.CreateLane(s.ctx, "main", nil)
	if err != nil {
		t.Fatal(err)
	}
	const joiners = 30
	cancels := make([]context.CancelFunc, joiners)
	type outcome struct {
		reply harness.Reply
		err   error
	}
	done := make([]chan outcome, joiners)
	for i := range joiners {
		ctx, cancel := context.WithCancel(s.ctx)
		defer cancel()
		cancels[i], done[i] = cancel, make(chan outcome, 1)
		go func() {
			reply, err := lane.Ask(ctx, "slow")
			done[i] <- outcome{reply, err}
		}()
	}
	relaytest.Eventually(t, "all have joined", func() bool { return s.h.Asking() == joiners })
	for i := 0; i < joiners; i += 2 { // the one that started the run, perhaps, among them
		cancels[i]()
		if got := <-done[i]; got.err != context.Canceled {
			t.Error(i, got)
		}
	}
	close(release)
	for i := 1; i < joiners; i += 2 {
		if got := <-done[i]; got.err != nil || got.reply != (harness.Reply{Text: "done", Run: 1}) {
			t.Error(i, got)
		}
	}
	if said, err := lane.Transcript(s.ctx, nil); err != nil || len(said) != 2 {
		t.Error(said, err)
	}
}

func TestExcludedMembersAreUnreachable(t *testing.T) {
	s := newStage(t, echo)
	lane, err := s.x.CreateLane(s.ctx, "main", nil)
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.x.CreateSession(s.ctx, "x")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]string{
		"AgentHarness": "",
		"AgentLane":    fmt.Sprintf(`"target":{"id":%q,"interface":"AgentLane"},`, lane.Identity().ID),
		"Session":      fmt.Sprintf(`"target":{"selector":{"sessionId":%q},"interface":"Session"},`, id),
		"SessionTree":  fmt.Sprintf(`"target":{"selector":{"sessionId":%q,"lane":"main"},"interface":"SessionTree"},`, id),
	}
	send := func(method, params string) error {
		_, err := client.Call[json.RawMessage](s.ctx, s.user, s.host.Service().ID(), method, json.RawMessage(params))
		return err
	}
	for iface, target := range targets {
		for _, name := range []string{"hooks", "getTools", "setTools", "runWhenIdle", "mutate", "idGenerator", "close", "watchers", "model"} {
			for _, spelled := range []string{name, string(name[0]-'a'+'A') + name[1:]} {
				for _, args := range []string{`[]`, `[null]`, `[[]]`} {
					if err := send(spelled, `{`+target+`"args":`+args+`}`); !errors.Is(err, client.ErrMethodNotFound) {
						t.Errorf("%s.%s: %v", iface, spelled, err)
					}
				}
				if err := send("$rpc/subscribe", fmt.Sprintf(`{%s"member":%q,"window":1}`, target, spelled)); !errors.Is(err, client.ErrMethodNotFound) {
					t.Errorf("%s.%s as a subscription: %v", iface, spelled, err)
				}
			}
		}
	}
	// Nor by another interface than the object was granted as.
	if err := send("metadata", fmt.Sprintf(`{"target":{"id":%q,"interface":"Session"},"args":[]}`, lane.Identity().ID)); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
}

func TestRunOutlivesTheCallerThatStartedIt(t *testing.T) {
	release := make(chan struct{})
	s := newStage(t, func(ctx context.Context, text string) (string, error) {
		<-release
		return text, ctx.Err()
	})
	lane, err := s.x.CreateLane(s.ctx, "main", nil)
	if err != nil {
		t.Fatal(err)
	}
	events, err := s.x.Events(s.ctx, &harness.EventFilter{Kinds: []string{"asked", "answered"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan error, 1)
	go func() {
		_, err := lane.Ask(ctx, "x")
		done <- err
	}()
	if ev, err := events.Next(s.ctx); err != nil || ev.Value.Kind != "asked" {
		t.Fatal(ev, err)
	}
	cancel()
	if err := <-done; err != context.Canceled {
		t.Error(err)
	}
	close(release)
	if ev, err := events.Next(s.ctx); err != nil || ev.Value.Kind != "answered" {
		t.Error(ev, err)
	}
}

func TestUnusedConnection(t *testing.T) {
	s := newStage(t, echo)
	conn := rpc.NewConn(s.user, client.ServiceInfo{ID: "nowhere", ClientID: "nobody"})
	if err := conn.Close(relaytest.Context(t)); err != nil {
		t.Error(err)
	}
}
