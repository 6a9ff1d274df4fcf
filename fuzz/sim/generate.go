package sim

import (
	"slices"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// generator makes up operations that fit the state of a run.
type generator struct {
	Choices
	world  *world
	model  *model
	steps  int
	step   int
	opened int
	lines  int
}

// next makes up the next operation.
func (g *generator) next() Op {
	if len(g.model.conns) == 0 || len(g.model.conns) < 6 && g.Pick(2+4*len(g.model.conns)) == 0 {
		return g.open()
	}
	if g.step > g.steps*2/3 && g.Pick(60) == 0 {
		return Op{Kind: OpDrain}
	}
	e := g.anyEnd()
	switch n := g.Pick(100); {
	case n < 66:
		return g.send(g.sender(), 1)
	case n < 76:
		return g.send(g.sender(), 2+g.Pick(5))
	case n < 84:
		return Op{Kind: OpTick, Time: one(g, time.Millisecond, 10*time.Millisecond, 100*time.Millisecond, 700*time.Millisecond, time.Second, 2*time.Second, 5*time.Second, 31*time.Second, 11*time.Minute)}
	case n < 88:
		return Op{Kind: OpStall, End: e.number}
	case n < 93:
		return Op{Kind: OpUnstall, End: g.stalled().number, Room: one(g, -1, -1, 1, 20, 150, 400)}
	case n < 96:
		return Op{Kind: OpClose, End: e.number}
	case n < 97:
		return Op{Kind: OpHalf, End: e.number}
	case n < 99:
		return Op{Kind: OpReload, Config: g.config()}
	}
	return g.burst()
}

func (g *generator) open() Op {
	g.opened++
	info := relay.PeerInfo{Transport: "tcp", Remote: "192.0.2.1:1", UID: -1}
	if len(g.model.config.Principals) > 0 {
		info.UID = one(g, -1, -1, 1000, 1001)
		if chance(g, 4) {
			info.CertNames = []string{"cn-c"}
		}
	}
	return Op{Kind: OpOpen, End: g.opened, Info: info}
}

func (g *generator) anyEnd() *end { return one(g, g.model.conns...).end }

// sender prefers connections that can still say something.
func (g *generator) sender() *conn {
	for range 4 {
		if c := one(g, g.model.conns...); c.live() && !c.half {
			return c
		}
	}
	return one(g, g.model.conns...)
}

func (g *generator) stalled() *end {
	for _, c := range g.model.conns {
		if c.room >= 0 && g.Pick(2) == 0 {
			return c.end
		}
	}
	return g.anyEnd()
}

// send makes up lines from one connection and the pieces in which they come.
func (g *generator) send(c *conn, lines int) Op {
	op := Op{Kind: OpSend, End: c.number}
	for range lines {
		op.Lines = append(op.Lines, g.line(g.speech(c)))
	}
	if g.Pick(4) == 0 {
		for range 1 + g.Pick(3) {
			op.Cuts = append(op.Cuts, g.Pick(1000))
		}
	}
	if g.Pick(12) == 0 {
		op.Hold = 1 + g.Pick(100)
	}
	return op
}

func (g *generator) line(text string) Line {
	g.lines++
	l := Line{Number: g.lines, Text: text}
	if g.Pick(12) == 0 {
		l.Repeat = one(g, 2, 3, 6)
	}
	return l
}

// burst makes up many equal lines, enough to fill an output or to change the catalogue too fast.
func (g *generator) burst() Op {
	c := g.sender()
	l := g.line(g.speech(c))
	l.Repeat = one(g, 20, 20, 20, 270)
	return Op{Kind: OpSend, End: c.number, Lines: []Line{l}}
}

// config makes up the configuration of a reload.
func (g *generator) config() *relay.Config {
	next := g.model.config
	next.Principals = slices.Clone(next.Principals)
	identities(g, &next)
	if len(next.Principals) == 0 && g.Pick(2) == 0 {
		next.Principals = slices.Clone(g.model.config.Principals)
	}
	if g.Pick(3) == 0 {
		l := next.Limits
		tighten(g, &l)
		l.ConnectionsMax, l.ServicesMax, l.SlotsMax, l.ReplayActions, l.ResumeEntries =
			next.Limits.ConnectionsMax, next.Limits.ServicesMax, next.Limits.SlotsMax, next.Limits.ReplayActions, next.Limits.ResumeEntries
		if l.Validate() == nil {
			next.Limits = l
		}
	}
	switch g.Pick(12) {
	case 0:
		next.Limits.SlotsMax++
	case 1:
		next.Limits.FrameBytesMax = 1
	case 2:
		if n := len(next.Principals); n > 0 {
			next.Principals = append(next.Principals, next.Principals[n-1])
		}
	case 3:
		next.Overload = 1 - next.Overload
	}
	return &next
}
