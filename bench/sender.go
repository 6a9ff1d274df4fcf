package bench

// sender writes its ring over and over. Frames count as sent once they are handed to the socket, which
// writes all of them before the next.
type sender struct {
	engine   *engine
	sock     *socket
	ring     ring
	sent     uint64
	batch    int     // bytes a write at most; a larger frame goes alone
	receipts bool    // the server confirms each message
	free     bool    // not held back by the window: its receiver may never read
	every    int64   // nanoseconds between two messages; 0: as fast as the window allows
	due      int64   // when the next one is, with every
	stamps   []int64 // when each place of the ring was last sent; nil: not timed
}

// send writes up to frames messages in one write and returns how many it was.
func (s *sender) send(frames int) (int, error) {
	if len(s.sock.out) > 0 || s.sock.blocked {
		return 0, nil
	}
	first := s.ring.idx
	chunk, n := s.ring.take(frames, s.batch)
	if s.stamps != nil {
		for i := range n {
			s.stamps[first+i] = s.engine.now
		}
	}
	s.sock.out = chunk
	s.sent += uint64(n)
	if s.receipts {
		s.engine.receipts += int64(n)
	}
	return n, s.sock.flush()
}
