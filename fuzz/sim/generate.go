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
	theme  theme
}

// theme is what a run is mostly about.
type theme uint8

const (
	themeAny    theme = iota
	themeCalls        // requests, answers, cancellations
	themeResume       // clients that go and come back while the catalogue changes
	themeFlood        // owners that do not read
	themes
)

// opWeights says how often each kind of operation comes, by theme.
var opWeights = [themes][]int{
	//            send  many tick stall unstall close half reload burst
	themeAny:    {66, 10, 8, 4, 5, 3, 1, 2, 1},
	themeCalls:  {66, 14, 6, 2, 3, 2, 1, 2, 0},
	themeResume: {66, 6, 2, 1, 2, 18, 2, 1, 0},
	themeFlood:  {50, 14, 4, 12, 12, 2, 1, 2, 5},
}

// weighted picks an index by weight.
func weighted(c Choices, weights []int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := c.Pick(sum)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return 0
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
	switch g.Pick(60) {
	case 0, 1:
		return Op{Kind: OpRetry, End: g.stalled().number, Room: one(g, 0, 1, 30, 300, 20000)}
	case 2, 3:
		c := g.model.conns[len(g.model.conns)-1]
		if !c.spoke && len(g.model.config.Principals) > 0 {
			return Op{Kind: OpCertify, End: c.number, Info: relay.PeerInfo{CertNames: []string{one(g, "cn-c", "cn-x")}}}
		}
	case 4:
		if g.Pick(5) == 0 {
			return Op{Kind: OpViolate, End: e.number}
		}
	}
	switch weighted(g, opWeights[g.theme]) {
	case 0:
		return g.send(g.sender(), 1)
	case 1:
		return g.send(g.sender(), 2+g.Pick(5))
	case 2:
		return Op{Kind: OpTick, Time: one(g, time.Millisecond, 10*time.Millisecond, 100*time.Millisecond, 700*time.Millisecond, time.Second, 2*time.Second, 5*time.Second, 31*time.Second, 11*time.Minute)}
	case 3:
		return Op{Kind: OpStall, End: e.number}
	case 4:
		return Op{Kind: OpUnstall, End: g.stalled().number, Room: one(g, -1, -1, 1, 20, 150, 400)}
	case 5:
		if g.theme == themeResume && e == g.model.conns[0].end {
			break // who keeps the catalogue stays
		}
		return Op{Kind: OpClose, End: e.number}
	case 6:
		return Op{Kind: OpHalf, End: e.number}
	case 7:
		return Op{Kind: OpReload, Config: g.config()}
	}
	if g.theme == themeResume {
		return g.send(g.sender(), 1)
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

// sender prefers connections that can still say something, and owners that have something to answer.
func (g *generator) sender() *conn {
	if g.theme == themeResume && g.Pick(3) == 0 {
		return g.model.conns[0]
	}
	for _, k := range g.model.calls {
		if g.Pick(6) == 0 && k.service.owner.live() {
			return k.service.owner
		}
	}
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
	l.Repeat = min(one(g, 20, 20, 20, 270), 1+100_000/(len(g.model.names.fill(l.Text))+1))
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
