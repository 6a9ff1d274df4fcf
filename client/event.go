package client

import (
	"sync"
	"time"
)

// Event is one of Disconnected, Reconnected, Dropped, Closing and AuthRequired.
type Event interface{ event() }

// Disconnected: the connection was lost. Reconnecting says whether the client will try again.
type Disconnected struct {
	Err          error
	Reconnecting bool
}

// Reconnected: the connection is back and the services are registered again under new ids.
type Reconnected struct {
	Services map[string]string // old id to new id
	Failed   map[string]error  // by old id: why the relay refused to have it again; it is unregistered now
}

// Dropped: the relay, or this client because a handler is too slow, dropped notifications.
type Dropped struct {
	ServiceID string
	Count     uint64
}

// Closing: the relay announces that it will close the connection.
type Closing struct {
	Reason         string // frameTooLarge, protocolErrors, slowConsumer, superseded, shutdown, …
	Message        string
	Grace          time.Duration // until then requests in flight may finish; 0 if not said
	ReconnectAfter time.Duration // when to come back; 0 if not said
}

// AuthRequired: the relay wants this connection to authenticate (again); see Client.Authenticate.
type AuthRequired struct {
	Resource string
	Reason   string
}

func (Disconnected) event() {}
func (Reconnected) event()  {}
func (Dropped) event()      {}
func (Closing) event()      {}
func (AuthRequired) event() {}

// eventsMax is how many events may wait for a slow WithOnEvent function.
const eventsMax = 1024

// events hands events to the application, in order, on a goroutine that exists only while there are any.
type events struct {
	c       *Client
	mu      sync.Mutex
	queue   []Event
	running bool
}

func (e *events) init(c *Client) { e.c = c }

func (e *events) emit(ev Event) {
	if e.c.opt.onEvent == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) >= eventsMax {
		e.c.opt.log.Warn("event dropped: the event function is too slow")
		return
	}
	e.queue = append(e.queue, ev)
	if !e.running {
		e.running = true
		e.c.wg.Add(1)
		go e.run()
	}
}

func (e *events) run() {
	defer e.c.wg.Done()
	for {
		e.mu.Lock()
		batch := e.queue
		e.queue = nil
		if len(batch) == 0 {
			e.running = false
			e.mu.Unlock()
			return
		}
		e.mu.Unlock()
		for _, ev := range batch {
			e.c.opt.onEvent(ev)
		}
	}
}
