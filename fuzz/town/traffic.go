package town

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Codes that a request to a service may end with while the town is being shaken.
var tolerated = map[int]bool{-32008: true, -32050: true, -32051: true, -32052: true, -32053: true, -32800: true, 7: true}

// Notify sends count notifications to a service in one go.
func (c *Client) Notify(service string, count int) error {
	var b strings.Builder
	c.mu.Lock()
	for range count {
		c.sent[service]++
		b.WriteString(`{"jsonrpc":"2.0","method":"clientService/notify","params":{"serviceId":"` + service + `","method":"n","params":` + payload(c.Number, service, c.sent[service]) + "}}\n")
	}
	c.mu.Unlock()
	c.town.Sent.Add(int64(count))
	return c.Write([]byte(b.String()))
}

// Ask sends a request to a service; whatever comes back is checked as it comes. Of some it thinks better at
// once.
func (c *Client) Ask(service string, cancel bool) error {
	c.mu.Lock()
	c.sent[service]++
	n := c.sent[service]
	c.next++
	id := strconv.Itoa(c.next)
	c.pending[id] = &ask{service: service, number: n, since: time.Now()}
	c.mu.Unlock()
	line := `{"jsonrpc":"2.0","id":` + id + `,"method":"clientService/request","params":{"serviceId":"` + service + `","method":"echo","timeoutMs":1500,"params":` + payload(c.Number, service, n) + "}}\n"
	if cancel {
		line += `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":` + id + "}}\n"
	}
	c.town.Asked.Add(1)
	return c.Write([]byte(line))
}

// answer takes the answer to one of c's requests.
func (c *Client) answer(m *message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.pending[string(m.ID)]
	if a == nil && c.abused.Load() {
		return // to what was written for it as it is
	}
	if a == nil {
		c.town.fail("%s gets an answer to %s, which it does not wait for: %s", c.Name, m.ID, m.Result)
		return
	}
	delete(c.pending, string(m.ID))
	c.answered++
	if a.answer != nil {
		a.answer <- *m
		return
	}
	c.town.Answered.Add(1)
	want := payload(c.Number, a.service, a.number)
	switch {
	case m.Error == nil && string(m.Result) != want:
		c.town.fail("%s gets %s, which is the answer to another request than %s", c.Name, m.Result, want)
	case m.Error != nil && !tolerated[m.Error.Code]:
		c.town.fail("%s gets error %d from %s", c.Name, m.Error.Code, a.service)
	case m.Error != nil && m.Error.Data.Delivered == "never":
		c.never[a.service]++
	case m.Error == nil:
		c.town.Echoed.Add(1)
	}
}

// serve answers a request to one of c's services: mostly at once, some late, some never.
func (c *Client) serve(m *message) {
	params := string(m.Params.Params)
	c.town.received(c, m.Params.ServiceID, params)
	line := `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + params + "}\n"
	switch rand.IntN(40) {
	case 0: // never
	case 1:
		time.AfterFunc(time.Duration(rand.IntN(400))*time.Millisecond, func() { _ = c.Write([]byte(line)) })
	case 2:
		_ = c.Write([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":7,"message":"not today"}}` + "\n"))
	default:
		_ = c.Write([]byte(line))
	}
}

// own notes that a service is c's, before anybody can have used it.
func (c *Client) own(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owned[id] = true
	c.town.offer(id, c)
}

// someService picks a service that c sees, "" for none.
func (c *Client) someService() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.catalog) == 0 {
		return ""
	}
	skip := rand.IntN(min(len(c.catalog), 8))
	for id := range c.catalog {
		if skip--; skip < 0 {
			return id
		}
	}
	return ""
}

// Waiting is the number of requests that have no answer.
func (c *Client) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending)
}

// Offer registers a service and opens its book.
func (c *Client) Offer() (string, error) {
	id, err := c.Register()
	if err == nil {
		c.own(id)
	}
	return id, err
}
