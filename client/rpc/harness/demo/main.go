// Command demo runs the example harness across a relay: as its host, or as its user in another process.
//
//	demo host tcp://127.0.0.1:7420
//	demo user tcp://127.0.0.1:7420
//
// The host runs until it is interrupted. The user makes a lane and a session, asks, writes, watches, and
// prints what it sees.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/client/rpc/harness"
	"github.com/ahprelay/ahprelay/client/rpc/harness/remote"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: demo host|user RELAY")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run := map[string]func(context.Context, string) error{"host": host, "user": user}[os.Args[1]]
	if run == nil {
		log.Fatal("usage: demo host|user RELAY")
	}
	if err := run(ctx, os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

// host offers a harness until ctx ends.
func host(ctx context.Context, relay string) error {
	c, err := client.Dial(ctx, relay, client.WithClientInfo("harness-host", "1"))
	if err != nil {
		return err
	}
	h := harness.New(func(_ context.Context, text string) (string, error) { return strings.ToUpper(text), nil })
	defer h.Close()
	offered, err := remote.Expose(ctx, c, h)
	if err != nil {
		return err
	}
	fmt.Println("offered")
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := offered.Close(ctx); err != nil {
		return err
	}
	if n := h.Watchers(); n != 0 {
		return fmt.Errorf("%d watchers are left", n)
	}
	return c.Close(ctx)
}

// user uses the harness that is offered.
func user(ctx context.Context, relay string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	c, err := client.Dial(ctx, relay, client.WithClientInfo("harness-user", "1"))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	h, conn, err := remote.Connect(ctx, c)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if err := talk(ctx, h); err != nil {
		return err
	}
	return write(ctx, h)
}

// talk asks in a lane and prints the events of that.
func talk(ctx context.Context, h remote.AgentHarness) error {
	events, err := h.Events(ctx, &harness.EventFilter{Lane: "main"})
	if err != nil {
		return err
	}
	lane, err := h.CreateLane(ctx, "main", nil)
	if err != nil {
		return err
	}
	defer lane.Release(ctx)
	reply, err := lane.Ask(ctx, "is anybody there?")
	if err != nil {
		return err
	}
	fmt.Println("reply:", reply.Text)
	for ev := range events.Events() {
		fmt.Println("event:", ev.Sequence, ev.Value.Kind, ev.Value.Text)
		if ev.Value.Kind == "answered" {
			events.Close()
		}
	}
	said, err := lane.Transcript(ctx, nil)
	if err != nil {
		return err
	}
	fmt.Println("messages:", len(said))
	return nil
}

// write writes notes into the tree of a session and watches it grow.
func write(ctx context.Context, h remote.AgentHarness) error {
	id, err := h.CreateSession(ctx, "demo")
	if err != nil {
		return err
	}
	session := h.Session(id)
	tree := session.View("main")
	first, err := tree.Append(ctx, "first", nil)
	if err != nil {
		return err
	}
	changes, err := tree.Watch(ctx)
	if err != nil {
		return err
	}
	defer changes.Close()
	fmt.Println("snapshot:", len(changes.Snapshot().Nodes), "note")
	if _, err := tree.Append(ctx, "second", &first.ID); err != nil {
		return err
	}
	change, err := changes.Next(ctx)
	if err != nil {
		return err
	}
	fmt.Println("change:", change.Value.Revision, change.Value.Node.Text, "below", *change.Value.Node.Parent)
	metadata, err := session.Metadata(ctx)
	if err != nil {
		return err
	}
	fmt.Println("session:", metadata.ID, metadata.Title)
	return nil
}
