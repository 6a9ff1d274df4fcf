//go:build linux

package bench

import (
	"context"
	"math/rand/v2"
	"time"
)

// Scenario says who sends what to whom. The zero value of a field means its usual value.
type Scenario struct {
	Name  string // unique, as given on the command line
	Title string // for the table
	Group string // scenarios that are drawn in one plot, or chosen together
	Need  Need

	Senders, Receivers, Services int
	// Target picks the service of the message at place of sender's ring. Nil: the sender's own number.
	Target func(rng *rand.Rand, sender, place int) int
	Places int // messages in a sender's ring; 0: by size

	Kind Kind
	Size int // bytes of a body

	Single      bool          // one write per message
	Every       time.Duration // between two messages of a sender; 0: as fast as the window allows
	Outstanding int           // calls in flight; 0: notifications
	Latency     bool          // time every message
	OneCore     bool          // server and generator share a CPU when pinned
	Coalesce    string        // see Setting
	Observers   int           // of the catalogue
	Piece       int           // bytes a write when a message goes out in parts; 0: whole
	X           float64       // where the point lies in the group's plot

	// Run replaces the usual course for scenarios that are no plain streams.
	Run func(context.Context, *Trial) (Sample, error)
}

// Trial is one repetition of a scenario against one server.
type Trial struct {
	*Scenario
	Options  *Options
	Instance *Instance
	Tag      string // part of every name, unique among concurrent runs against one server
}

// services is how many services the receivers own together.
func (s *Scenario) services() int { return max(s.Services, s.Receivers) }

// places is how many distinct messages each sender has: hundreds, but no more than 4 MiB in all, so
// that the generator's own memory traffic stays within the caches.
func (s *Scenario) places() int {
	if s.Places > 0 {
		return s.Places
	}
	const envelope = 150
	frame := s.Size + envelope
	n := min(max((512<<10)/frame, 256), 1024)
	return max(min(n, (4<<20)/frame/s.Senders), 16)
}
