package town

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
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

// Settle adds an inhabitant, who comes back whenever its connection ends until ctx does. An owner offers so
// many services; a caller (services 0) follows the catalogue, asks and notifies, with a pause in between.
func (t *Town) Settle(ctx context.Context, name string, services, burst int, pause time.Duration) {
	t.roles.Add(1)
	go func() {
		defer t.roles.Done()
		var former *Client
		for ctx.Err() == nil {
			c, err := t.Dial(name, services == 0, former)
			if err != nil {
				if errors.Is(err, errRefused) && former != nil && rand.IntN(4) == 0 {
					former = nil // the relay has forgotten us, or we it
				}
				nap(ctx, 20*time.Millisecond)
				continue
			}
			if former != nil {
				t.Reconnects.Add(1)
			}
			former = c
			if services > 0 {
				c.beOwner(services)
			} else {
				go c.beCaller(ctx, burst, pause)
			}
			t.enter(c)
			select {
			case <-c.gone:
			case <-ctx.Done():
			}
		}
		if former != nil {
			former.Close()
		}
	}()
}

func nap(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (c *Client) beOwner(services int) {
	for range services {
		if _, err := c.Offer(); err != nil {
			c.Close() // and try again
			return
		}
	}
}

func (c *Client) beCaller(ctx context.Context, burst int, pause time.Duration) {
	for ctx.Err() == nil {
		c.town.mu.Lock()
		still := c.town.still
		c.town.mu.Unlock()
		select {
		case <-c.gone:
			return
		default:
		}
		service := c.someService()
		if still || service == "" || c.Waiting() > 200 {
			nap(ctx, 5*time.Millisecond)
			continue
		}
		var err error
		if rand.IntN(3) == 0 {
			err = c.Ask(service, rand.IntN(12) == 0)
		} else {
			err = c.Notify(service, 1+rand.IntN(burst))
		}
		if err != nil {
			return
		}
		if pause > 0 {
			nap(ctx, pause)
		}
	}
}

// Move tells the people that the relay is at another address.
func (t *Town) Move(addr string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addr = addr
}

// Audit has the callers fall silent, waits until everything that is on its way has come, compares the books,
// and lets them go on.
func (t *Town) Audit() error {
	t.quiet(true)
	defer t.quiet(false)
	if err := t.audit(); err != nil {
		return err
	}
	return t.Err()
}

func (t *Town) quiet(still bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.still = still
}

func (t *Town) people() []*Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*Client
	for _, c := range t.clients {
		list = append(list, c)
	}
	return list
}

func (t *Town) audit() error {
	time.Sleep(50 * time.Millisecond) // those who were about to write have written
	if err := t.everybodyIsThere(); err != nil {
		return err
	}
	for _, c := range t.people() {
		if err := c.Ping(); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	for _, c := range t.people() {
		for end := time.Now().Add(patience); c.Waiting() > 0; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				return fmt.Errorf("%s waits for %d answers that do not come", c.Name, c.Waiting())
			}
		}
	}
	prober, err := t.Dial(fmt.Sprintf("prober-%d", t.numbers.Load()), true, nil)
	if err != nil {
		return err
	}
	defer func() {
		prober.Close()
		<-prober.gone
	}()
	truth := t.truth()
	if err := prober.sees(truth); err != nil {
		return err
	}
	for id := range truth {
		if err := prober.Notify(id, 1); err != nil {
			return err
		}
	}
	if err := t.probed(prober, truth); err != nil {
		return err
	}
	for _, c := range t.people() {
		if c.catalog != nil {
			if err := c.sees(truth); err != nil {
				return err
			}
		}
	}
	return t.balance()
}

// everybodyIsThere waits until every inhabitant has a live connection that nothing was done to.
func (t *Town) everybodyIsThere() error {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		missing := ""
		for _, c := range t.people() {
			select {
			case <-c.gone:
				missing = c.Name
			default:
				if c.abused.Load() { // nobody knows how long the relay will put up with it
					c.Reset()
					missing = c.Name
				}
			}
		}
		if missing == "" {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s does not come back", missing)
		}
	}
}

// truth is the catalogue by the owners' own account.
func (t *Town) truth() map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := map[string]string{}
	for id, b := range t.books {
		if b.alive && b.owner != nil {
			all[id] = b.owner.Name
		}
	}
	return all
}

// sees waits until c sees the true catalogue.
func (c *Client) sees(truth map[string]string) error {
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		c.mu.Lock()
		same := maps.Equal(c.catalog, truth)
		got := maps.Clone(c.catalog)
		c.mu.Unlock()
		if same {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s sees the catalogue %v, the owners say %v", c.Name, got, truth)
		}
	}
}

// probed waits until every owner has got the probe, and with it everything that was sent before.
func (t *Town) probed(prober *Client, truth map[string]string) error {
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		missing := ""
		t.mu.Lock()
		for id := range truth {
			if t.books[id].last[prober.Number] != 1 {
				missing = id
			}
		}
		t.mu.Unlock()
		if missing == "" {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("the probe to %s of %s does not arrive", missing, truth[missing])
		}
	}
}

// balance compares, for each service that lives, what was sent to it, what has come and what was dropped.
// Of those who are gone nobody knows how much of what they sent last got as far as the relay.
func (t *Town) balance() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, b := range t.books {
		if !b.alive || b.owner == nil {
			continue
		}
		lost, unknown := b.gaps, 0
		for _, c := range t.clients {
			c.mu.Lock()
			lost += c.sent[id] - b.last[c.Number] - c.never[id]
			c.mu.Unlock()
		}
		for _, c := range t.former {
			c.mu.Lock()
			unknown += c.sent[id]
			c.mu.Unlock()
		}
		if b.dropped > lost+unknown || b.dropped < lost-unknown {
			return fmt.Errorf("service %s of %s: %d have come, %d are missing, the relay owns up to %d (and %d are anybody's guess)", id, b.owner.Name, b.got, lost, b.dropped, unknown)
		}
	}
	return nil
}

// Leave ends every role whose context has ended, and waits for the last reader.
func (t *Town) Leave() {
	t.roles.Wait()
	t.readers.Wait()
}
