//go:build linux

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
	free     bool    // not held back by the window, nor counted: its receiver may never read
	every    int64   // nanoseconds between two messages; 0: as fast as the window allows
	due      int64   // when the next one is, with every
	piece    int     // bytes a write when a message goes out in parts; 0: whole
	rest     []byte  // of that message
	off      bool    // sends nothing for now
	stamps   []int64 // when each place of the ring was last sent; nil: not timed
}

// send writes up to frames messages in one write and returns how many it was. With piece it is one
// message, of which a part goes out, and calls that go on with it return 0.
func (s *sender) send(frames int) (int, error) {
	if s.piece > 0 {
		return s.sendPiece()
	}
	first := s.ring.idx
	chunk, n := s.ring.take(frames, s.batch)
	if s.stamps != nil {
		for i := range n {
			s.stamps[first+i] = s.engine.now
		}
	}
	s.sock.out = chunk
	s.count(n)
	return n, s.sock.flush()
}

func (s *sender) sendPiece() (n int, err error) {
	if len(s.rest) == 0 {
		s.rest, n = s.ring.take(1, 0)
		s.count(n)
	}
	part := min(s.piece, len(s.rest))
	s.sock.out, s.rest = s.rest[:part], s.rest[part:]
	return n, s.sock.flush()
}

// ready reports whether the kernel has taken everything before.
func (s *sender) ready() bool { return len(s.sock.out) == 0 }

// begun reports whether a message has been sent in part.
func (s *sender) begun() bool { return len(s.rest) > 0 }

func (s *sender) count(n int) {
	s.sent += uint64(n)
	if s.receipts {
		s.engine.receipts += int64(n)
	}
}
