package loop

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// targets are the service ids that were registered lately, most of them stale already.
type targets struct {
	mu  sync.Mutex
	ids []string
}

func (g *targets) add(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ids = append(g.ids, id)
	g.ids = g.ids[max(0, len(g.ids)-12):]
}

func (g *targets) pick(random *rand.Rand) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.ids) == 0 {
		return "none"
	}
	return g.ids[random.IntN(len(g.ids))]
}

// A descriptor number that was closed is soon another client's. While owners come and go in every way
// and are written to all the time, nobody receives a byte that is not meant for it.
func TestWritesAfterCloseReachNobody(t *testing.T) {
	const comers, cycles = 4, 80
	s := run(t, tight)
	var g targets
	var coming, sending sync.WaitGroup
	done := make(chan struct{})
	errs := make(chan error, comers+4)
	for n := range comers {
		coming.Go(func() {
			for i := range cycles {
				if err := comeAndGo(t, s.addr, fmt.Sprintf("owner %d %d", n, i), i, &g); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	for n := range 2 {
		sending.Go(func() { errs <- notifyAll(t, s.addr, fmt.Sprint("sender", n), &g, done) })
		sending.Go(func() { errs <- askAll(t, s.addr, fmt.Sprint("caller", n), &g, done) })
	}
	coming.Wait()
	close(done)
	sending.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}

// comeAndGo is one owner's life: every line that it gets must be addressed to it.
func comeAndGo(t testing.TB, addr, clientID string, i int, g *targets) error {
	nc, err := connect(t, addr)
	if err != nil {
		return err
	}
	defer func() { _ = nc.Close() }()
	p := newPeer(t, nc)
	if err := p.trySend(initialize(clientID), registerHead+`{}}}`); err != nil {
		return err
	}
	hello, err := p.tryLine()
	if err != nil || !strings.HasPrefix(hello, initialized) {
		return fmt.Errorf("%s, initialize: %.80q, %v", clientID, hello, err)
	}
	line, err := p.tryLine()
	id, ok := strings.CutPrefix(line, registered)
	if err != nil || !ok {
		return fmt.Errorf("%s, register: %q, %v", clientID, line, err)
	}
	id = strings.TrimSuffix(id, `"}}`)
	g.add(id)
	for range 10 {
		if line, err = p.tryLine(); err != nil {
			return fmt.Errorf("%s: %w", clientID, err)
		}
		if err := addressed(line, id); err != nil {
			return fmt.Errorf("%s: %w", clientID, err)
		}
	}
	switch i % 4 {
	case 0:
		_ = socketOf(nc).SetLinger(0)
	case 1: // half-closed, and read to the end
		_ = nc.(interface{ CloseWrite() error }).CloseWrite()
		for err == nil {
			if line, err = p.tryLine(); err == nil && addressed(line, id) != nil {
				return fmt.Errorf("%s: %w", clientID, addressed(line, id))
			}
		}
	case 2: // closed by the relay, that has more to write
		_ = p.trySend(strings.Repeat("x", 100<<10))
	}
	return nil
}

// addressed reports, as an error, whether a line is for the owner of a service.
func addressed(line, id string) error {
	for _, head := range []string{
		`{"jsonrpc":"2.0","method":"clientService/notification","params":{"channel":"ahp-client-services://","serviceId":"`,
		`,"method":"clientService/handleRequest","params":{"channel":"ahp-client-services://","serviceId":"`,
	} {
		if _, rest, ok := strings.Cut(line, head); ok && strings.HasPrefix(rest, id+`"`) {
			return nil
		}
	}
	if strings.HasPrefix(line, `{"jsonrpc":"2.0","method":"$/cancelRequest"`) {
		return nil
	}
	return fmt.Errorf("%s got %s", id, line)
}

// notifyAll sends notifications to services that come and go, and must hear of nothing but its pings.
func notifyAll(t testing.TB, addr, clientID string, g *targets, done <-chan struct{}) error {
	return insist(t, addr, clientID, done, func(p *peer, random *rand.Rand) error {
		var lines []string
		for range 20 {
			lines = append(lines, notify(g.pick(random), `"method":"m","params":{"x":"`+padding+`"}`))
		}
		return exchange(p, strings.Join(append(lines, `{"jsonrpc":"2.0","id":"p","method":"ping"}`), "\n"), result(`"p"`, `null`))
	})
}

// askAll sends requests to services that come and go, cancels them, and must hear of each once.
func askAll(t testing.TB, addr, clientID string, g *targets, done <-chan struct{}) error {
	return insist(t, addr, clientID, done, func(p *peer, random *rand.Rand) error {
		return exchange(p, request("1", g.pick(random), `"method":"m"`)+"\n"+cancelRequest("1"),
			failure("1", -32800, "request cancelled", maybe), failure("1", -32008, "no such service", notFound), failure("1", -32050, "service unavailable", maybe), failure("1", -32053, "overloaded", notFound),
			failure("1", -32052, "limit exceeded", `{"delivered":"never","limit":"inflightPerConnection"}`))
	})
}

func exchange(p *peer, line string, answers ...string) error {
	if err := p.trySend(line); err != nil {
		return err
	}
	got, err := p.tryLine()
	if err != nil {
		return err
	}
	for _, want := range answers {
		if got == want {
			return nil
		}
	}
	return fmt.Errorf("unexpected line %s", got)
}

func insist(t testing.TB, addr, clientID string, done <-chan struct{}, once func(*peer, *rand.Rand) error) error {
	nc, err := connect(t, addr)
	if err != nil {
		return err
	}
	defer func() { _ = nc.Close() }()
	p := newPeer(t, nc)
	if err := p.trySend(initialize(clientID)); err != nil {
		return err
	}
	if line, err := p.tryLine(); err != nil || !strings.HasPrefix(line, initialized) {
		return fmt.Errorf("%s, initialize: %.80q, %v", clientID, line, err)
	}
	random := rand.New(rand.NewPCG(2, uint64(len(clientID))))
	for {
		select {
		case <-done:
			return nil
		default:
			if err := once(p, random); err != nil {
				return fmt.Errorf("%s: %w", clientID, err)
			}
		}
	}
}
