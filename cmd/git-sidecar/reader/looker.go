package reader

import (
	"context"
	"sync"
	"time"

	"github.com/ahprelay/ahprelay/cmd/git-sidecar/repo"
)

// lookTimeout bounds one look at a repository's refs.
const lookTimeout = 30 * time.Second

// looker looks at one repository's refs while somebody wants to hear of it.
type looker struct {
	repo *repo.Repo
	wake chan struct{} // cap 1: somebody does

	mu      sync.Mutex
	tracker *repo.Tracker // nil while nobody does
}

// prime makes sure that every change from now on will be seen.
func (l *looker) prime(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tracker == nil {
		tracker := l.repo.Track()
		if _, err := tracker.Changed(ctx); err != nil {
			return err
		}
		l.tracker = tracker
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return nil
}

// Watch looks at the repositories that somebody subscribed to and notifies the subscribers, until ctx ends.
// Repositories without subscribers cost nothing.
func (r *Reader) Watch(ctx context.Context) {
	var group sync.WaitGroup
	for _, l := range r.watchers.looker {
		group.Go(func() { r.watchers.watch(ctx, l) })
	}
	group.Wait()
}

// watch is Watch for one repository.
func (w *watchers) watch(ctx context.Context, l *looker) {
	ticker := time.NewTicker(w.cfg.Poll)
	ticker.Stop()
	defer ticker.Stop()
	running, failing := false, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
			if !running { // a client that subscribes again and again must not put the looks off
				ticker.Reset(w.cfg.Poll)
			}
			running = true
			continue
		case <-ticker.C:
		}
		changed, err := w.look(ctx, l)
		if err != nil && ctx.Err() == nil && !failing {
			w.cfg.Log.Error("looking for changed refs failed", "repo", l.repo.Name(), "error", err)
		}
		failing = err != nil
		ids := w.of(l.repo.Name())
		if len(ids) == 0 && w.rest(l) {
			ticker.Stop()
			running = false
			continue
		}
		if !changed {
			continue
		}
		for _, id := range ids {
			if err := w.cfg.Notify(id, "refsChanged", RefsChanged{l.repo.Name()}); err != nil {
				w.cfg.Log.Warn("refsChanged was not sent", "repo", l.repo.Name(), "error", err)
			}
		}
	}
}

// look asks the tracker.
func (w *watchers) look(ctx context.Context, l *looker) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tracker == nil {
		return false, nil
	}
	return l.tracker.Changed(ctx)
}

// rest lets go of the tracker, unless somebody has subscribed meanwhile.
func (w *watchers) rest(l *looker) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(w.of(l.repo.Name())) > 0 {
		return false
	}
	l.tracker = nil
	return true
}
