package fuzz

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/fuzz/sim"
)

var (
	simSeed  = flag.Int64("seed", -1, "TestSim: run this seed alone")
	simRuns  = flag.Int("runs", usualRuns, "TestSim: how many seeds to run")
	simFirst = flag.Uint64("first", 0, "TestSim: the first seed")
	simSteps = flag.Int("steps", 0, "TestSim: operations of a run, 0 for the usual number")
	simFor   = flag.Duration("for", 0, "TestSim: go on with further seeds for this long")
)

// TestSim runs the core against the model of the contract, one seed after the other. A failure names its
// seed; -seed runs that one again.
func TestSim(t *testing.T) {
	opt := sim.Options{Steps: *simSteps, Tally: sim.Tally{}}
	if *simSeed >= 0 {
		simulate(t, uint64(*simSeed), opt)
		return
	}
	end := time.Now().Add(*simFor)
	seed := *simFirst
	for ; seed < *simFirst+uint64(*simRuns) || *simFor > 0 && time.Now().Before(end); seed++ {
		simulate(t, seed, opt)
	}
	t.Logf("seeds %d to %d", *simFirst, seed-1)
	for _, what := range slices.Sorted(maps.Keys(opt.Tally)) {
		t.Logf("%9d %s", opt.Tally[what], what)
	}
	for _, what := range must {
		if opt.Tally[what] == 0 && *simRuns >= 10000 {
			t.Errorf("never happened: %s", what)
		}
	}
}

// must lists what has to happen somewhere in the usual number of runs: a simulation in which it does not
// checks nothing about it.
var must = []string{
	"notification", "dropped told", "result answered", "error answered", "late answer", "ghost expired", "drain", "replay", "replay of actions", "rights changed",
	"ended -32009", "ended -32051", "ended -32800", "ended 0", "auth/required expired", "auth/required required",
	"closed authentication", "closed connectionLimit", "closed frameTooLarge", "closed handshakeTimeout", "closed idle", "closed protocolErrors",
	"closed shutdown", "closed slowConsumer", "closed superseded", "closed unsupportedVersion",
	"error -32005", "error -32007", "error -32008", "error -32009", "error -32010", "error -32053", "error -32600", "error -32601", "error -32602", "error -32603 maybe", "error -32700",
	"error -32052 catalogBytes", "error -32052 principalCatalogBytes", "error -32052 catalogChangesPerSecond", "error -32052 connections", "error -32052 connectionsPerPrincipal",
	"error -32052 inflightPerConnection", "error -32052 inflightPerPrincipal", "error -32052 inflightPerService", "error -32052 services", "error -32052 servicesPerConnection",
	"error -32052 servicesPerPrincipal", "error -32052 slots", "error -32052 snapshots", "error -32052 subscriptionsPerConnection",
}

func simulate(t *testing.T, seed uint64, opt sim.Options) {
	if f := sim.Run(sim.FromSeed(seed), opt); f != nil {
		t.Fatalf("seed %d (again: go test ./fuzz -run TestSim -seed %[1]d): %v", seed, sim.Shrink(f, opt, 20*time.Second))
	}
}

// FuzzSim lets the fuzzer choose.
func FuzzSim(f *testing.F) {
	f.Add([]byte{})
	for seed := range uint64(12) { // bytes are choices, so any will do to begin with
		choices, data := rand.New(rand.NewPCG(seed, 0)), make([]byte, 700)
		for i := range data {
			data[i] = byte(choices.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if f := sim.Run(sim.FromBytes(data), sim.Options{}); f != nil {
			t.Fatal(sim.Shrink(f, sim.Options{}, 5*time.Second))
		}
	})
}
