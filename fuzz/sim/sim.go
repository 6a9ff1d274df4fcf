// Package sim runs the relay's core under a virtual clock against a model of the contract.
//
// A run is a list of operations on a few connections: bytes in arbitrary pieces, transports that stop
// taking output, closings, reloads, time. A source of choices, a seed or the fuzzer's bytes, makes up
// the configuration and the operations while the run goes on (setup.go, generate.go, speech.go); what was
// made up can be run again without the source, in whole or in part, which is how a failure is shrunk
// (shrink.go).
//
// After every operation the model (model.go and its neighbours) takes the same input, line by line, and
// reads what the core wanted to send to each connection as it goes: each line must be one that the
// contract demands at that place, and none may be left over. Only what the relay may choose freely, such
// as ids and the wording of messages, is taken from the output. The model is written from the contract,
// with plain lists and no index, cache or incremental state.
//
// Nothing here is safe for concurrent use; runs do not share anything and may go in parallel.
package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// Options say how a run goes.
type Options struct {
	Steps int                     // operations that are made up, 0: 40
	Check func(*relay.Core) error // called after every operation, nil: not
	Tally Tally                   // what happened is added to it, nil: not

	record bool // write the transcript
}

// Tally counts what happened in runs, so that a test can tell what never did: "error -32052 slots", "closed
// idle", "replay", …
type Tally map[string]int

func (t Tally) add(what string) {
	if t != nil {
		t[what]++
	}
}

// Failure is a run in which the core did not do what the model expects.
type Failure struct {
	Reason     string
	At         int    // the operation, counted from 0; the number of operations: at the end
	Transcript string // what was done and what came back, as in relay/testdata
	Script     *Script
}

// Error describes the failure, transcript included.
func (f *Failure) Error() string {
	return fmt.Sprintf("operation %d: %s\n--- transcript ---\n%s", f.At, f.Reason, f.Transcript)
}

// Script is a run that can be repeated.
type Script struct {
	Config  relay.Config
	InParts bool // reads are handed over with ReceiveSome, not Receive
	Ops     []Op
}

// Run makes up a run from choices and carries it out. It returns nil when core and model agree.
func Run(choices Choices, opt Options) *Failure {
	about := theme(choices.Pick(int(themes)))
	script := &Script{Config: makeConfig(choices, about), InParts: choices.Pick(2) == 0}
	r, f := begin(script, opt)
	if f != nil {
		return f
	}
	steps := opt.Steps
	if steps == 0 {
		steps = 40
	}
	if about == themeResume {
		steps += steps / 2 // it takes several to leave, miss something and come back
	}
	g := &generator{Choices: choices, world: r.world, model: r.model, steps: steps, theme: about}
	for g.step = 0; g.step < steps && !r.over; g.step++ {
		op := g.next()
		script.Ops = append(script.Ops, op)
		if f := r.do(len(script.Ops)-1, op); f != nil {
			return f
		}
	}
	return r.finish(len(script.Ops))
}

// Replay carries out a script.
func Replay(script *Script, opt Options) *Failure {
	r, f := begin(script, opt)
	if f != nil {
		return f
	}
	for i, op := range script.Ops {
		if f := r.do(i, op); f != nil {
			return f
		}
	}
	return r.finish(len(script.Ops))
}

// run is one run in progress.
type run struct {
	script *Script
	world  *world
	model  *model
	tape   *tape
	check  func(*relay.Core) error
	over   bool // nothing more is to be done
}

// enough is what the world panics with when an output gets so long that the core no longer shows all of it:
// the run ends there, without a complaint.
type enough struct{}

// broken is what the model and the world panic with when something is not as it must be.
type broken string

func begin(script *Script, opt Options) (*run, *Failure) {
	core, err := relay.New(script.Config, boot, [32]byte{})
	if err != nil {
		return nil, &Failure{Reason: "New: " + err.Error(), At: -1, Script: script}
	}
	t := &tape{on: opt.record}
	t.config("config", &script.Config)
	w := newWorld(core, t)
	w.inParts = script.InParts
	return &run{script: script, world: w, model: newModel(w, script.Config, opt.Tally), tape: t, check: opt.Check}, nil
}

// do carries out one operation.
func (r *run) do(i int, op Op) (f *Failure) {
	if r.over {
		return nil
	}
	defer r.rescue(i, &f)
	r.perform(op)
	r.after()
	return nil
}

// rescue turns a panic of ours or of the core into a failure.
func (r *run) rescue(i int, f **Failure) {
	v := recover()
	if v == nil {
		return
	}
	if _, r.over = v.(enough); r.over {
		return
	}
	reason, ok := v.(broken)
	if !ok {
		reason = broken(fmt.Sprintf("panic: %v\n%s", v, stack()))
	}
	r.tape.results(r.world)
	*f = &Failure{Reason: string(reason), At: i, Transcript: r.tape.String(), Script: r.script}
}

// after checks what must hold between operations.
func (r *run) after() {
	r.tape.results(r.world)
	r.model.verify()
	if r.check != nil {
		if err := r.check(r.world.core); err != nil {
			panic(broken("the core's own count: " + err.Error()))
		}
	}
}

// finish closes every connection, waits for what runs out and asserts that nothing is left.
func (r *run) finish(i int) (f *Failure) {
	if r.over {
		return nil
	}
	defer r.rescue(i, &f)
	for _, e := range r.world.ends {
		if e.open {
			r.perform(Op{Kind: OpClose, End: e.number})
		}
	}
	r.perform(Op{Kind: OpTick, Time: r.model.config.Limits.RequestTimeoutMax + time.Hour})
	r.after()
	r.model.verifyEmpty()
	return nil
}

func must(ok bool, format string, args ...any) {
	if !ok {
		panic(broken(fmt.Sprintf(format, args...)))
	}
}

func stack() string {
	lines := strings.Split(trace(), "\n")
	return strings.Join(lines[:min(len(lines), 40)], "\n")
}
