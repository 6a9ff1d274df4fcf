package loop

import (
	"fmt"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// Putting off reads changes nothing but when things happen: a sender that writes message by message, one
// beside it that waits for answers, and connections that end while they are put off.
func TestCoalescingLosesNothing(t *testing.T) {
	const count = 3000
	r := newTrio(t, func(c *Config) { c.Coalesce = 200 * time.Microsecond })
	sender := hello(t, r.addr, "sender")
	sent := make(chan error, 1)
	go func() {
		for n := range count {
			if err := sender.trySend(notify(r.id, fmt.Sprintf(`"method":"m","params":{"n":%d}`, n))); err != nil {
				sent <- err
				return
			}
		}
		sent <- sender.Close()
	}()
	answered := make(chan error, 1)
	go func() {
		for i := range 50 {
			if err := exchange(r.caller, request(fmt.Sprint(i), r.id, `"method":"m"`), result(fmt.Sprint(i), `1`)); err != nil {
				answered <- err
				return
			}
		}
		answered <- nil
	}()
	for next, asks := 0, 0; next < count || asks < 50; {
		line := r.owner.line()
		if relayID, ok := relayID(line); ok {
			r.owner.send(result(relayID, `1`))
			asks++
			continue
		}
		if want := notified(r.id, "sender", fmt.Sprintf(`"method":"m","params":{"n":%d}`, next)); line != want {
			t.Fatalf("got  %s\nwant %s", line, want)
		}
		next++
	}
	for _, c := range []chan error{sent, answered} {
		if err := <-c; err != nil {
			t.Error(err)
		}
	}
	r.until("the sender is gone", func(core *relay.Core) bool { return core.Peers() == 2 })
	r.owner.quiet()
	r.caller.quiet()
}
