package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/cmd/ahprelay/config"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/reader"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/repo"
)

// pollMin keeps a slip of the pen from making the sidecar look at refs without pause.
const pollMin = 10 * time.Millisecond

const serveLong = `Serves Git repositories to the clients of a relay, read only, as one service with the metadata
{"protocol":"git-object-reader","version":1,"label":…,"repos":[…]}, until SIGINT or SIGTERM. When it is
registered it prints one line, "registered" and the service's id; after a reconnect again, since the id is new.

NAME is how clients call the repository at PATH, which is a worktree's top or a bare repository. --repo may be
given several times.

Requests, with params and results:
  getRefs {repo, prefix?, after?}
      → {refs:[{name, oid, peeled?}], head:{ref?, oid?}, next?}; next: ask again with after = next
  getObjects {repo, oids[], maxBytes?, ranges?}
      → {objects:[{oid, type, size, offset?, encoding:"utf-8"|"base64", data}], missing:[oid…], truncated:[oid…]}
      ranges is {"<oid>":{"offset":N,"length":N}}, both optional: a part of an object, in bytes. maxBytes bounds
      the data of the answer, 0 asks for types and sizes alone. An oid in truncated has more than data holds,
      because of maxBytes or the relay's frameBytes: ask for it again from where data ended.
  watchRefs {repo, serviceId} → {}, and unwatchRefs
      from then on changes of refs are notified to that service, which must be the asking client's, as
      refsChanged {repo}

Errors have a code and data: -32602 {member, problem}, -32601 {method, methods}, -32008 {repo, repos} or
{serviceId}, -32009 {serviceId}, -32020 {limit, max}, -32603 {repo}.`

// service is the flags of the sidecar itself.
type service struct {
	*connection
	repos []string
	label string
	poll  time.Duration
	wait  time.Duration
}

func (p *Program) serve() *cobra.Command {
	s := &service{}
	cmd := &cobra.Command{
		Use:     "git-sidecar --repo NAME=PATH…",
		Short:   "serve Git repositories to the clients of a relay",
		Long:    serveLong,
		Example: "  git-sidecar --repo work=. --repo bare=/srv/git/project.git\n  git-sidecar explore work README.md",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return usage("unknown command %q, the nearest known one is %q", args[0], config.Nearest(args[0], []string{"explore"}))
		},
	}
	s.connection = p.connect(cmd)
	host, _ := os.Hostname()
	cmd.Flags().StringArrayVar(&s.repos, "repo", nil, "NAME=PATH of a repository to serve; may be repeated")
	cmd.Flags().StringVar(&s.label, "label", host, "what to call this sidecar in the catalogue")
	cmd.Flags().Lookup("label").DefValue = "this machine's name"
	cmd.Flags().DurationVar(&s.poll, "poll", 500*time.Millisecond, "pause between two looks at watched refs")
	cmd.Flags().DurationVar(&s.wait, "wait", 0, "how long to try when no relay is there yet")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context()) }
	return cmd
}

// run serves until ctx ends.
func (s *service) run(ctx context.Context) error {
	if len(s.repos) == 0 {
		return usage("no repository: --repo NAME=PATH")
	}
	if s.poll < pollMin {
		return usage("--poll: %v is shorter than %v", s.poll, pollMin)
	}
	repos, err := s.open(ctx)
	defer func() {
		for _, r := range repos {
			r.Close()
		}
	}()
	if err != nil {
		return err
	}
	changed := make(chan error, 1)
	relay, err := s.dial(ctx, s.wait, client.WithOnEvent(s.event(changed)))
	if err != nil {
		return s.interrupted(ctx, err)
	}
	defer hangUp(relay)
	err = s.serveOn(ctx, relay, repos, changed)
	return s.interrupted(ctx, err)
}

// interrupted drops an error that is no more than the end of ctx, which is how a sidecar is stopped.
func (s *service) interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// open opens the repositories. It returns those that are open even on an error.
func (s *service) open(ctx context.Context) ([]*repo.Repo, error) {
	var repos []*repo.Repo
	seen := make(map[string]bool)
	for _, pair := range s.repos {
		name, path, ok := strings.Cut(pair, "=")
		if err := repo.CheckName(name); !ok || path == "" || err != nil {
			return repos, usage("--repo %q: want NAME=PATH, a name being letters, digits, '.', '_' and '-'", pair)
		}
		if seen[name] {
			return repos, usage("--repo %q: two repositories have this name", pair)
		}
		seen[name] = true
		opened, err := repo.Open(ctx, name, path)
		if err != nil {
			return repos, err
		}
		repos = append(repos, opened)
		if opened.Paired() {
			s.logger().Warn("this git has no cat-file --batch-command (2.36): reading is slower", "repo", name)
		}
	}
	return repos, nil
}

// serveOn registers the service and keeps it until ctx or the connection ends for good.
func (s *service) serveOn(ctx context.Context, relay *client.Client, repos []*repo.Repo, changed <-chan error) error {
	catalogue, err := relay.Watch(context.Background())
	if err != nil {
		return fmt.Errorf("following the catalogue: %w", err)
	}
	served, err := reader.New(reader.Config{
		Repos:      repos,
		FrameBytes: func() int { return relay.Limits().FrameBytes },
		Notify:     relay.Notify,
		Lookup:     catalogue.Lookup,
		Poll:       s.poll,
		Log:        s.logger(),
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { served.Follow(catalogue) })
	group.Go(func() { served.Watch(ctx) })
	defer group.Wait()
	defer catalogue.Close()
	defer cancel()
	registered, err := relay.Register(ctx, served.Metadata(s.label), served.Handle)
	if err != nil {
		return fmt.Errorf("registering: %w", err)
	}
	for id := ""; ; {
		if now := registered.ID(); now != id {
			id = now
			if _, err := fmt.Fprintf(s.p.Out, "registered %s\n", id); err != nil {
				return fmt.Errorf("printing the service's id: %w", err)
			}
		}
		select {
		case err := <-changed:
			if err != nil {
				return fmt.Errorf("registering again: %w", err)
			}
		case <-relay.Closed():
			return fmt.Errorf("the connection to the relay ended: %w", relay.Err())
		case <-ctx.Done():
			return nil
		}
	}
}

// event says what happens to the connection. After a reconnect it signals changed: the service has a new id, or
// the relay does not want it any more.
func (s *service) event(changed chan<- error) func(client.Event) {
	log := s.logger()
	return func(event client.Event) {
		switch event := event.(type) {
		case client.Reconnected:
			var failed error
			for _, failed = range event.Failed { // there is one service only
			}
			select {
			case changed <- failed:
			default:
			}
		case client.Dropped:
			log.Warn("notifications were dropped", "count", event.Count)
		case client.AuthRequired:
			log.Warn("the relay asks for authentication", "reason", event.Reason)
		}
	}
}
