//go:build linux

package bench

import (
	"fmt"
	"math/rand/v2"
)

// cast is the members of a trial, connected and introduced, with the engine that drives them.
type cast struct {
	*Trial
	engine    *engine
	senders   []*Member
	receivers []*Member
	services  []*Service
	sockets   map[*Conn]*socket
	lanes     map[*Member][]*lane
	sources   []*sender
}

// assemble connects all members of the trial.
func assemble(t *Trial) (*cast, error) {
	e, err := newEngine()
	if err != nil {
		return nil, err
	}
	c := &cast{Trial: t, engine: e, sockets: map[*Conn]*socket{}, lanes: map[*Member][]*lane{}}
	if err := c.join(); err != nil {
		e.close()
		return nil, err
	}
	return c, nil
}

func (c *cast) join() error {
	calls := c.Outstanding > 0
	for i := range c.Receivers {
		m := &Member{Name: fmt.Sprintf("r%s-%05d", c.Tag, i), Pair: c.pair(i), Receives: true, Sends: calls, Calls: calls}
		for j := i; j < c.Scenario.services(); j += c.Receivers {
			m.Services = append(m.Services, &Service{Index: j, Owner: m})
		}
		if err := c.admit(m); err != nil {
			return err
		}
		c.receivers = append(c.receivers, m)
	}
	c.services = make([]*Service, c.Scenario.services())
	for _, m := range c.receivers {
		for _, s := range m.Services {
			c.services[s.Index] = s
		}
	}
	for i := range c.Senders {
		m := &Member{Name: fmt.Sprintf("s%s-%05d", c.Tag, i), Pair: c.pair(i), Sends: true, Receives: calls, Calls: calls}
		if err := c.admit(m); err != nil {
			return err
		}
		c.senders = append(c.senders, m)
	}
	return nil
}

func (c *cast) pair(i int) int {
	if c.Need == NeedRoutes {
		return -1
	}
	return i
}

// admit lets m join and takes its descriptors.
func (c *cast) admit(m *Member) error {
	err := c.Instance.Dialect.Join(m, c.Instance.Addr)
	for _, conn := range []*Conn{m.Tx, m.Rx} {
		switch {
		case conn == nil || c.sockets[conn] != nil:
		case err != nil:
			_ = conn.Close() // why it could not join is what matters; a second close does no harm
		default:
			err = c.take(m, conn)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	return nil
}

// take moves a connection that has joined into the engine's loop.
func (c *cast) take(m *Member, conn *Conn) error {
	fd, rest, err := conn.release()
	if err != nil {
		return err
	}
	s, err := c.engine.poll.add(fd)
	if err != nil {
		return err
	}
	small := &chatter{name: m.Name, dialect: c.Instance.Dialect, engine: c.engine}
	s.sink, c.sockets[conn] = small, s
	if err := small.accept(rest); err != nil {
		return err
	}
	if len(small.tail) > 0 {
		return fmt.Errorf("joining: the server said more than was asked: %s", quote(small.tail))
	}
	return nil
}

// script writes everybody's frames.
func (c *cast) script() {
	bodies := makeBodies(c.Kind, c.Size, min(c.places(), 1024))
	for i, m := range c.senders {
		if c.Outstanding > 0 {
			c.scriptCalls(i, m, bodies)
		} else {
			c.scriptNotes(i, m, bodies)
		}
	}
	for _, m := range c.receivers {
		if c.lanes[m] != nil {
			c.receive(m)
		}
	}
	if c.Outstanding > 0 {
		for _, m := range c.senders {
			c.receive(m)
		}
	}
}

// receive puts a receiver with m's lanes behind m's incoming connection.
func (c *cast) receive(m *Member) *receiver {
	sock := c.sockets[m.Rx]
	r := &receiver{name: m.Name, engine: c.engine, sock: sock, dialect: c.Instance.Dialect, lanes: c.lanes[m]}
	sock.sink = r
	return r
}

func (c *cast) scriptNotes(i int, m *Member, bodies [][]byte) {
	rng := rand.New(rand.NewPCG(7, uint64(i)))
	d := c.Instance.Dialect
	s := c.source(m)
	lanes := map[*Member]*lane{}
	for place := range c.places() {
		to := i
		if c.Target != nil {
			to = c.Target(rng, i, place)
		}
		service := c.services[to]
		body := bodies[place%len(bodies)]
		stamp(body, i, place)
		s.ring.grow(d.Notify(s.ring.bytes, m, service, body))
		l := lanes[service.Owner]
		if l == nil {
			l = &lane{from: s}
			lanes[service.Owner] = l
			c.lanes[service.Owner] = append(c.lanes[service.Owner], l)
		}
		l.grow(d.Notification(l.bytes, m, service, body))
		l.places = append(l.places, uint32(place))
	}
}

func (c *cast) scriptCalls(i int, m *Member, bodies [][]byte) {
	d := c.Instance.Dialect
	s := c.source(m)
	to := c.services[i]
	answers := &lane{from: s}
	r := &responder{name: to.Owner.Name, engine: c.engine, dialect: d, tx: c.sockets[to.Owner.Tx], receipts: d.Receipt() != nil}
	for place := range c.places() {
		body := bodies[place%len(bodies)]
		stamp(body, i, place)
		s.ring.grow(d.Call(s.ring.bytes, m, to, place, body))
		r.handle = append(r.handle, d.Handle(m, to, place, body))
		r.reply = append(r.reply, d.Reply(m, to, place, body))
		answers.grow(d.Answer(answers.bytes, m, to, place, body))
		answers.places = append(answers.places, uint32(place))
	}
	c.lanes[m] = []*lane{answers}
	c.sockets[to.Owner.Rx].sink = r
}

// source makes m a sender of the engine.
func (c *cast) source(m *Member) *sender {
	s := &sender{engine: c.engine, sock: c.sockets[m.Tx], receipts: c.Instance.Dialect.Receipt() != nil, every: int64(c.Every), piece: c.Piece}
	if c.Latency {
		s.stamps = make([]int64, c.places())
	}
	c.engine.senders = append(c.engine.senders, s)
	c.sources = append(c.sources, s)
	return s
}
