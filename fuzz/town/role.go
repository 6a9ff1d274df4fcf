package town

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

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
