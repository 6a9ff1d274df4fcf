package sim

import (
	"reflect"
	"slices"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// Shrink makes a failing run as short as it can in the given time and returns it with its transcript.
func Shrink(f *Failure, opt Options, patience time.Duration) *Failure {
	s := &shrinker{best: f, opt: opt, end: time.Now().Add(patience)}
	if whole := *f.Script; whole.InParts {
		whole.InParts = false
		s.try(&whole)
	}
	for again := true; again && !s.late(); {
		again = s.dropOps() || s.simplifyOps() || s.loosenConfig()
	}
	opt.record = true
	if told := Replay(s.best.Script, opt); told != nil {
		return told
	}
	return s.best
}

type shrinker struct {
	best *Failure
	opt  Options
	end  time.Time
}

func (s *shrinker) late() bool { return time.Now().After(s.end) }

// try runs a candidate and keeps it when it fails, too.
func (s *shrinker) try(script *Script) bool {
	if s.late() {
		return false
	}
	f := Replay(script, s.opt)
	if f == nil || f.At < 0 {
		return false
	}
	f.Script = &Script{Config: script.Config, InParts: script.InParts, Ops: slices.Clone(script.Ops[:min(f.At+1, len(script.Ops))])}
	s.best = f
	return true
}

// with is the best script with other operations.
func (s *shrinker) with(ops []Op) *Script {
	return &Script{Config: s.best.Script.Config, InParts: s.best.Script.InParts, Ops: ops}
}

// dropOps leaves out operations, many at a time first.
func (s *shrinker) dropOps() (any bool) {
	for size := max(1, len(s.best.Script.Ops)/2); size > 0; size /= 2 {
		for at := 0; at < len(s.best.Script.Ops); {
			ops := s.best.Script.Ops
			fewer := append(slices.Clone(ops[:at]), ops[min(at+size, len(ops)):]...)
			if s.try(s.with(fewer)) {
				any = true
			} else {
				at += size
			}
		}
	}
	return any
}

// simplifyOps leaves out lines, pieces and repetitions.
func (s *shrinker) simplifyOps() (any bool) {
	for i := 0; i < len(s.best.Script.Ops); i++ {
		for _, simpler := range simplerOps(s.best.Script.Ops[i]) {
			ops := slices.Clone(s.best.Script.Ops)
			ops[i] = simpler
			if s.try(s.with(ops)) {
				any = true
				break
			}
		}
	}
	return any
}

func simplerOps(op Op) (list []Op) {
	with := func(change func(*Op)) {
		simpler := op
		simpler.Lines = slices.Clone(op.Lines)
		change(&simpler)
		list = append(list, simpler)
	}
	if len(op.Cuts) > 0 {
		with(func(o *Op) { o.Cuts = nil })
	}
	if op.Hold > 0 {
		with(func(o *Op) { o.Hold = 0 })
	}
	for i, line := range op.Lines {
		if len(op.Lines) > 1 {
			with(func(o *Op) { o.Lines = slices.Delete(o.Lines, i, i+1) })
		}
		if line.Repeat > 1 {
			with(func(o *Op) { o.Lines[i].Repeat = 0 })
			with(func(o *Op) { o.Lines[i].Repeat = line.Repeat / 2 })
			with(func(o *Op) { o.Lines[i].Repeat = line.Repeat - 1 })
		}
	}
	if op.Config != nil {
		for i := range op.Config.Principals {
			with(func(o *Op) {
				next := *op.Config
				next.Principals = slices.Delete(slices.Clone(next.Principals), i, i+1)
				o.Config = &next
			})
		}
	}
	return list
}

// loosenConfig gives limits their default again, and takes principals away.
func (s *shrinker) loosenConfig() (any bool) {
	standard := relay.DefaultLimits()
	standard.SlotsMax = 64
	standard.InflightPerConnectionMax = 64
	for i := range reflect.TypeOf(standard).NumField() {
		script := *s.best.Script
		field := reflect.ValueOf(&script.Config.Limits).Elem().Field(i)
		want := reflect.ValueOf(standard).Field(i)
		if !reflect.DeepEqual(field.Interface(), want.Interface()) {
			field.Set(want)
			any = s.try(&script) || any
		}
	}
	for i := len(s.best.Script.Config.Principals) - 1; i >= 0; i-- {
		script := *s.best.Script
		script.Config.Principals = slices.Delete(slices.Clone(script.Config.Principals), i, i+1)
		any = s.try(&script) || any
	}
	return any
}
