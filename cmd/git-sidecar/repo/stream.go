package repo

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// StreamedBytesMin is the size up to which an object is unpacked as a whole; a longer one is read through a
// stream of its own, at the price of a process and of what lies before the part.
const StreamedBytesMin = 4 << 20

const (
	streamsMax    = 4 // streams of a repository in use; those that wait give way to them
	streamIdleMax = 30 * time.Second
)

// streams reads parts of big objects. git cannot start in the middle of an object, so a stream that has
// given one part waits a while for the question about the next: a client that reads a big blob range by range
// makes git unpack it once, not once per range.
type streams struct {
	git   *git
	slot  chan struct{} // one token per stream in use
	mu    sync.Mutex
	idle  []*stream // oldest first
	ended bool
}

// stream is one `git cat-file TYPE OID` that has been read up to pos.
type stream struct {
	oid    OID
	pos    int64
	proc   *process
	expiry *time.Timer
}

func newStreams(g *git) *streams {
	return &streams{git: g, slot: make(chan struct{}, streamsMax)}
}

// read returns length bytes from offset of an object that has at least offset+length.
func (s *streams) read(ctx context.Context, object Object, offset, length int64) ([]byte, error) {
	select {
	case s.slot <- struct{}{}:
		defer func() { <-s.slot }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	st, err := s.take(object, offset)
	if err != nil {
		return nil, err
	}
	unhook := context.AfterFunc(ctx, func() { st.proc.cmd.Process.Kill() })
	data, err := st.read(offset, length)
	if !unhook() || err != nil {
		complaint := st.proc.stop()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("read object %s: %w%s", object.OID, err, complaint)
	}
	s.give(st, object.Size)
	return data, nil
}

// read skips to offset and reads length bytes.
func (st *stream) read(offset, length int64) ([]byte, error) {
	if _, err := io.CopyN(io.Discard, st.proc.out, offset-st.pos); err != nil {
		return nil, err
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(st.proc.out, data); err != nil {
		return nil, err
	}
	st.pos = offset + length
	return data, nil
}

// take returns the waiting stream of the object that is nearest before offset, or a new one.
func (s *streams) take(object Object, offset int64) (*stream, error) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	best := -1
	for i, st := range s.idle {
		if st.oid == object.OID && st.pos <= offset && (best < 0 || st.pos > s.idle[best].pos) {
			best = i
		}
	}
	if best >= 0 {
		st := s.idle[best]
		s.idle = slices.Delete(s.idle, best, best+1)
		s.mu.Unlock()
		st.expiry.Stop()
		return st, nil
	}
	surplus := s.idle[:max(0, min(len(s.idle), len(s.idle)+len(s.slot)-streamsMax))]
	surplus = slices.Clone(surplus)
	s.idle = slices.Delete(s.idle, 0, len(surplus))
	s.mu.Unlock()
	for _, st := range surplus {
		st.expiry.Stop()
		st.proc.stop()
	}
	proc, err := startProcess(s.git, object.Type, string(object.OID))
	if err != nil {
		return nil, err
	}
	return &stream{oid: object.OID, proc: proc}, nil
}

// give keeps st for the next part, unless the object is at its end.
func (s *streams) give(st *stream, size int64) {
	s.mu.Lock()
	keep := st.pos < size && !s.ended
	if keep {
		s.idle = append(s.idle, st)
		st.expiry = time.AfterFunc(streamIdleMax, func() { s.expire(st) })
	}
	s.mu.Unlock()
	if !keep {
		st.proc.stop()
	}
}

// expire ends st if nobody has taken it meanwhile.
func (s *streams) expire(st *stream) {
	s.mu.Lock()
	at := slices.Index(s.idle, st)
	if at >= 0 {
		s.idle = slices.Delete(s.idle, at, at+1)
	}
	s.mu.Unlock()
	if at >= 0 {
		st.proc.stop()
	}
}

// close ends the streams that wait; those in use end with their reader.
func (s *streams) close() {
	s.mu.Lock()
	idle := s.idle
	s.idle, s.ended = nil, true
	s.mu.Unlock()
	for _, st := range idle {
		st.expiry.Stop()
		st.proc.stop()
	}
}
