package rpc

import "time"

// WithProbe makes the host ask after d of silence where a subscriber is.
func WithProbe(d time.Duration) Option { return func(o *options) { o.probe = d } }

// Holds returns what the host holds: sessions, granted objects, references to them, and subscriptions.
func (h *Host) Holds() (sessions, objects, references, subscriptions int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.guests {
		g.mu.Lock()
		sessions++
		objects += len(g.grants)
		for _, n := range g.grants {
			references += n.count
		}
		subscriptions += len(g.publishers)
		g.mu.Unlock()
	}
	return
}

// SessionID returns the id of the session's service, "" if there is none.
func (c *Conn) SessionID() string {
	c.opening <- struct{}{}
	defer func() { <-c.opening }()
	if c.current == nil || c.current.alive() != nil {
		return ""
	}
	return c.current.service.ID()
}

// Receivers returns how many subscriptions the Conn has.
func (c *Conn) Receivers() int {
	c.opening <- struct{}{}
	defer func() { <-c.opening }()
	if c.current == nil {
		return 0
	}
	c.current.mu.Lock()
	defer c.current.mu.Unlock()
	return len(c.current.receivers)
}

var WireName = wireName
