package loop

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/ahprelay/ahprelay/relay"
)

// An edge is a connection that is not a plain byte stream from the kernel: TLS, a WebSocket, or both.
//
// It has a goroutine that reads, and one that writes while there is something to write. They meet the
// loop in two small buffers: what was read waits in the intake until the loop has it, and the reader
// waits with it; what the core has for the peer goes into the outlet as far as there is room, the rest
// stays in the core, which so judges a slow peer as it does with every other transport. To the core the
// connection begins when it is accepted: the limits of connections and the handshake timeout hold from
// then on.
//
// The fields above mu belong to the loop, once run has begun.
type edge struct {
	server  *Server
	conn    *conn
	gone    bool // the core knows it no more
	ended   bool // the peer has shut down its sending side
	shut    bool // so have we, or are about to
	leaving bool // which is all that is left to do
	stuck   bool // the core thinks so

	raw    *net.TCPConn
	secure *tls.Conn  // nil: plain
	stream net.Conn   // secure or raw
	socket *webSocket // nil: no WebSocket; set by the reader before it posts eventOpened
	names  []string   // of the client certificate; likewise

	mu     sync.Mutex
	moved  sync.Cond // the reader waits for room in the intake
	events event
	posted bool // the loop will come and look
	dead   bool // raw is closed
	in     intake
	fault  string // what eventViolated is about
	out    outlet
}

// event is a set of things that happened to an edge since the loop looked.
type event uint8

const (
	eventOpened   event = 1 << iota // its handshakes are done
	eventRead                       // there is something in the intake
	eventRoom                       // the outlet takes more, or has sent everything, and the loop asked for it
	eventViolated                   // the peer broke the rules of the transport
	eventEnded                      // the peer has shut down its sending side
	eventFailed                     // the connection is of no use any more
)

// admit makes an edge of a connection and has the loop open it.
func (s *Server) admit(l *listener, nc *net.TCPConn, info relay.PeerInfo) {
	e := &edge{server: s, raw: nc, stream: nc}
	e.moved.L = &e.mu
	e.conn = &conn{info: info, fd: -1, edge: e}
	if l.secure() {
		e.secure = tls.Server(nc, s.certificates.Load().config[l.scheme])
		e.stream = e.secure
	}
	if l.scheme == "ws" || l.scheme == "wss" {
		e.out.framed = true
	}
	s.edges.add(e)
	if s.reactor.later(func() { s.reactor.openEdge(e) }) != nil {
		e.abort()
	}
}

// run takes the connection through its handshakes. What reads from then on is another goroutine: the
// stack that a handshake needs is much larger.
func (e *edge) run() {
	if err := e.handshake(); err != nil {
		e.end(err)
		return
	}
	e.post(eventOpened)
	e.server.edges.running.Go(func() { e.end(e.readAll()) })
}

// end tells the loop that nothing more comes, and why.
func (e *edge) end(err error) {
	switch {
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		e.post(eventEnded)
	default:
		e.server.log.Debug("connection failed", "remote", e.conn.info.Remote, "transport", e.conn.info.Transport, "error", err)
		e.post(eventFailed)
	}
}

// handshake makes everything ready that comes before the first message.
func (e *edge) handshake() error {
	if e.secure != nil {
		if err := e.secure.Handshake(); err != nil { // the core's timeouts close raw
			return err
		}
		e.names = certNames(e.secure.ConnectionState())
	}
	if !e.out.framed {
		return nil
	}
	socket, err := e.upgrade()
	e.socket = socket
	return err
}

// readAll moves what the peer sends into the intake. It returns how that ended.
func (e *edge) readAll() error {
	read := e.stream.Read
	if e.socket != nil {
		read = e.socket.Read
	}
	for {
		b := e.room()
		if b == nil {
			return net.ErrClosed
		}
		n, err := read(b)
		if n > 0 {
			e.filled(n)
		}
		var v violation
		switch {
		case errors.As(err, &v):
			e.mu.Lock()
			e.fault = string(v)
			e.mu.Unlock()
			e.post(eventViolated) // and go on: what still comes is discarded
		case err != nil:
			return err
		}
	}
}

// post makes the loop look at e.
func (e *edge) post(what event) {
	e.mu.Lock()
	e.events |= what
	e.raise()
}

// raise unlocks e, which has got an event, and calls the loop unless it will come anyway.
func (e *edge) raise() {
	call := !e.posted
	e.posted = true
	e.mu.Unlock()
	if call && e.server.reactor.loop.Execute(context.Background(), e) != nil {
		e.abort()
	}
}

// Run is what the loop executes.
func (e *edge) Run(context.Context) error {
	e.server.reactor.edgeEvents(e)
	return nil
}

// abort ends the connection at once. The goroutines end on their own.
func (e *edge) abort() {
	e.mu.Lock()
	first := !e.dead
	e.dead = true
	e.moved.Broadcast()
	e.mu.Unlock()
	if first {
		_ = e.raw.Close()
		e.server.edges.remove(e)
	}
}

// edges are the edges that are alive, and their goroutines.
type edges struct {
	running sync.WaitGroup
	mu      sync.Mutex
	all     map[*edge]struct{}
}

func (s *edges) add(e *edge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*edge]struct{}{}
	}
	s.all[e] = struct{}{}
}

func (s *edges) remove(e *edge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, e)
}

// end aborts every edge and waits for the goroutines. The loop has stopped by now.
func (s *edges) end() {
	s.mu.Lock()
	var left []*edge
	for e := range s.all {
		left = append(left, e)
	}
	s.mu.Unlock()
	for _, e := range left {
		e.abort()
	}
	s.running.Wait()
}
