package town

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long a client waits for what must come.
const patience = 20 * time.Second

// Client is one connection. Its reader is a goroutine of its own; everything else may be called from
// anywhere.
type Client struct {
	Name   string
	Number int64 // no other connection of the town has it
	Token  string

	town   *Town
	conn   *net.TCPConn
	abused atomic.Bool   // something was done to it for which the relay may close it
	paused atomic.Bool   // it does not read
	gone   chan struct{} // closed when the reader has ended
	reason string        // why the relay has closed it; valid once gone
	shaken bool          // the handshake is done; the reader's

	mu       sync.Mutex
	writing  sync.Mutex
	next     int
	pending  map[string]*ask
	catalog  map[string]string // what it sees, by serviceId; nil: it does not look
	lastSeq  uint64
	sent     map[string]int // messages to each service: their numbers grow by one
	never    map[string]int // requests among them that the relay has refused
	owned    map[string]bool
	answered int
}

// ask is a request that waits for its answer.
type ask struct {
	service string
	number  int
	since   time.Time
	answer  chan message // nil: nobody waits
}

var errRefused = errors.New("refused")

// Dial connects and shakes hands: with initialize, or with reconnect where former, the connection that had
// the name before, has a token. look says whether to follow the catalogue.
func (t *Town) Dial(name string, look bool, former *Client) (*Client, error) {
	conn, err := net.DialTimeout("tcp", t.Addr(), 5*time.Second)
	if err != nil {
		return nil, fmt.Errorf("dialling: %w", err)
	}
	c := &Client{Name: name, Number: t.numbers.Add(1), town: t, conn: conn.(*net.TCPConn), gone: make(chan struct{}),
		pending: map[string]*ask{}, sent: map[string]int{}, never: map[string]int{}, owned: map[string]bool{}}
	channels := "[]"
	if look {
		channels = `["ahp-client-services://"]`
	}
	line := `"method":"initialize","params":{"protocolVersions":["1.0.0"],"clientId":"` + name + `","initialSubscriptions":` + channels + `}}`
	if former != nil && former.Token != "" {
		line = `"method":"reconnect","params":{"clientId":"` + name + `","lastSeenServerSeq":` + strconv.FormatUint(former.lastSeq, 10) + `,"subscriptions":` + channels + `,"_meta":{"ahprelay.resumeToken":"` + former.Token + `"}}}`
		if look {
			c.catalog = former.catalog
		}
	}
	t.readers.Add(1)
	go c.read(look)
	answer, err := c.call(line)
	if err == nil && answer.Error != nil {
		err = fmt.Errorf("%w: %d", errRefused, answer.Error.Code)
	}
	if err != nil {
		c.Reset()
		return nil, fmt.Errorf("the handshake of %s: %w", name, err)
	}
	return c, nil
}

// settle takes the result of a handshake in, on the reader's goroutine.
func (c *Client) settle(raw json.RawMessage, look bool) {
	var h handshake
	if err := json.Unmarshal(raw, &h); err != nil {
		c.town.fail("%s gets a handshake %s: %v", c.Name, raw, err)
		return
	}
	c.Token, _ = h.Meta["ahprelay.resumeToken"].(string)
	if !look {
		return
	}
	for _, s := range h.Snapshots {
		c.catalog = map[string]string{}
		c.lastSeq = s.FromSeq
		for _, e := range s.State.Services {
			c.catalog[e.ServiceID] = e.ClientID
		}
	}
	for _, a := range h.Actions {
		c.hear(a.Action, a.ServerSeq)
	}
}

func (c *Client) hear(a action, seq uint64) {
	if seq <= c.lastSeq {
		c.town.fail("%s hears of serverSeq %d after %d", c.Name, seq, c.lastSeq)
	}
	c.lastSeq = seq
	if a.Service != nil {
		c.catalog[a.Service.ServiceID] = a.Service.ClientID
	} else {
		delete(c.catalog, a.ServiceID)
	}
}

// Write sends bytes as they are.
func (c *Client) Write(data []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.conn.SetWriteDeadline(time.Now().Add(patience))
	_, err := c.conn.Write(data)
	if err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// call makes a request of the relay's own and waits for the answer. line is what follows the id.
func (c *Client) call(line string) (message, error) {
	id, a := c.expect(&ask{answer: make(chan message, 1)})
	if err := c.Write([]byte(`{"jsonrpc":"2.0","id":` + id + `,` + line + "\n")); err != nil {
		return message{}, err
	}
	select {
	case m := <-a.answer:
		return m, nil
	case <-c.gone:
		select {
		case m := <-a.answer:
			return m, nil
		default:
			return message{}, fmt.Errorf("closed (%s): %w", c.reason, io.EOF)
		}
	case <-time.After(patience):
		return message{}, errors.New("no answer")
	}
}

func (c *Client) expect(a *ask) (string, *ask) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	id := strconv.Itoa(c.next)
	a.since = time.Now()
	c.pending[id] = a
	return id, a
}

