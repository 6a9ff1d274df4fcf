package client

import (
	"context"
	"iter"
)

// CatalogKind says what a CatalogEvent is.
type CatalogKind int

// The kinds of a CatalogEvent.
const (
	CatalogSnapshot CatalogKind = iota // Services is the whole state
	ServiceSet                         // Service was added, or its metadata replaced, or it became visible
	ServiceRemoved                     // Service is gone, or no longer visible
)

// CatalogEvent is a state or a change of the catalogue.
type CatalogEvent struct {
	Kind     CatalogKind
	Services []ServiceInfo // of a CatalogSnapshot, in order of registration
	Service  ServiceInfo   // of the other kinds; of ServiceRemoved as it was last
	Seq      uint64        // serverSeq of the change; of a snapshot, of the last change in it
}

// changesMax is how many changes may wait for a slow watcher before they are replaced by a snapshot.
const changesMax = 4096

// Catalog follows the catalogue of services that this client may discover.
type Catalog struct {
	m    *mirror
	ctx  context.Context
	wake chan struct{} // cap 1
	stop func() bool   // undoes the watch over ctx

	queue  []CatalogEvent // guarded by m.mu, like the rest
	whole  bool           // the next event is a snapshot of the mirror
	closed bool
}

// Services returns the services that this client may discover, in order of registration.
func (c *Client) Services(ctx context.Context) ([]ServiceInfo, error) {
	m := &c.cat
	if err := m.acquire(ctx); err != nil {
		return nil, err
	}
	defer m.release()
	services, err := m.subscribe(ctx, func() bool { return false })
	m.mu.Lock()
	watched := m.l != nil || len(m.watchers) > 0
	m.mu.Unlock()
	if !watched {
		m.unsubscribe(c.link.Load())
	}
	return services, err
}

// Watch follows the catalogue until ctx ends, the Catalog is closed or the client ends. It goes on
// across reconnects. Any number of watchers share one subscription.
func (c *Client) Watch(ctx context.Context) (*Catalog, error) {
	m := &c.cat
	w := &Catalog{m: m, ctx: ctx, wake: make(chan struct{}, 1), whole: true}
	if err := m.acquire(ctx); err != nil {
		return nil, err
	}
	defer m.release()
	m.mu.Lock()
	if m.l != nil && m.l == c.link.Load() && m.l.cause() == nil {
		m.watchers[w] = struct{}{}
		w.stop = context.AfterFunc(ctx, w.leave)
		m.mu.Unlock()
		return w, nil
	}
	m.mu.Unlock()
	_, err := m.subscribe(ctx, func() bool {
		m.watchers[w] = struct{}{}
		return true
	})
	if err != nil {
		m.mu.Lock()
		delete(m.watchers, w)
		idle := len(m.watchers) == 0
		m.mu.Unlock()
		if idle {
			m.drop()
			m.unsubscribe(c.link.Load())
		}
		return nil, err
	}
	m.mu.Lock()
	w.stop = context.AfterFunc(ctx, w.leave)
	m.mu.Unlock()
	return w, nil
}

// Events yields the state and then every change in order, without a gap: first a CatalogSnapshot, then
// changes. Another CatalogSnapshot comes when continuity was lost, because the relay was restarted or
// the loop is too slow for the changes. The sequence ends with Watch's ctx, with Close, and with the
// client; Err tells which. Only one loop may run at a time.
func (w *Catalog) Events() iter.Seq[CatalogEvent] {
	return func(yield func(CatalogEvent) bool) {
		for {
			ev, ok := w.next()
			if ok {
				if !yield(ev) {
					return
				}
				continue
			}
			if w.Err() != nil {
				return
			}
			select {
			case <-w.wake:
			case <-w.ctx.Done():
			}
		}
	}
}

// next takes the next event that is there already.
func (w *Catalog) next() (CatalogEvent, bool) {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	if w.closed || w.ctx.Err() != nil {
		return CatalogEvent{}, false
	}
	if w.whole {
		w.whole, w.queue = false, nil
		return CatalogEvent{Kind: CatalogSnapshot, Services: w.m.state(), Seq: w.m.seq}, true
	}
	if len(w.queue) == 0 {
		return CatalogEvent{}, false
	}
	ev := w.queue[0]
	w.queue = w.queue[1:]
	return ev, true
}

// State returns the newest state, which Events may not have reached yet.
func (w *Catalog) State() []ServiceInfo {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	return w.m.state()
}

// Err returns why Events ended: the error of Watch's ctx, or that of the client, or ErrClosed after
// Close; nil before.
func (w *Catalog) Err() error {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	switch {
	case w.closed:
		return ErrClosed
	case w.ctx.Err() != nil:
		return w.ctx.Err()
	case w.m.ended:
		return context.Cause(w.m.c.stop)
	}
	return nil
}

// Close stops following.
func (w *Catalog) Close() {
	w.m.mu.Lock()
	w.closed = true
	w.m.mu.Unlock()
	w.stop()
	w.leave()
}

// leave takes w out of the watchers and ends the subscription after the last one.
func (w *Catalog) leave() {
	m := w.m
	m.mu.Lock()
	w.queue = nil
	_, there := m.watchers[w]
	delete(m.watchers, w)
	idle := there && len(m.watchers) == 0
	m.mu.Unlock()
	w.signal()
	if idle {
		m.sem <- struct{}{}
		m.drop()
		m.release()
	}
}

// push queues a change. m.mu is held.
func (w *Catalog) push(ev CatalogEvent) {
	if w.whole {
		return
	}
	if len(w.queue) >= changesMax {
		w.restart()
		return
	}
	w.queue = append(w.queue, ev)
	w.signal()
}

// restart makes the next event a snapshot. m.mu is held.
func (w *Catalog) restart() {
	w.whole, w.queue = true, nil
	w.signal()
}

func (w *Catalog) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// acquire waits for its turn to change the subscription.
func (m *mirror) acquire(ctx context.Context) error {
	select {
	case m.sem <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *mirror) release() { <-m.sem }

// drop ends the subscription if nobody watches. The caller holds m.sem.
func (m *mirror) drop() {
	m.mu.Lock()
	l := m.l
	idle := len(m.watchers) == 0
	if idle {
		m.l = nil
		clear(m.services)
		m.bytes = 0
	}
	m.mu.Unlock()
	if idle && l != nil {
		m.unsubscribe(l)
	}
}
