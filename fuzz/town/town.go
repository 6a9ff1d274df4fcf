package town

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
)

// Town is the clients of one relay and their books.
type Town struct {
	Sent, Asked, Answered, Echoed, Got atomic.Int64
	Reconnects                         atomic.Int64

	numbers atomic.Int64
	readers sync.WaitGroup
	roles   sync.WaitGroup

	mu       sync.Mutex
	addr     string
	failures []string
	books    map[string]*book
	clients  map[string]*Client // the latest of each name
	former   []*Client          // that are gone, and have sent something
	still    bool               // callers are to stop
}

// book is what the owner of a service has received.
type book struct {
	owner   *Client
	alive   bool
	last    map[int64]int // by sender
	gaps    int
	dropped int
	got     int
}

// New returns a town without people.
func New(addr string) *Town {
	return &Town{addr: addr, books: map[string]*book{}, clients: map[string]*Client{}}
}

// Addr is where the relay is.
func (t *Town) Addr() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.addr
}

func (t *Town) fail(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.failures) < 20 {
		t.failures = append(t.failures, fmt.Sprintf(format, args...))
	}
}

// Err reports what has gone wrong so far.
func (t *Town) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.failures) == 0 {
		return nil
	}
	return errors.New(strings.Join(t.failures, "\n"))
}

// offer opens the book of a service. Its id must be new.
func (t *Town) offer(id string, owner *Client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.books[id]
	if b != nil && b.owner != nil {
		t.failures = append(t.failures, "service id "+id+" for the second time")
	}
	if b == nil {
		b = &book{last: map[int64]int{}}
		t.books[id] = b
	}
	b.owner, b.alive = owner, true
}

// retire marks a service as gone.
func (t *Town) retire(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b := t.books[id]; b != nil {
		b.alive = false
		b.last = nil
	}
}

// received notes a message to a service: it must be c's, and newer than the last from the same sender.
func (t *Town) received(c *Client, id, text string) {
	from, to, n, err := parsePayload(text)
	t.Got.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.books[id]
	if b == nil { // the answer to its registration has not been looked at yet
		b = &book{last: map[int64]int{}, alive: true}
		t.books[id] = b
	}
	switch {
	case err != nil || to != id:
		t.failures = append(t.failures, fmt.Sprintf("%s gets %s for %s", c.Name, text, id))
	case b.owner != nil && b.owner != c:
		t.failures = append(t.failures, fmt.Sprintf("%s gets %s, which is for %s", c.Name, text, b.owner.Name))
	case b.last == nil: // gone meanwhile
	case n <= b.last[from]:
		t.failures = append(t.failures, fmt.Sprintf("%s gets message %d of %d to %s after %d", c.Name, n, from, id, b.last[from]))
	default:
		b.gaps += n - b.last[from] - 1
		b.last[from] = n
		b.got++
	}
}

// dropped notes that the relay owns up to lost notifications.
func (t *Town) dropped(c *Client, id string, count int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.books[id]
	if b == nil || b.owner != nil && b.owner != c || count < 1 {
		t.failures = append(t.failures, fmt.Sprintf("%s is told of %d dropped for %s", c.Name, count, id))
		return
	}
	b.dropped += count
}

// Someone picks one of the people whose name begins with prefix, nil for nobody.
func (t *Town) Someone(prefix string) *Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*Client
	for name, c := range t.clients {
		if strings.HasPrefix(name, prefix) {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[rand.IntN(len(list))]
}

// enter makes a connection the one of its name.
func (t *Town) enter(c *Client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if was := t.clients[c.Name]; was != nil {
		t.former = append(t.former, was)
	}
	t.clients[c.Name] = c
}

// Move tells the people that the relay is at another address.
func (t *Town) Move(addr string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addr = addr
}

// Leave ends every role whose context has ended, and waits for the last reader.
func (t *Town) Leave() {
	t.roles.Wait()
	t.readers.Wait()
}
