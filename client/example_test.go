package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/ahprelay/ahprelay/client"
)

// The parts of these examples that docs/sdk.md shows are compared with it by TestDocs.

func Example() {
	ctx, relay := context.Background(), client.SharedRelay()

	owner, err := client.Dial(ctx, relay)
	if err != nil {
		log.Fatal(err)
	}
	defer owner.Close(ctx)
	metadata := map[string]any{"protocol": "adder", "version": 1}
	_, err = owner.Register(ctx, metadata, func(ctx context.Context, r *client.Request) (any, error) {
		var terms []int
		if err := r.Decode(&terms); err != nil {
			return nil, err
		}
		sum := 0
		for _, n := range terms {
			sum += n
		}
		return sum, nil
	})
	if err != nil {
		log.Fatal(err)
	}

	user, err := client.Dial(ctx, relay)
	if err != nil {
		log.Fatal(err)
	}
	defer user.Close(ctx)
	adder, err := user.Find(ctx, "protocol=adder")
	if err != nil {
		log.Fatal(err)
	}
	sum, err := client.Call[int](ctx, user, adder.ID, "add", []int{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum)
	// Output: 6
}

func ExampleDial() {
	relay := client.SharedRelay()

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, err := client.Dial(ctx, relay,
		client.WithClientID("editor-7"),
		client.WithClientInfo("editor", "1.4.2"),
	)
	switch {
	case errors.Is(err, client.ErrAlreadyExists):
		log.Fatal("another editor-7 is connected")
	case errors.Is(err, client.ErrNotSupported):
		log.Fatal("this AHP server has no client services")
	case err != nil:
		log.Fatal(err)
	}
	defer c.Close(context.Background())

	fmt.Println(c.ServerInfo().Name, c.Limits().FrameBytes)
	// Output: ahprelay 1048576
}

func ExampleClient_Register() {
	ctx, relay := context.Background(), client.SharedRelay()
	c, err := client.Dial(ctx, relay)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)

	handler := func(ctx context.Context, r *client.Request) (any, error) {
		switch r.Method {
		case "wait":
			select {
			case <-time.After(time.Hour):
				return "done", nil
			case <-ctx.Done(): // cancelled, timed out, unregistered or disconnected
				return nil, context.Cause(ctx)
			}
		case "whoami":
			return map[string]string{"you": r.Sender}, nil
		case "refuse":
			return nil, &client.Error{Code: 17, Message: "not today", Data: json.RawMessage(`{"retry":"tomorrow"}`)}
		}
		return nil, client.ErrMethodNotFound
	}
	service, err := c.Register(ctx, json.RawMessage(`{"protocol":"demo","version":1}`), handler)
	if err != nil {
		log.Fatal(err)
	}

	err = service.Update(ctx, json.RawMessage(`{"protocol":"demo","version":1,"busy":true}`))
	if err != nil {
		log.Fatal(err)
	}

	err = c.Call(ctx, service.ID(), "refuse", nil, nil)
	fmt.Println(err)

	if err := service.Unregister(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: not today (17)
}

func ExampleClient_Notify() {
	ctx, relay := context.Background(), client.SharedRelay()
	owner, err := client.Dial(ctx, relay)
	if err != nil {
		log.Fatal(err)
	}
	defer owner.Close(ctx)
	done := make(chan struct{})

	service, err := owner.Register(ctx, map[string]string{"protocol": "log"}, nil,
		client.OnNotify(func(ctx context.Context, n *client.Notification) {
			fmt.Println(n.Sender, n.Method, string(n.Params))
			if n.Method == "end" {
				close(done)
			}
		}),
		client.OnDropped(func(count uint64) {
			fmt.Println(count, "lines were lost")
		}),
	)
	if err != nil {
		log.Fatal(err)
	}

	c, err := client.Dial(ctx, relay, client.WithClientID("writer"))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)

	for i := range 3 {
		if err := c.Notify(service.ID(), "line", map[string]int{"n": i}); err != nil {
			log.Fatal(err)
		}
	}
	if err := c.Notify(service.ID(), "end", nil); err != nil {
		log.Fatal(err)
	}
	if err := c.Flush(ctx); err != nil { // the relay has them all
		log.Fatal(err)
	}
	<-done
	// Output:
	// writer line {"n":0}
	// writer line {"n":1}
	// writer line {"n":2}
	// writer end null
}

