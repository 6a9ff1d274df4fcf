package loop

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ahprelay/ahprelay/relay"
)

// churn registers, updates and unregisters services, and now and then starts over on a new connection.
func churn(t testing.TB, addr, clientID string, rounds int) error {
	random := rand.New(rand.NewPCG(1, uint64(len(clientID))))
	for range rounds {
		nc, err := connect(t, addr)
		if err != nil {
			return err
		}
		p := newPeer(t, nc)
		if err := p.trySend(`{"jsonrpc":"2.0","id":0,"method":"reconnect","params":{"clientId":"` + clientID + strconv.Itoa(random.IntN(1<<30)) + `","lastSeenServerSeq":0,"subscriptions":[]}}`); err != nil {
			return err
		}
		if line, err := p.tryLine(); err != nil || !strings.Contains(line, `"type":"snapshot"`) {
			return fmt.Errorf("%q, %v", line, err)
		}
		if err := churnOn(p, random); err != nil {
			return err
		}
		_ = p.Close()
	}
	return nil
}

func churnOn(p *peer, random *rand.Rand) error {
	var ids []string
	for range 30 {
		line, pick := registerHead+`{"n":`+strconv.Itoa(random.IntN(1000))+`}}}`, -1
		if len(ids) > 0 && random.IntN(3) > 0 {
			pick = random.IntN(len(ids))
			line = `{"jsonrpc":"2.0","id":"u","method":"client/updateService","params":{"serviceId":"` + ids[pick] + `","metadata":{"u":` + strconv.Itoa(random.IntN(1000)) + `}}}`
			if random.IntN(2) == 0 {
				line = `{"jsonrpc":"2.0","id":"u","method":"client/unregisterService","params":{"serviceId":"` + ids[pick] + `"}}`
			}
		}
		if err := p.trySend(line); err != nil {
			return err
		}
		answer, err := p.tryLine()
		switch id, ok := strings.CutPrefix(answer, registered); {
		case err != nil:
			return err
		case ok:
			ids = append(ids, strings.TrimSuffix(id, `"}}`))
		case answer != result(`"u"`, `{}`):
			return fmt.Errorf("%s to %s", answer, line)
		case strings.Contains(line, "unregister"):
			ids = slices.Delete(ids, pick, pick+1)
		}
	}
	return nil
}

// Snapshots and changes fit without gap or overlap while services come and go: at initialize, at every
// further subscribe, and over reconnects.
func TestSnapshotAndChangesWithoutGapUnderChurn(t *testing.T) {
	const churners, observers = 3, 3
	s := run(t, func(c *Config) { c.Relay.Limits.CatalogChangesPerSecondMax = 0 })
	ended := make(chan struct{})
	var replays atomic.Int64
	errs := make(chan error, churners+observers)
	var working, watching sync.WaitGroup
	for n := range churners {
		working.Go(func() { errs <- churn(t, s.addr, strings.Repeat("c", n+1), 8) })
	}
	for n := range observers {
		watching.Go(func() { errs <- watch(t, s.addr, fmt.Sprint("observer", n), &replays, ended) })
	}
	working.Wait()
	s.until("the churners are gone", func(core *relay.Core) bool { return core.Gauges().Services == 0 })
	close(ended)
	watching.Wait()
	close(errs)
	t.Log("reconnects that were replayed: ", replays.Load())
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}

// watch follows the catalogue until it is told that the churn is over, and must then know that it is empty.
func watch(t testing.TB, addr, clientID string, replays *atomic.Int64, ended <-chan struct{}) error {
	o, err := observe(t, addr, clientID)
	if err != nil {
		return err
	}
	defer func() { _ = o.Close() }()
	for over := false; !over; {
		select {
		case <-ended:
			over = true
		default:
		}
		if err := o.refresh(); err != nil {
			return err
		}
		replayed, err := o.again(clientID)
		if err != nil {
			return err
		}
		if replayed {
			replays.Add(1)
		}
		if err := o.refresh(); err != nil {
			return err
		}
	}
	if len(o.catalog.services) != 0 {
		return fmt.Errorf("%s still knows %v", clientID, o.catalog.order)
	}
	return nil
}
