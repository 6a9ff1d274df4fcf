package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/explore"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/reader"
)

const exploreLong = `Finds a git-sidecar that serves REPO in the relay's catalogue and reads from it. Without PATH it prints HEAD
and the refs, as git ls-remote --symref does; with PATH what is there at --rev: a directory as git ls-tree prints
it ("." is the top), or a file's bytes.

Objects are read by their ids, many in one request, big ones in ranges; each is hashed and compared with its id,
and none is asked for twice. --verbose prints how many requests that took.`

// exploration is the flags of explore.
type exploration struct {
	*connection
	repo      string
	service   string
	timeout   time.Duration
	rev       string
	prefix    string
	recursive bool
	watch     bool
	json      bool
}

func (p *Program) explore() *cobra.Command {
	e := &exploration{}
	cmd := &cobra.Command{
		Use:     "explore REPO [PATH]",
		Short:   "print refs, a directory or a file of a served repository",
		Long:    exploreLong,
		Example: "  git-sidecar explore work\n  git-sidecar explore work docs --rev v1.2\n  git-sidecar explore work README.md > README.md",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usage("want REPO [PATH], got %d arguments", len(args))
			}
			return nil
		},
	}
	e.connection = p.connect(cmd)
	flags := cmd.Flags()
	flags.StringVar(&e.service, "service", "", "id of the service to use, when several serve REPO")
	flags.DurationVar(&e.timeout, "timeout", 5*time.Second, "how long to wait for the relay and for a service that serves REPO")
	flags.StringVar(&e.rev, "rev", "HEAD", "what to read PATH at: a ref, or the id of a commit, tag or tree")
	flags.StringVar(&e.prefix, "prefix", "", "print only refs whose names begin so, such as refs/tags/")
	flags.BoolVar(&e.recursive, "recursive", false, "print what is in the directories instead of them")
	flags.BoolVar(&e.watch, "watch", false, "go on with the refs that change: + new, ~ moved, - gone")
	flags.BoolVar(&e.json, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		e.repo = args[0]
		if err := e.check(cmd, args); err != nil {
			return err
		}
		if e.watch {
			return e.follow(cmd.Context())
		}
		return e.run(cmd.Context(), args[1:])
	}
	return cmd
}

// check refuses flags that say nothing together.
func (e *exploration) check(cmd *cobra.Command, args []string) error {
	ofPath, ofRefs := []string{"rev", "recursive"}, []string{"prefix", "watch"}
	for _, name := range ofPath {
		if len(args) == 1 && cmd.Flags().Changed(name) {
			return usage("--%s says nothing without PATH", name)
		}
	}
	for _, name := range ofRefs {
		if len(args) == 2 && cmd.Flags().Changed(name) {
			return usage("--%s says nothing with PATH", name)
		}
	}
	if len(args) == 2 && slices.Contains(strings.Split(args[1], "/"), "..") {
		return usage("PATH %q: is read from the top of the repository and cannot have ..", args[1])
	}
	if e.timeout <= 0 {
		return usage("--timeout: %v is no time", e.timeout)
	}
	return nil
}

// run prints once what was asked for.
func (e *exploration) run(ctx context.Context, where []string) error {
	started := time.Now()
	relay, err := e.dial(ctx, e.timeout, client.WithoutReconnect())
	if err != nil {
		return err
	}
	defer hangUp(relay)
	service, err := e.find(ctx, relay, started.Add(e.timeout))
	if err != nil {
		return err
	}
	remote := explore.New(relay, service.ID, e.repo, relay.Limits().FrameBytes)
	if len(where) == 0 {
		err = e.printRefs(ctx, remote)
	} else {
		err = e.printPath(ctx, remote, path.Clean("/" + where[0])[1:])
	}
	if e.verbose {
		s := remote.Stats()
		fmt.Fprintf(e.p.Err, "git-sidecar: %d requests, %d objects of %d bytes verified, %d from the cache, %v\n",
			s.Requests, s.Objects, s.Bytes, s.CacheHits, time.Since(started).Round(time.Millisecond))
	}
	return explain(err)
}

// explain adds the data of a service's error, which say what the message leaves out.
func explain(err error) error {
	var answer *client.Error
	if errors.As(err, &answer) && len(answer.Data) > 0 {
		return fmt.Errorf("%w %s", err, answer.Data)
	}
	return err
}

// serves reports whether a service of the catalogue serves the repository.
func (e *exploration) serves(s client.ServiceInfo) bool {
	var metadata reader.Metadata
	return (e.service == "" || e.service == s.ID) &&
		json.Unmarshal(s.Metadata, &metadata) == nil &&
		metadata.Protocol == reader.Protocol && metadata.Version == reader.Version &&
		slices.Contains(metadata.Repos, e.repo)
}

// find waits for a service that serves the repository.
func (e *exploration) find(ctx context.Context, relay *client.Client, until time.Time) (client.ServiceInfo, error) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	catalogue, err := relay.Watch(ctx)
	if err != nil {
		return client.ServiceInfo{}, fmt.Errorf("reading the catalogue: %w", err)
	}
	defer catalogue.Close()
	for event := range catalogue.Events() {
		var found []client.ServiceInfo
		for _, s := range append(event.Services, event.Service) {
			if event.Kind != client.ServiceRemoved && e.serves(s) {
				found = append(found, s)
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return client.ServiceInfo{}, ambiguous(e.repo, found)
		}
	}
	if err := catalogue.Err(); !errors.Is(err, context.DeadlineExceeded) {
		return client.ServiceInfo{}, fmt.Errorf("reading the catalogue: %w", err)
	}
	if e.service != "" {
		return client.ServiceInfo{}, fmt.Errorf("no service %s serves %s (waited %v)", e.service, e.repo, e.timeout)
	}
	return client.ServiceInfo{}, fmt.Errorf("no service serves %s (waited %v)", e.repo, e.timeout)
}

// ambiguous is the error of more than one service.
func ambiguous(name string, found []client.ServiceInfo) error {
	var ids []string
	for _, s := range found[:min(len(found), 8)] {
		var metadata reader.Metadata
		_ = json.Unmarshal(s.Metadata, &metadata) // it did before
		ids = append(ids, fmt.Sprintf("%s (%s)", s.ID, metadata.Label))
	}
	return fmt.Errorf("%d services serve %s, choose one with --service: %s", len(found), name, strings.Join(ids, ", "))
}
