//go:build linux

package bench

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// disturbing is how many CPUs other processes may use before the report says so.
const disturbing = 0.15

// machineBusy returns the CPU time that the machine has spent on anything since boot, interrupts
// included, in steps of 10 ms.
func machineBusy() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("reading the machine's load: %w", err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	// cpu, then ticks: user nice system idle iowait irq softirq, and what a hypervisor took.
	var ticks int64
	for i, field := range bytes.Fields(line) {
		if i == 0 || i == 4 || i == 5 || i > 7 {
			continue
		}
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading the machine's load from %q: %w", line, err)
		}
		ticks += n
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every architecture that Go runs on
	return time.Duration(ticks) * tick, nil
}

// warn says when the figures are not to be trusted: somebody else used the machine meanwhile.
func (r *Report) warn(w io.Writer) error {
	var worst float64
	disturbed := 0
	for i := range r.Rows {
		if median := r.Rows[i].OthersLoad.Median; median > disturbing {
			disturbed++
			worst = max(worst, median)
		}
	}
	if disturbed == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "The machine was not quiet: in %d of %d rows other processes used up to %.2f CPUs. Take these figures as hints.\n", disturbed, len(r.Rows), worst)
	return err
}
