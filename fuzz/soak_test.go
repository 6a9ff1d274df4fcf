//go:build linux && soak

package fuzz

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

var (
	soakDuration = flag.Duration("duration", 10*time.Minute, "TestSoak: how long")
	soakEvery    = flag.Duration("every", 15*time.Second, "TestSoak: how long between two audits")
)

// sample is what the relay takes while everybody is there and nobody says anything.
type sample struct {
	at                                            time.Duration
	messages                                      float64 // a second, since the sample before
	processor                                     float64 // share of one processor, since the sample before
	resident, heap, goroutines, descriptors, slow float64
}

// TestSoak keeps mixed traffic with churn up for long. At every audit the books must balance, and in the end
// nothing may have grown.
func TestSoak(t *testing.T) {
	s := newSite(t, "[limits]\nrequest_timeout = \"1500ms\"\ncatalog_changes_per_second_max = 0\n", "")
	s.populate(8, 12, 100, 500*time.Microsecond)
	s.audit("at the beginning")
	start := time.Now()
	var samples []sample
	t.Log("  minutes  messages/s  processor  resident MB  heap MB  goroutines  descriptors  worst turn ms")
	for time.Since(start) < *soakDuration {
		before, turn := s.metrics(), time.Now()
		processor := s.Processor()
		s.churn(min(*soakEvery, *soakDuration-time.Since(start)))
		s.audit(fmt.Sprintf("after %v", time.Since(start).Round(time.Second)))
		after := s.metrics()
		spent := time.Since(turn).Seconds()
		forwarded := func(m map[string]float64) float64 {
			return m["ahprelay_notifications_forwarded_total"] + m["ahprelay_requests_forwarded_total"]
		}
		one := sample{
			at: time.Since(start), messages: (forwarded(after) - forwarded(before)) / spent, processor: (s.Processor() - processor).Seconds() / spent,
			resident: float64(s.Resident()) / (1 << 20), heap: after["go_memstats_heap_inuse_bytes"] / (1 << 20), goroutines: after["go_goroutines"],
			descriptors: float64(s.Descriptors()), slow: after["ahprelay_loop_turn_seconds_max"] * 1000,
		}
		samples = append(samples, one)
		t.Logf("%9.1f  %10.0f  %9.2f  %11.1f  %7.1f  %10.0f  %11.0f  %13.1f", one.at.Minutes(), one.messages, one.processor, one.resident, one.heap, one.goroutines, one.descriptors, one.slow)
	}
	t.Logf("%d notifications and %d requests sent, %d answers, %d messages received, %d reconnects", s.Sent.Load(), s.Asked.Load(), s.Answered.Load(), s.Got.Load(), s.Reconnects.Load())
	grown(t, "resident memory (MB)", samples, func(s sample) float64 { return s.resident }, 16)
	grown(t, "heap (MB)", samples, func(s sample) float64 { return s.heap }, 16)
	grown(t, "goroutines", samples, func(s sample) float64 { return s.goroutines }, 3)
	grown(t, "descriptors", samples, func(s sample) float64 { return s.descriptors }, 3)
	s.leave()
	s.Leave()
	s.empty()
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
}

func (s *site) metrics() map[string]float64 {
	s.t.Helper()
	m, err := s.Metrics()
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

// churn has people come and go for a while, and services with them.
func (s *site) churn(d time.Duration) {
	end := time.Now().Add(d)
	var wg sync.WaitGroup
	for time.Now().Before(end) {
		time.Sleep(time.Duration(50+rand.IntN(200)) * time.Millisecond)
		c := s.Someone(one("owner", "caller"))
		switch rand.IntN(8) {
		case 0:
			c.Reset()
		case 1:
			c.Close()
		case 2:
			c.Half()
		case 3:
			c.Stall(time.Duration(rand.IntN(1000)) * time.Millisecond)
		default:
			wg.Go(func() { s.visit() })
		}
	}
	wg.Wait()
}

// visit is a client that offers a service for a moment.
func (s *site) visit() {
	c, err := s.Dial(fmt.Sprintf("visitor-%d", rand.IntN(1<<40)), rand.IntN(2) == 0, nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer c.Close()
	if id, err := c.Offer(); err != nil {
		s.t.Error(err)
	} else if rand.IntN(2) == 0 {
		time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
		if err := c.Unregister(id); err != nil {
			s.t.Error(err)
		}
	}
}

// grown fails when the last third of the samples is above the first by more than a tenth and so much.
func grown(t *testing.T, what string, samples []sample, of func(sample) float64, slack float64) {
	third := len(samples) / 3
	if third == 0 {
		return
	}
	middle := func(part []sample) float64 {
		var values []float64
		for _, s := range part {
			values = append(values, of(s))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	first, final := middle(samples[:third]), middle(samples[len(samples)-third:])
	t.Logf("%s: %.1f at first, %.1f in the end", what, first, final)
	if final > first*1.1+slack {
		t.Errorf("%s has grown from %.1f to %.1f", what, first, final)
	}
}
