package reader

import (
	"sync"

	"github.com/ahprelay/ahprelay/client"
)

const (
	watchersMax          = 1024 // subscriptions of all clients
	watchersPerClientMax = 64
)

// subscription is one service that wants to hear of one repository.
type subscription struct{ repo, serviceID string }

// watchers knows who wants to hear of changed refs. Following the catalogue it forgets the subscriptions of
// services that are gone: add looks into a newer state than apply has reached, so that none is forgotten too
// early and the removal of each is still to come.
type watchers struct {
	cfg    Config
	looker map[string]*looker // by repository

	mu     sync.Mutex
	subs   map[subscription]string // → clientId of the subscriber
	counts map[string]int          // subscriptions by clientId
}

func newWatchers(cfg Config) *watchers {
	w := &watchers{cfg: cfg, looker: make(map[string]*looker),
		subs: make(map[subscription]string), counts: make(map[string]int)}
	for _, one := range cfg.Repos {
		w.looker[one.Name()] = &looker{repo: one, wake: make(chan struct{}, 1)}
	}
	return w
}

// add enters sub for the client sender.
func (w *watchers) add(sub subscription, sender string) *client.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	service, known := w.cfg.Lookup(sub.serviceID)
	_, there := w.subs[sub]
	switch {
	case !known:
		return failure(codeNotFound, "no such service in the catalogue", data{ServiceID: sub.serviceID})
	case service.ClientID != sender:
		return failure(codePermissionDenied, "the service belongs to another client", data{ServiceID: sub.serviceID})
	case there:
		return nil
	case len(w.subs) >= watchersMax:
		return failure(CodeWatchersFull, "too many subscriptions", data{Limit: "watchers", Max: watchersMax})
	case w.counts[sender] >= watchersPerClientMax:
		return failure(CodeWatchersFull, "too many subscriptions of this client", data{Limit: "watchersPerClient", Max: watchersPerClientMax})
	}
	w.subs[sub] = sender
	w.counts[sender]++
	return nil
}

// remove takes sub out; one that is not there is fine, one of another client's is not.
func (w *watchers) remove(sub subscription, sender string) *client.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	owner, there := w.subs[sub]
	switch {
	case there && owner != sender:
		return failure(codePermissionDenied, "the service belongs to another client", data{ServiceID: sub.serviceID})
	case there:
		w.forget(sub)
	}
	return nil
}

// forget takes sub out. w.mu is held.
func (w *watchers) forget(sub subscription) {
	owner := w.subs[sub]
	delete(w.subs, sub)
	if w.counts[owner]--; w.counts[owner] == 0 {
		delete(w.counts, owner)
	}
}

// gone forgets what the service id has subscribed to. w.mu is held.
func (w *watchers) gone(id string) {
	for name := range w.looker {
		if sub := (subscription{name, id}); w.subs[sub] != "" {
			w.forget(sub)
		}
	}
}

// of returns the services that want to hear of a repository.
func (w *watchers) of(name string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ids []string
	for sub := range w.subs {
		if sub.repo == name {
			ids = append(ids, sub.serviceID)
		}
	}
	return ids
}

// Follow keeps the subscriptions in step with the catalogue until the events end.
func (r *Reader) Follow(catalogue *client.Catalog) {
	for event := range catalogue.Events() {
		r.watchers.apply(event)
	}
}

// apply takes in one state or change of the catalogue.
func (w *watchers) apply(event client.CatalogEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch event.Kind {
	case client.ServiceRemoved:
		w.gone(event.Service.ID)
	case client.CatalogSnapshot:
		for sub := range w.subs {
			if _, there := w.cfg.Lookup(sub.serviceID); !there {
				w.forget(sub)
			}
		}
	}
}
