package client

import (
	"runtime/debug"
	"sync"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
)

const (
	notesMax      = 65536    // notifications that may wait in one lane
	notesBytesMax = 16 << 20 // and their size
)

// lane holds what has to be handled one after the other.
type lane struct {
	mu      sync.Mutex
	queue   []item
	notes   int    // waiting notifications
	bytes   int    // their size
	lost    uint64 // notifications dropped since the last one that was accepted
	running bool
}

// item is a request, a notification, or a report of lost ones.
type item struct {
	job  *job
	note *Notification
	link *link
	size int
	lost uint64
}

// push appends it; start says that the lane has to be run. A notification that does not fit is dropped
// and counted.
func (q *lane) push(it item) (start bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if it.note != nil {
		if q.notes >= notesMax || q.bytes+it.size > notesBytesMax && q.notes > 0 {
			q.lost++
			return false
		}
		q.notes++
		q.bytes += it.size
	}
	if q.lost > 0 {
		q.queue = append(q.queue, item{lost: q.lost, link: it.link})
		q.lost = 0
	}
	q.queue = append(q.queue, it)
	start = !q.running
	q.running = true
	return start
}

// take returns everything that waits; nothing means that the lane has stopped.
func (q *lane) take() []item {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch := q.queue
	q.queue, q.notes, q.bytes = nil, 0, 0
	if len(batch) == 0 {
		if q.lost > 0 {
			batch = []item{{lost: q.lost}}
			q.lost = 0
			return batch
		}
		q.running = false
	}
	return batch
}

// enqueue hands a request to the handlers; false if there is no room for it.
func (s *Service) enqueue(j *job) bool {
	p := &s.c.pool
	if !p.admit(j.size) {
		return false
	}
	if !s.ordered {
		p.run(func() {
			j.handle()
			p.done(j.size)
		})
		return true
	}
	s.orderly(j.req.Sender, item{job: j, link: j.l, size: j.size})
	return true
}

// orderly puts an item into the lane of its sender.
func (s *Service) orderly(sender string, it item) {
	s.mu.Lock()
	q := s.lanes[sender]
	if q == nil {
		q = &lane{}
		s.lanes[sender] = q
	}
	start := q.push(it)
	s.mu.Unlock()
	if start {
		s.c.pool.run(func() { s.runOrdered(sender, q) })
	}
}

// runOrdered handles what is in a sender's lane and removes the lane when it is empty.
func (s *Service) runOrdered(sender string, q *lane) {
	for {
		s.mu.Lock()
		batch := q.take()
		if len(batch) == 0 {
			delete(s.lanes, sender)
		}
		s.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		s.handle(batch)
	}
}

// runNotes handles the service's notifications.
func (s *Service) runNotes() {
	defer s.c.wg.Done()
	for {
		batch := s.notes.take()
		if len(batch) == 0 {
			return
		}
		s.handle(batch)
	}
}

func (s *Service) handle(batch []item) {
	for i := range batch {
		it := &batch[i]
		switch {
		case it.job != nil:
			it.job.handle()
			s.c.pool.done(it.size)
		case it.note != nil:
			s.protect(func() { s.onNotify(it.link.base, it.note) })
		case s.onDropped != nil:
			s.protect(func() { s.onDropped(it.lost) })
		}
	}
}

// protect contains the panic of a notification function.
func (s *Service) protect(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.c.opt.log.Error("a notification function panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	f()
}

// deliver takes a clientService/notification.
func (l *link) deliver(m *codec.Message, line []byte) error {
	s := l.services[string(unquoted(m.ServiceID.Of(line)))]
	if s == nil || s.onNotify == nil {
		return nil
	}
	n := &Notification{Service: s, Method: l.text(m.Name.Of(line)), Params: payload(m, line)}
	n.Sender, n.SenderPrincipal = l.senders(m, line)
	s.receive(n.Sender, item{note: n, link: l, size: len(line)})
	return nil
}

// receive puts a notification, or a report of lost ones, into its lane.
func (s *Service) receive(sender string, it item) {
	if s.ordered {
		s.orderly(sender, it)
		return
	}
	if s.notes.push(it) {
		s.c.wg.Add(1)
		go s.runNotes()
	}
}

// reportLost passes on the relay's report of dropped notifications. It names no sender.
func (s *Service) reportLost(l *link, count uint64) {
	if s.onDropped != nil {
		s.receive("", item{lost: count, link: l})
	}
}

// payload returns a copy of the application's params.
func payload(m *codec.Message, line []byte) json.RawMessage {
	raw := m.Payload.Of(line)
	if raw == nil {
		return json.RawMessage("null")
	}
	return append(json.RawMessage(nil), raw...)
}

// unquoted returns the text of a raw JSON string without escapes, which is how the relay spells ids.
func unquoted(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	return raw[1 : len(raw)-1]
}

// textsMax is how many strings a link remembers.
const textsMax = 1024

// text decodes a raw JSON string. Method names and clientIds repeat, so the link remembers them.
func (l *link) text(raw []byte) string {
	if s, ok := l.texts[string(raw)]; ok {
		return s
	}
	text, _ := codec.Unquote(nil, raw)
	s := string(text)
	if len(raw) <= 512 {
		if len(l.texts) >= textsMax {
			clear(l.texts)
		}
		l.texts[string(raw)] = s
	}
	return s
}

// senders returns the members that the relay stamps. They come before the application's params, which
// therefore are not walked through to find them.
func (l *link) senders(m *codec.Message, line []byte) (client, principal string) {
	params := m.Params.Of(line)
	if !m.Payload.Absent() {
		params = line[m.Params.Off:m.Payload.Off]
	}
	members := codec.ObjectMembers(params)
	for name, value, ok := members.Next(); ok; name, value, ok = members.Next() {
		switch {
		case codec.EqualString(name, "senderClientId"):
			client = l.text(value)
		case codec.EqualString(name, "senderPrincipal"):
			principal = l.text(value)
		}
	}
	return client, principal
}
