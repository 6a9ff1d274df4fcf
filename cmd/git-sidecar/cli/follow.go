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

// retryPause is how long to leave a sidecar alone that could not be asked.
const retryPause = time.Second

// follower prints the refs of a repository as they change, from whichever sidecar serves it.
type follower struct {
	*exploration
	relay     *client.Client
	catalogue *client.Catalog
	mine      *client.Service   // what the sidecar notifies
	known     map[string]string // ref → oid, as printed
	watched   string            // which sidecar notifies which service of ours; "": none does
}

// follow prints refs as they change, until ctx ends. When the sidecar or the relay goes away, it waits for one to
// come.
func (e *exploration) follow(ctx context.Context) error {
	until := time.Now().Add(e.timeout)
	moved, refs := make(chan struct{}, 1), make(chan struct{}, 1) // who serves, and what it serves, may have changed
	relay, err := e.dial(ctx, e.timeout, client.WithOnEvent(func(event client.Event) {
		if _, ok := event.(client.Reconnected); ok {
			wake(moved)
		}
	}))
	if err != nil {
		return err
	}
	defer hangUp(relay)
	if _, err := e.find(ctx, relay, until); err != nil {
		return notInterrupted(ctx, err)
	}
	f := &follower{exploration: e, relay: relay, known: make(map[string]string)}
	metadata := map[string]any{"protocol": "git-refs-watcher", "version": 1, "repo": e.repo}
	f.mine, err = relay.Register(ctx, metadata, nil, client.OnNotify(func(_ context.Context, n *client.Notification) {
		if n.Method == "refsChanged" {
			wake(refs)
		}
	}))
	if err != nil {
		return notInterrupted(ctx, fmt.Errorf("registering: %w", err))
	}
	if f.catalogue, err = relay.Watch(ctx); err != nil {
		return notInterrupted(ctx, fmt.Errorf("reading the catalogue: %w", err))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range f.catalogue.Events() {
			wake(moved)
		}
	}()
	defer func() { f.catalogue.Close(); <-done }()
	return notInterrupted(ctx, f.run(ctx, moved, refs))
}

// wake signals c unless it is signalled already.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// notInterrupted drops an error that is no more than the end of ctx: that is how a watch ends.
func notInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return explain(err)
}

// run looks at the refs whenever there is a reason to.
func (f *follower) run(ctx context.Context, moved, refs <-chan struct{}) error {
	changed := false // the refs, since they were printed
	trouble := ""    // as reported
	for {
		var retry <-chan time.Time
		if err := f.look(ctx, changed); err != nil && !passing(err) {
			return err
		} else if err != nil {
			f.watched = ""
			retry = time.After(retryPause)
			if text := explain(err).Error(); text != trouble {
				trouble = text
				fmt.Fprintf(f.p.Err, "git-sidecar: %s; trying again\n", printable(text))
			}
		} else if f.watched != "" {
			trouble = ""
		}
		changed = false
		select {
		case <-retry:
		case <-moved:
		case <-refs:
			changed = true
		case <-f.relay.Closed():
			return fmt.Errorf("the connection to the relay ended: %w", f.relay.Err())
		case <-ctx.Done():
			return nil
		}
	}
}

// passing reports whether err is of a sidecar or relay that is going away, and may come again.
func passing(err error) bool {
	for _, one := range []error{client.ErrDisconnected, client.ErrUnavailable, client.ErrNotFound, client.ErrOverloaded, client.ErrTimeout} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// look subscribes to the sidecar if that is another one than before, and prints how the refs have changed if they
// may have.
func (f *follower) look(ctx context.Context, changed bool) error {
	services := f.catalogue.State()
	at := slices.IndexFunc(services, f.serves)
	if at < 0 {
		f.watched = ""
		return nil
	}
	service, mine := services[at].ID, f.mine.ID()
	if now := service + " " + mine; now != f.watched {
		err := f.relay.Call(ctx, service, "watchRefs", reader.WatchParams{Repo: f.repo, ServiceID: mine}, nil)
		if err != nil {
			return fmt.Errorf("watching refs: %w", err)
		}
		f.watched, changed = now, true
	}
	if !changed {
		return nil
	}
	remote := explore.New(f.relay, service, f.repo, f.relay.Limits().FrameBytes)
	refs, head, err := remote.Refs(ctx, f.prefix)
	if err != nil {
		return err
	}
	return f.printChanges(refs, head)
}

// change is one changed ref in JSON.
type change struct {
	Change string `json:"change"` // "new", "moved" or "gone"
	Name   string `json:"name"`
	OID    string `json:"oid,omitempty"`
}

// printChanges prints how the refs differ from those known, which it brings up to date.
func (f *follower) printChanges(refs []reader.Ref, head reader.Head) error {
	now := make(map[string]string, len(refs)+1)
	for _, ref := range refs {
		now[ref.Name] = ref.OID
	}
	if f.prefix == "" && head.OID != "" {
		now["HEAD"] = head.OID
	}
	for _, name := range slices.Sorted(maps.Keys(f.known)) {
		if _, there := now[name]; !there {
			if err := f.printChange("-", change{"gone", name, ""}); err != nil {
				return err
			}
			delete(f.known, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		was, there := f.known[name]
		if there && was == now[name] {
			continue
		}
		mark, c := "+", change{"new", name, now[name]}
		if there {
			mark, c.Change = "~", "moved"
		}
		if err := f.printChange(mark, c); err != nil {
			return err
		}
		f.known[name] = now[name]
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
