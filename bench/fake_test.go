//go:build linux

package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-json"
)

// fault is what a fake relay does wrong, once, at its message number at.
type fault struct {
	kind string
	at   int
}

// fake is a small relay: one lock, one goroutine a connection and one for its output.
type fake struct {
	t        *testing.T
	fault    fault
	queueMax int // bytes of output; beyond, notifications are dropped. 0: unbounded

	mu       sync.Mutex
	services map[string]*fakeService
	conns    map[*fakeConn]bool
	calls    map[int]fakeCall
	ids      int
	seq      uint64
	messages int
	held     func() // delivers a message that is to come late
	heldFor  string // after the next from the same sender to the same service
}

type fakeService struct {
	id    string
	owner *fakeConn
}

type fakeCall struct {
	id     json.RawMessage
	caller *fakeConn
}

type fakeConn struct {
	net.Conn
	name     string
	observes bool
	cond     *sync.Cond // of fake.mu
	out      []byte
	closed   bool
	dropped  map[string]int
}

// Name, Version and Supports implement System.
func (f *fake) Name() string       { return "fake" }
func (f *fake) Version() string    { return "1" }
func (f *fake) Supports(Need) bool { return true }

// Start implements System: every repetition gets a relay of its own.
func (f *fake) Start(context.Context, Setting) (*Instance, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	one := &fake{t: f.t, fault: f.fault, queueMax: f.queueMax, services: map[string]*fakeService{}, conns: map[*fakeConn]bool{}, calls: map[int]fakeCall{}, seq: 1_000_000}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c := &fakeConn{Conn: conn, cond: sync.NewCond(&one.mu), dropped: map[string]int{}}
			one.mu.Lock()
			one.conns[c] = true
			one.mu.Unlock()
			running.Go(func() { one.read(c) })
			running.Go(func() { one.write(c) })
		}
	})
	stop := func() error {
		err := l.Close()
		one.mu.Lock()
		for c := range one.conns {
			c.Close()
		}
		one.mu.Unlock()
		running.Wait()
		return err
	}
	return &Instance{Addr: "tcp://" + l.Addr().String(), PID: os.Getpid(), Dialect: AHP{}, Stop: stop}, nil
}