// Ping waits until the relay has handled everything that was sent before.
func (c *Client) Ping() error {
	m, err := c.call(`"method":"ping"}`)
	if err == nil && string(m.Result) != "null" {
		err = fmt.Errorf("ping is answered with %s", m.Result)
	}
	return err
}

// Register offers a service that echoes.
func (c *Client) Register() (string, error) {
	m, err := c.call(`"method":"client/registerService","params":{"metadata":{"protocol":"echo"}}}`)
	var result struct{ ServiceID string }
	if err == nil {
		err = json.Unmarshal(m.Result, &result)
	}
	if err != nil || result.ServiceID == "" {
		return "", fmt.Errorf("registering: %w (%+v)", err, m.Error)
	}
	return result.ServiceID, nil
}

// Unregister takes a service back.
func (c *Client) Unregister(id string) error {
	c.town.retire(id)
	m, err := c.call(`"method":"client/unregisterService","params":{"serviceId":"` + id + `"}}`)
	if err == nil && m.Error != nil {
		err = fmt.Errorf("unregistering: %d", m.Error.Code)
	}
	c.mu.Lock()
	delete(c.owned, id)
	c.mu.Unlock()
	return err
}

// read handles every line until the connection ends.
func (c *Client) read(look bool) {
	defer c.town.readers.Done()
	defer c.end()
	in := bufio.NewReaderSize(c.conn, 64<<10)
	for {
		for c.paused.Load() {
			time.Sleep(5 * time.Millisecond)
		}
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			rest, err2 := in.ReadBytes('\n')
			line, err = append(bytes.Clone(line), rest...), err2
		}
		if err != nil {
			return
		}
		if c.fast(line) {
			continue
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			c.town.fail("%s gets %q: %v", c.Name, line, err)
			return
		}
		if !c.shaken && m.Method == "" && m.Error == nil {
			c.settle(m.Result, look)
			c.shaken = true
		}
		c.handle(&m)
	}
}

// end takes the connection off the books.
func (c *Client) end() {
	_ = c.conn.Close()
	c.mu.Lock()
	for id := range c.owned {
		c.town.retire(id)
	}
	c.mu.Unlock()
	if c.shaken && c.reason != "" && c.reason != "shutdown" && !c.abused.Load() {
		c.town.fail("%s is closed (%s), and has done nothing", c.Name, c.reason)
	}
	close(c.gone)
}

func (c *Client) handle(m *message) {
	switch m.Method {
	case "":
		c.answer(m)
	case "clientService/handleRequest":
		c.serve(m)
	case "action":
		c.mu.Lock()
		c.hear(m.Params.Action, m.Params.ServerSeq)
		c.mu.Unlock()
	case "x-relay/dropped":
		c.town.dropped(c, m.Params.ServiceID, m.Params.Count)
	case "x-relay/closing":
		c.reason = m.Params.Reason
	case "$/cancelRequest":
	default:
		c.town.fail("%s gets %s", c.Name, m.Method)
	}
}

const deliveredHead = `{"jsonrpc":"2.0","method":"clientService/notification","params":{"channel":"ahp-client-services://","serviceId":"`

// fast handles a notification of a service, without decoding it: there are many.
func (c *Client) fast(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte(deliveredHead))
	if !ok {
		return false
	}
	id, rest, _ := bytes.Cut(rest, []byte(`"`))
	_, rest, _ = bytes.Cut(rest, []byte(`"params":`))
	c.town.received(c, string(id), string(bytes.TrimSuffix(rest, []byte("}}\n"))))
	return true
}

// Reset ends the connection with an RST.
func (c *Client) Reset() {
	c.abused.Store(true)
	c.paused.Store(false)
	_ = c.conn.SetLinger(0)
	_ = c.conn.Close()
}

// Close ends the connection as a client does that has nothing more to say.
func (c *Client) Close() {
	c.abused.Store(true)
	c.paused.Store(false)
	_ = c.conn.Close()
}

// Half ends the sending side alone.
func (c *Client) Half() {
	c.abused.Store(true)
	_ = c.conn.CloseWrite()
}

// Stall has the client not read for a while.
func (c *Client) Stall(d time.Duration) {
	c.abused.Store(true)
	c.paused.Store(true)
	time.AfterFunc(d, func() { c.paused.Store(false) })
}

// Gone is closed when the connection has ended.
func (c *Client) Gone() <-chan struct{} { return c.gone }

// Abuse tells the books that something is done to the connection for which the relay may close it.
func (c *Client) Abuse() { c.abused.Store(true) }
