package town

import (
	"fmt"
	"maps"
	"time"
)

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
