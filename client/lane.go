package client

import "runtime/debug"

const (
	notesMax      = 65536    // notifications that may wait for one service
	notesBytesMax = 16 << 20 // and their size
	spareItems    = 4096     // longest queue that is kept for reuse
)

// lane holds what has to be handled one after the other: the notifications of a service or, if it is
// ordered, everything from one sender. Service.mu guards it.
type lane struct {
	queue   []item
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

// push appends it to q; start says that the lane has to be run. A notification that does not fit is
// dropped and counted. s.mu is held.
func (s *Service) push(q *lane, it item) (start bool) {
	start = !q.running
	q.running = true
	switch {
	case it.note == nil && it.job == nil: // reports add up
		q.lost += it.lost
		return start
	case it.note == nil:
	case s.waiting >= notesMax || s.waitingBytes+it.size > notesBytesMax && s.waiting > 0:
		q.lost++
		return start
	default:
		s.waiting++
		s.waitingBytes += it.size
	}
	if q.lost > 0 {
		q.queue = append(q.queue, item{lost: q.lost})
		q.lost = 0
	}
	q.queue = append(q.queue, it)
	return start
}

// take returns everything that waits in q, which goes on with the spare slice; nothing means that the
// lane has stopped. s.mu is held.
func (s *Service) take(q *lane, spare []item) []item {
	batch := q.queue
	q.queue = spare
	if q.lost > 0 {
		batch = append(batch, item{lost: q.lost})
		q.lost = 0
	}
	for i := range batch {
		if batch[i].note != nil {
			s.waiting--
			s.waitingBytes -= batch[i].size
		}
	}
	q.running = len(batch) > 0
	return batch
}

// enqueue hands a request to the handlers; false if there is no room for it.
func (s *Service) enqueue(j *job) bool {
	p := &s.c.pool
	if !p.admit(j.size) {
		return false
	}
	if s.ordered {
		s.receive(j.req.Sender, item{job: j, link: j.l, size: j.size})
		return true
	}
	p.run(func() {
		j.handle()
		p.done(j.size)
	})
	return true
}

// receive puts an item into its lane.
func (s *Service) receive(sender string, it item) {
	if !s.ordered {
		sender = ""
	}
	s.mu.Lock()
	q := s.lanes[sender]
	if q == nil {
		q = &lane{}
		s.lanes[sender] = q
	}
	start := s.push(q, it)
	s.mu.Unlock()
	switch {
	case start && s.ordered:
		s.c.pool.run(func() { s.runLane(sender, q) })
	case start:
		s.c.wg.Add(1)
		go func() {
			defer s.c.wg.Done()
			s.runLane(sender, q)
		}()
	}
}

// runLane handles what is in a lane and removes the lane when it is empty.
func (s *Service) runLane(sender string, q *lane) {
	var batch []item
	for {
		s.mu.Lock()
		batch = s.take(q, batch)
		if len(batch) == 0 {
			delete(s.lanes, sender)
		}
		s.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for i := range batch {
			s.handle(&batch[i])
		}
		if clear(batch); cap(batch) > spareItems {
			batch = nil
		}
		batch = batch[:0]
	}
}

func (s *Service) handle(it *item) {
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

// protect contains the panic of a notification function.
func (s *Service) protect(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.c.opt.log.Error("a notification function panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	f()
}