func ExampleClient_Call() {
	ctx, relay := context.Background(), client.SharedRelay()
	defer client.ServeGreeter(relay)()
	c, err := client.Dial(ctx, relay)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	service, err := c.Find(ctx, "protocol=greeter")
	if err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // becomes the request's timeoutMs
	defer cancel()
	greeting, err := client.Call[string](ctx, c, service.ID, "greet", map[string]string{"name": "you"})
	switch {
	case err == nil:
		fmt.Println(greeting)
	case errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrUnavailable):
		fmt.Println("the service is gone")
	case errors.Is(err, context.DeadlineExceeded):
		fmt.Println("too slow")
	case client.Delivered(err) == "never":
		fmt.Println("safe to send again:", err)
	default:
		fmt.Println("failed, perhaps after it took effect:", err)
	}
	// Output: Hello, you
}

func ExampleClient_Find() {
	ctx, relay := context.Background(), client.SharedRelay()
	defer client.ServeGreeter(relay)()
	c, err := client.Dial(ctx, relay)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)

	// Wait until there is one.
	service, err := c.Find(ctx, "protocol=greeter", "version=1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(service.ClientID, string(service.Metadata))

	// Take what there is now.
	all, err := c.FindAll(ctx, "protocol=greeter")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(all))
	// Output:
	// greeter {"protocol":"greeter","version":1}
	// 1
}

func ExampleClient_Watch() {
	ctx, relay := context.Background(), client.SharedRelay()
	c, err := client.Dial(ctx, relay)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.Register(ctx, map[string]string{"protocol": "x"}, nil); err != nil {
		log.Fatal(err)
	}

	catalog, err := c.Watch(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer catalog.Close()
	for ev := range catalog.Events() {
		switch ev.Kind {
		case client.CatalogSnapshot: // first, and whenever continuity was lost
			fmt.Println(len(ev.Services), "services")
		case client.ServiceSet:
			fmt.Println("new or changed:", ev.Service.ID)
		case client.ServiceRemoved:
			fmt.Println("gone:", ev.Service.ID)
		}
		if len(catalog.State()) > 0 {
			break // this example has seen enough
		}
	}
	// Output: 1 services
}

func ExampleOrdered() {
	ctx, relay := context.Background(), client.SharedRelay()
	c, err := client.Dial(ctx, relay)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)

	text := "" // of one sender, so nothing else touches it at the same time
	service, err := c.Register(ctx, map[string]string{"protocol": "editor"},
		func(ctx context.Context, r *client.Request) (any, error) { return text, nil },
		client.OnNotify(func(ctx context.Context, n *client.Notification) { text += n.Method }),
		client.Ordered(),
	)
	if err != nil {
		log.Fatal(err)
	}

	for _, word := range []string{"a", "b", "c"} {
		if err := c.Notify(service.ID(), word, nil); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(client.Call[string](ctx, c, service.ID(), "read", nil))
	// Output: abc <nil>
}

func ExampleWithOnEvent() {
	ctx, relay := context.Background(), client.SharedRelay()

	c, err := client.Dial(ctx, relay,
		client.WithReconnect(client.ReconnectPolicy{Min: 50 * time.Millisecond, Max: 5 * time.Second}),
		client.WithOnEvent(func(ev client.Event) {
			switch ev := ev.(type) {
			case client.Disconnected:
				log.Println("lost the relay:", ev.Err)
			case client.Reconnected:
				for old, id := range ev.Services {
					log.Println("service", old, "is now", id)
				}
			case client.Closing:
				log.Println("the relay goes away:", ev.Reason, ev.Message)
			case client.Dropped:
				log.Println(ev.Count, "notifications to", ev.ServiceID, "were dropped")
			case client.AuthRequired:
				log.Println("a new token is needed for", ev.Resource)
			}
		}),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	// Output:
}

func ExampleClient_Authenticate() {
	ctx, relay := context.Background(), client.SharedRelay()
	oldToken, newToken := "old", "new"

	c, err := client.Dial(ctx, relay, client.WithToken(oldToken))
	if errors.Is(err, client.ErrAuthRequired) {
		fmt.Println("the token is not valid")
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)

	if err := c.Authenticate(ctx, newToken); err != nil { // before the old one expires
		log.Fatal(err)
	}
	// Output: the token is not valid
}
