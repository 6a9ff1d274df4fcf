package loop

import (
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// patrolMin is the shortest time between two looks after the edges.
const patrolMin = 10 * time.Millisecond

// openEdge lets the core judge a connection that was accepted, and its goroutine begin.
func (r *reactor) openEdge(e *edge) {
	c := e.conn
	id, admitted := r.core.Open(r.enter(), c.info)
	if !admitted {
		e.gone = true
		e.abort()
		return
	}
	c.id = id
	r.place(c)
	e.server.edges.running.Go(e.run)
	r.rearm()
}

// edgeEvents carries out what has happened to an edge. It is the OnTraffic and OnClose of edges.
func (r *reactor) edgeEvents(e *edge) {
	e.mu.Lock()
	events, data, fault := e.events, e.in.buf[e.in.taken:e.in.filled], e.fault
	e.events, e.posted = 0, false
	e.mu.Unlock()
	if e.gone {
		return
	}
	c, now := e.conn, r.enter()
	measure := r.turns.due(len(data)) || events&^(eventRead|eventRoom) != 0
	if events&eventOpened != 0 {
		r.core.Certify(now, c.id, e.names)
		e.opened()
	}
	if len(data) > 0 {
		r.receive(c, data)
		e.consumed(len(data))
		r.unflushed += len(data)
	}
	if events&eventViolated != 0 {
		r.core.Violate(now, c.id, fault)
	}
	if events&eventRoom != 0 {
		if e.stuck {
			e.stuck = false
			r.core.Moving(now, c.id)
		}
		c.blocked = false
		r.settling = true
		r.flushEdge(c)
		r.settling = false
	}
	switch {
	case e.gone:
	case events&eventFailed != 0:
		r.closeEdge(c)
	case events&eventEnded != 0:
		r.endEdge(c)
	case events == eventRead && r.unflushed < flushBytes && (r.flushing || r.core.DirtyCount() > 1):
		r.flushLater()
		r.endIf(measure, now)
		return
	}
	r.settle()
	r.endIf(measure || c.blocked, now)
}

// flushEdge gives an edge what the core has for it, as much as it takes, and carries out what the core
// wants with it then.
func (r *reactor) flushEdge(c *conn) {
	e := c.edge
	for !e.gone {
		take := r.core.Take
		if e.busy(false) {
			take = r.core.TakeHeld
		}
		out, step := take(c.id)
		switch {
		case len(out) > 0:
			if c.blocked {
				return
			}
			n := e.put(out)
			r.patrolLater()
			r.core.Wrote(r.now, c.id, n)
			if n < len(out) {
				c.blocked = true
				return
			}
		case !e.out.open && step != relay.Keep:
			r.closeEdge(c)
		case step == relay.Close:
			if !e.ended || !e.farewell() {
				r.closeEdge(c)
			}
			return
		case step == relay.Wait:
			if e.busy(true) {
				return
			}
		case step == relay.Shut:
			e.shut = true
			e.shutDown()
			return
		default:
			return
		}
	}
}

// patrolLater sees to it that the edges are looked after, as long as there is anything to be sent.
func (r *reactor) patrolLater() {
	if !r.patrolling {
		r.patrolling = true
		time.AfterFunc(max(r.stall/4, patrolMin), func() { _ = r.execute(r.patrol) })
	}
}

// patrol tells the core of edges that are stuck. A write that waits would not.
func (r *reactor) patrol() {
	now := r.enter()
	r.patrolling = false
	for _, c := range r.conns {
		if c == nil || c.edge == nil || !c.edge.busy(false) {
			continue
		}
		r.patrolLater()
		if c.edge.stuck {
			continue
		}
		if since, stuck := c.edge.stalled(now - r.stall/4); stuck {
			c.edge.stuck = true
			r.core.Stuck(now, since, c.id)
		}
	}
	r.settle()
}

// endEdge tells the core that the peer has shut down its sending side.
func (r *reactor) endEdge(c *conn) {
	c.edge.ended = true
	if c.edge.busy(false) {
		r.core.HalfClosedHeld(r.now, c.id)
	} else {
		r.core.HalfClosed(r.now, c.id)
	}
}

// closeEdge ends an edge from our side, or notes that it has ended.
func (r *reactor) closeEdge(c *conn) {
	c.edge.gone = true
	c.edge.abort()
	r.gone(c)
}