func (f *fake) write(c *fakeConn) {
	for {
		f.mu.Lock()
		for len(c.out) == 0 && !c.closed {
			c.cond.Wait()
		}
		out, closed := c.out, c.closed
		if closed {
			f.mu.Unlock()
			return
		}
		f.mu.Unlock()
		n, err := c.Write(out[:min(len(out), 32<<10)])
		f.mu.Lock()
		c.out = c.out[n:]
		f.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (f *fake) read(c *fakeConn) {
	in := bufio.NewReaderSize(c, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		f.mu.Lock()
		f.handle(c, line)
		f.mu.Unlock()
	}
	c.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	c.closed = true
	c.cond.Broadcast()
	delete(f.conns, c)
	for i := range f.ids + 1 {
		if s := f.services[fmt.Sprintf("fake-%05d", i)]; s != nil && s.owner == c {
			delete(f.services, s.id)
			f.act(`{"type":"clientService/removed","serviceId":"` + s.id + `"}`)
		}
	}
}

type fakeLine struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Params struct {
		ClientID  string          `json:"clientId"`
		Subscribe []string        `json:"initialSubscriptions"`
		ServiceID string          `json:"serviceId"`
		Method    string          `json:"method"`
		Params    json.RawMessage `json:"params"`
		Metadata  json.RawMessage `json:"metadata"`
	} `json:"params"`
}

func (f *fake) handle(c *fakeConn, line []byte) {
	var m fakeLine
	if err := json.Unmarshal(line, &m); err != nil {
		f.t.Errorf("the generator sent %q: %v", line, err)
		return
	}
	p := &m.Params
	if strings.HasPrefix(m.Method, "clientService/") && f.services[p.ServiceID] == nil {
		return // its owner has left
	}
	switch m.Method {
	case "initialize":
		c.name = p.ClientID
		snapshots := "[]"
		if len(p.Subscribe) > 0 {
			c.observes = true
			snapshots = fmt.Sprintf(`[{"resource":"ahp-client-services://","state":{"services":[]},"fromSeq":%d}]`, f.seq)
		}
		f.say(c, `{"jsonrpc":"2.0","id":%s,"result":{"snapshots":%s}}`, m.ID, snapshots)
	case "client/registerService":
		s := &fakeService{id: fmt.Sprintf("fake-%05d", f.ids), owner: c}
		f.ids++
		f.services[s.id] = s
		f.say(c, `{"jsonrpc":"2.0","id":%s,"result":{"serviceId":"%s"}}`, m.ID, s.id)
		f.set(s, p.Metadata)
	case "client/updateService":
		f.say(c, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		f.set(f.services[p.ServiceID], p.Metadata)
	case "clientService/notify":
		to := f.services[p.ServiceID].owner
		f.deliver(c, to, p.ServiceID, fmt.Sprintf(`{"jsonrpc":"2.0","method":"clientService/notification","params":{"channel":"ahp-client-services://","serviceId":"%s","senderClientId":"%s","method":"%s","params":%s}}`+"\n",
			p.ServiceID, c.name, p.Method, p.Params))
	case "clientService/request":
		id := len(f.calls) + 1
		f.calls[id] = fakeCall{id: m.ID, caller: c}
		f.deliver(c, f.services[p.ServiceID].owner, p.ServiceID, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"clientService/handleRequest","params":{"channel":"ahp-client-services://","serviceId":"%s","senderClientId":"%s","method":"%s","params":%s,"timeoutMs":%d}}`+"\n",
			id, p.ServiceID, c.name, p.Method, p.Params, 30000-id%7))
	case "":
		var id int
		if err := json.Unmarshal(m.ID, &id); err != nil {
			f.t.Errorf("the generator answered with id %s", m.ID)
		}
		f.say(f.calls[id].caller, `{"jsonrpc":"2.0","id":%s,"result":%s}`, f.calls[id].id, m.Result)
	default:
		f.t.Errorf("the generator sent %q", line)
	}
}

func (f *fake) set(s *fakeService, metadata []byte) {
	f.act(fmt.Sprintf(`{"type":"clientService/set","service":{"serviceId":"%s","clientId":"%s","metadata":%s}}`, s.id, s.owner.name, metadata))
}

func (f *fake) act(action string) {
	f.seq++
	for c := range f.conns {
		if c.observes {
			f.say(c, `{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-client-services://","action":%s,"serverSeq":%d}}`, action, f.seq)
		}
	}
}

func (f *fake) say(c *fakeConn, format string, args ...any) {
	c.out = append(fmt.Appendf(c.out, format, args...), '\n')
	c.cond.Broadcast()
}

// deliver sends a message, with the fault when it is its turn.
func (f *fake) deliver(from, to *fakeConn, service, text string) {
	f.messages++
	send := func(text string) {
		if f.queueMax > 0 && len(to.out) > f.queueMax {
			to.dropped[service]++
			return
		}
		if n := to.dropped[service]; n > 0 {
			to.dropped[service] = 0
			f.say(to, `{"jsonrpc":"2.0","method":"x-relay/dropped","params":{"channel":"ahp-client-services://","serviceId":"%s","count":%d}}`, service, n)
		}
		to.out = append(to.out, text...)
		to.cond.Broadcast()
	}
	if f.held != nil && f.heldFor == from.name+service {
		send(text)
		f.held()
		f.held = nil
		return
	}
	if f.messages != f.fault.at {
		send(text)
		return
	}
	switch f.fault.kind {
	case "lose":
	case "repeat":
		send(text + text)
	case "swap":
		f.held, f.heldFor = func() { send(text) }, from.name+service
	case "corrupt":
		b := []byte(text)
		b[bytes.Index(b, []byte(`"n":1`))+7] ^= 1
		send(string(b))
	case "close":
		f.say(to, `{"jsonrpc":"2.0","method":"x-relay/closing","params":{"channel":"ahp-root://","reason":"slowConsumer","message":"too slow"}}`)
	default:
		send(text)
	}
}
