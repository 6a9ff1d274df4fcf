package relay_test

import (
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/fuzz/sim"
	"github.com/ahprelay/ahprelay/relay"
)

// TestSimulation runs part of the simulation of package fuzz/sim with the core recounting itself after
// every operation, which only tests of this package can have it do.
func TestSimulation(t *testing.T) {
	opt := sim.Options{Check: (*relay.Core).Check}
	for seed := range uint64(1000) {
		if f := sim.Run(sim.FromSeed(1<<32+seed), opt); f != nil {
			t.Fatalf("seed %d: %v", 1<<32+seed, sim.Shrink(f, opt, 20*time.Second))
		}
	}
}
