package loop

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// Many senders at once do not cost an owner that reads anything: its output is written before it counts
// as too full, even if all of them are read in the same turn of the loop.
func TestBurstOfManySendersIsNotDropped(t *testing.T) {
	const senders, each = 100, 46
	s := run(t, nil)
	owners, burst := []*peer{hello(t, s.addr, "owner0"), hello(t, s.addr, "owner1")}, ""
	for _, owner := range owners {
		burst += strings.Repeat(notify(owner.register(`{}`), `"method":"m","params":{"x":"`+padding+`"}`)+"\n", each)
	}
	var all []*peer
	for n := range senders {
		all = append(all, hello(t, s.addr, fmt.Sprint("sender", n)))
	}
	var sending sync.WaitGroup
	// The loop is held up until everything has been sent.
	release, held := make(chan struct{}), make(chan struct{})
	go func() { _ = s.Inspect(t.Context(), func(*relay.Core, time.Duration) { close(held); <-release }) }()
	<-held
	for _, p := range all {
		sending.Go(func() { _ = p.trySend(strings.TrimSuffix(burst, "\n")) })
	}
	sending.Wait()
	close(release)
	s.until("everything is handled", func(core *relay.Core) bool { return core.Counters().FramesIn >= 2*senders*each })
	for _, owner := range owners {
		for range senders * each {
			if line := owner.line(); !strings.HasSuffix(line, padding+`"}}}`) {
				t.Fatalf("%.300s", line)
			}
		}
	}
	if k := s.counters(); k.NotifyDropped[relay.DropOverload] != 0 {
		t.Errorf("%d were dropped", k.NotifyDropped[relay.DropOverload])
	}
}
