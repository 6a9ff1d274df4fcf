package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/explore"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/reader"
)

// follow prints refs as they change, until ctx ends. It registers a service of its own, which the sidecar
// notifies. When the sidecar or the relay goes away, it waits for one to come.
func (e *exploration) follow(ctx context.Context) error {
	signal := make(chan struct{}, 1)
	wake := func() {
		select {
		case signal <- struct{}{}:
		default:
		}
	}
	relay, err := e.dial(ctx, e.timeout)
	if err != nil {
		return err
	}
	defer hangUp(relay)
	metadata := map[string]any{"protocol": "git-refs-watcher", "version": 1, "repo": e.repo}
	mine, err := relay.Register(ctx, metadata, nil, client.OnNotify(func(_ context.Context, n *client.Notification) {
		if n.Method == "refsChanged" {
			wake()
		}
	}))
	if err != nil {
		return fmt.Errorf("registering: %w", err)
	}
	known := map[string]string{}
	for first := true; ctx.Err() == nil; first = false {
		until := time.Now().Add(e.timeout)
		if !first {
			until = time.Now().Add(365 * 24 * time.Hour)
		}
		service, err := e.find(ctx, relay, until)
		if err != nil {
			return notInterrupted(ctx, err)
		}
		err = e.followService(ctx, relay, service, mine.ID(), signal, known)
		if err != nil && !passing(err) {
			return notInterrupted(ctx, err)
		}
	}
	return nil
}

// notInterrupted drops an error that is no more than the end of ctx: that is how a watch ends.
func notInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return explain(err)
}

// passing reports whether err is of a sidecar or relay that went away, and may come again.
func passing(err error) bool {
	return errors.Is(err, client.ErrDisconnected) || errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrNotFound)
}

// followService prints changes until the service or the connection is gone.
func (e *exploration) followService(ctx context.Context, relay *client.Client, service client.ServiceInfo, mine string, signal <-chan struct{}, known map[string]string) error {
	catalogue, err := relay.Watch(ctx)
	if err != nil {
		return fmt.Errorf("reading the catalogue: %w", err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for event := range catalogue.Events() {
			there := event.Kind != client.CatalogSnapshot || slices.ContainsFunc(event.Services, func(s client.ServiceInfo) bool { return s.ID == service.ID })
			if !there || event.Kind == client.ServiceRemoved && event.Service.ID == service.ID {
				return
			}
		}
	}()
	defer func() { catalogue.Close(); <-gone }()
	err = relay.Call(ctx, service.ID, "watchRefs", reader.WatchParams{Repo: e.repo, ServiceID: mine}, nil)
	if err != nil {
		return fmt.Errorf("watching refs: %w", err)
	}
	for {
		remote := explore.New(relay, service.ID, e.repo, relay.Limits().FrameBytes)
		refs, head, err := remote.Refs(ctx, e.prefix)
		if err != nil {
			return err
		}
		if err := e.printChanges(known, refs, head); err != nil {
			return err
		}
		select {
		case <-signal:
		case <-gone:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// change is one changed ref in JSON.
type change struct {
	Change string `json:"change"` // "new", "moved" or "gone"
	Name   string `json:"name"`
	OID    string `json:"oid,omitempty"`
}

// printChanges prints how the refs differ from known, which it brings up to date.
func (e *exploration) printChanges(known map[string]string, refs []reader.Ref, head reader.Head) error {
	now := make(map[string]string, len(refs)+1)
	for _, ref := range refs {
		now[ref.Name] = ref.OID
	}
	if e.prefix == "" && head.OID != "" {
		now["HEAD"] = head.OID
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if _, there := now[name]; !there {
			if err := e.printChange("-", change{"gone", name, ""}); err != nil {
				return err
			}
			delete(known, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		was, there := known[name]
		if there && was == now[name] {
			continue
		}
		mark, c := "+", change{"new", name, now[name]}
		if there {
			mark, c.Change = "~", "moved"
		}
		if err := e.printChange(mark, c); err != nil {
			return err
		}
		known[name] = now[name]
	}
	return nil
}

func (e *exploration) printChange(mark string, c change) error {
	if e.json {
		return e.printJSON(c)
	}
	text := c.OID
	if text != "" {
		text += "\t"
	}
	_, err := fmt.Fprintf(e.p.Out, "%s %s%s\n", mark, text, printable(c.Name))
	return err
}
