package remote_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/client/rpc"
	"github.com/ahprelay/ahprelay/client/rpc/harness"
	"github.com/ahprelay/ahprelay/client/rpc/harness/remote"
	"github.com/ahprelay/ahprelay/client/rpc/relaytest"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// The parts of these examples that docs/sdk.md shows are compared with it by the test of package client.

// dial connects a client for an example.
func dial(ctx context.Context) *client.Client {
	url, err := relaytest.Shared()
	if err != nil {
		log.Fatal(err)
	}
	c, err := client.Dial(ctx, url)
	if err != nil {
		log.Fatal(err)
	}
	return c
}

// model answers every question of an example.
func model(_ context.Context, text string) (string, error) { return "what is " + text, nil }

func Example() {
	ctx := context.Background()
	owner := dial(ctx)
	defer owner.Close(ctx)

	h := harness.New(model)
	defer h.Close()
	host, err := rpc.Expose(ctx, owner, h, remote.Adapter)
	if err != nil {
		log.Fatal(err) // all that is wrong with the adapter, at once
	}
	defer host.Close(context.Background())

	caller(ctx, host.Service().ID())
	// Output:
	// what is this?
	// [{user this?} {model what is this?}]
	// the harness says: harness: nothing is asked (-32000)
}

// caller is the other program.
func caller(ctx context.Context, id string) {
	c := dial(ctx)
	defer c.Close(ctx)
	found, err := c.Find(ctx, id)
	if err != nil {
		log.Fatal(err)
	}

	conn := rpc.NewConn(c, found)
	defer conn.Close(context.Background())
	h, err := remote.NewAgentHarness(conn)
	if err != nil {
		log.Fatal(err)
	}

	lane, err := h.CreateLane(ctx, "main", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer lane.Release(context.Background())
	reply, err := lane.Ask(ctx, "this?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.Text)

	said, err := lane.Transcript(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(said)

	_, err = lane.Ask(ctx, "")
	var refused *client.Error
	switch {
	case errors.Is(err, rpc.ErrValue):
		fmt.Println("no JSON, or not what the contract says:", err)
	case errors.Is(err, rpc.ErrTarget):
		fmt.Println("there is no such object any more:", err)
	case errors.Is(err, rpc.ErrSession):
		fmt.Println("the references died with the connection:", err)
	case errors.As(err, &refused):
		fmt.Println("the harness says:", refused)
	}
}

func Example_subscription() {
	ctx := context.Background()
	owner, c := dial(ctx), dial(ctx)
	defer owner.Close(ctx)
	defer c.Close(ctx)
	local := harness.New(model)
	defer local.Close()
	host, err := remote.Expose(ctx, owner, local)
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close(ctx)
	conn := rpc.NewConn(c, client.ServiceInfo{ID: host.Service().ID(), ClientID: owner.ClientID()})
	defer conn.Close(ctx)
	h, err := remote.NewAgentHarness(conn)
	if err != nil {
		log.Fatal(err)
	}

	id, err := h.CreateSession(ctx, "plans")
	if err != nil {
		log.Fatal(err)
	}
	tree := h.Session(id).View("main") // sends nothing
	root, err := tree.Append(ctx, "root", nil)
	if err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // unsubscribes

	changes, err := tree.Watch(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(changes.Snapshot().Nodes), "note so far")

	if _, err := tree.Append(ctx, "leaf", &root.ID); err != nil {
		log.Fatal(err)
	}
	for ev := range changes.Events() {
		fmt.Println(ev.Sequence, ev.Value.Node.Text)
		if ev.Value.Node.Text == "leaf" {
			changes.Close()
		}
	}
	switch err := changes.Err(); {
	case errors.Is(err, client.ErrClosed):
		fmt.Println("closed")
	case errors.Is(err, rpc.ErrGap), errors.Is(err, rpc.ErrOverflow):
		fmt.Println("events were lost, subscribe again:", err)
	default:
		fmt.Println("the context, the host or the connection has ended:", err)
	}
	// Output:
	// 1 note so far
	// 1 leaf
	// closed
}

func Example_tracing() {
	ctx := context.Background()
	owner := dial(ctx)
	defer owner.Close(ctx)
	h := harness.New(model)
	defer h.Close()
	var provider trace.TracerProvider = noop.NewTracerProvider()

	host, err := remote.Expose(ctx, owner, h,
		rpc.WithTracerProvider(provider),
		rpc.WithPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})),
	)
	if err != nil {
		log.Fatal(err)
	}

	defer host.Close(ctx)
	fmt.Println(host.Service().ID() != "")
	// Output: true
}

func Example_check() {
	err := rpc.Check[harness.AgentLane]("Name", "RunWhenIdle") // these are not offered as they are

	fmt.Println(strings.ReplaceAll(err.Error(), "\t", "- "))
	// Output:
	// rpc: 2 problems with the contract:
	// - AgentLane.Transcript: does not return an error last
	// - AgentLane.Transcript: args[0]: func(harness.Message) bool is no JSON value
}
