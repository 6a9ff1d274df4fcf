//go:build linux

package bench

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// WriteTable writes one line per scenario and system: medians, and the spread of what matters most.
func (r *Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "scenario\tsystem\tmessages/s\tCPU µs/message\tuser\tserver\tload\tRSS MiB\tp50 µs\tp99\tp99.9\tlimited by\t")
	last := ""
	for _, row := range r.Rows {
		name := row.Scenario
		if name == last {
			name = ""
		}
		last = row.Scenario
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, row.System,
			count(row.PerSecond.Median), Between(row.ServerMicros), Number(row.UserMicros.Median),
			percent(row.ServerLoad), percent(row.GeneratorLoad),
			Number(row.Resident.Median/(1<<20)), Number(row.P50.Median), Number(row.P99.Median), Number(row.P999.Median),
			row.Limit, figures(row.Figures))
	}
	if err := errors.Join(t.Flush(), r.warn(w)); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

// figures shows what only some scenarios measure.
func figures(all map[string]Spread) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, name+" "+Between(all[name]))
	}
	return strings.Join(parts, ", ")
}

// Between shows a median with its minimum and maximum.
func Between(s Spread) string {
	if s == (Spread{}) {
		return "–"
	}
	if s.Min == s.Max {
		return Number(s.Median)
	}
	return fmt.Sprintf("%s (%s–%s)", Number(s.Median), Number(s.Min), Number(s.Max))
}

// percent shows how much of one CPU was used.
func percent(s Spread) string { return fmt.Sprintf("%.0f %%", 100*s.Median) }

// Number shows three significant digits, nothing for zero.
func Number(v float64) string {
	switch a := max(v, -v); {
	case v == 0:
		return "–"
	case a < 1:
		return fmt.Sprintf("%.3f", v)
	case a < 10:
		return fmt.Sprintf("%.2f", v)
	case a < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return count(v)
}

// count shows a whole number with commas between thousands.
func count(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

func (r *Report) find(scenario, system string) *Row {
	for i := range r.Rows {
		if r.Rows[i].Scenario == scenario && r.Rows[i].System == system {
			return &r.Rows[i]
		}
	}
	return nil
}
