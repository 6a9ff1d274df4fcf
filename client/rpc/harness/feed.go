package harness

import (
	"context"
	"sync"
)

// feed passes events to watchers, one at a time and in order.
type feed[E any] struct {
	mu       sync.Mutex
	last     int
	watchers map[int]func(context.Context, E)
}

func (f *feed[E]) watch(w func(context.Context, E)) (stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watchers == nil {
		f.watchers = map[int]func(context.Context, E){}
	}
	f.last++
	id := f.last
	f.watchers[id] = w
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.watchers, id)
	}
}

func (f *feed[E]) emit(ctx context.Context, e E) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.watchers {
		w(ctx, e)
	}
}

func (f *feed[E]) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.watchers)
}
