package client

import (
	"context"
	"time"
)

// shared is the relay that the examples use.
var shared *process

// SharedRelay returns the URL of a relay for examples; it runs until the tests end.
func SharedRelay() string {
	if shared == nil {
		if shared = launch(""); shared.err != nil {
			panic(shared.err)
		}
	}
	return shared.url
}

// ServeGreeter runs a client with the service of the examples, until stop is called.
func ServeGreeter(url string) (stop func()) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := Dial(ctx, url, WithClientID("greeter"))
	if err != nil {
		panic(err)
	}
	_, err = c.Register(ctx, map[string]any{"protocol": "greeter", "version": 1}, func(_ context.Context, r *Request) (any, error) {
		if r.Method != "greet" {
			return nil, ErrMethodNotFound
		}
		var p struct{ Name string }
		if err := r.Decode(&p); err != nil {
			return nil, err
		}
		return "Hello, " + p.Name, nil
	})
	if err != nil {
		panic(err)
	}
	return func() { c.Close(context.Background()) }
}
