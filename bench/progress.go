//go:build linux

package bench

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// progress keeps one line of a terminal up to date.
type progress struct {
	w       io.Writer // nil: silent
	begun   int
	total   int
	reps    int
	started time.Time
}

func newProgress(w io.Writer, o *Options, chosen []*Scenario) *progress {
	p := &progress{w: w, reps: o.Reps, started: time.Now()}
	for _, s := range chosen {
		for _, system := range o.Systems {
			if system.Supports(s.Need) {
				p.total += o.Reps
			}
		}
	}
	return p
}

// step says what runs now. What the line cannot show must not stop the run: errors are dropped.
func (p *progress) step(scenario, system string, rep int) {
	if p.w != nil {
		left := ""
		if p.begun > 0 {
			each := time.Since(p.started) / time.Duration(p.begun)
			left = fmt.Sprintf(", %v left", (each * time.Duration(p.total-p.begun)).Round(time.Second))
		}
		fmt.Fprintf(p.w, "\r\x1b[K[%d/%d] %s on %s, repetition %d of %d%s", p.begun+1, p.total, scenario, system, rep+1, p.reps, left)
	}
	p.begun++
}

// done clears the line.
func (p *progress) done() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// Terminal returns f when it is a terminal, else nil: where progress may be shown.
func Terminal(f *os.File) io.Writer {
	if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err != nil {
		return nil
	}
	return f
}
