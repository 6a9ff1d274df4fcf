package bench

import (
	"cmp"
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
			count(row.PerSecond.Median), between(row.ServerMicros), number(row.UserMicros.Median),
			percent(row.ServerLoad), percent(row.GeneratorLoad),
			number(row.Resident.Median/(1<<20)), number(row.P50.Median), number(row.P99.Median), number(row.P999.Median),
			row.Limit, figures(row.Figures))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

// figures shows what only some scenarios measure.
func figures(all map[string]Spread) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, name+" "+between(all[name]))
	}
	return strings.Join(parts, ", ")
}

// between shows a median with its minimum and maximum.
func between(s Spread) string {
	if s == (Spread{}) {
		return "–"
	}
	if s.Min == s.Max {
		return number(s.Median)
	}
	return fmt.Sprintf("%s (%s–%s)", number(s.Median), number(s.Min), number(s.Max))
}

// percent shows how much of one CPU was used.
func percent(s Spread) string { return fmt.Sprintf("%.0f %%", 100*s.Median) }

// number shows three significant digits, nothing for zero.
func number(v float64) string {
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

// Ratio is the server CPU of a system per message over that of base, in the same scenario. ok is false
// when either was not measured.
func (r *Report) Ratio(scenario, system, base string) (ratio float64, ok bool) {
	a, b := r.find(scenario, system), r.find(scenario, base)
	if a == nil || b == nil || cmp.Compare(b.ServerMicros.Median, 0) <= 0 {
		return 0, false
	}
	return a.ServerMicros.Median / b.ServerMicros.Median, true
}

func (r *Report) find(scenario, system string) *Row {
	for i := range r.Rows {
		if r.Rows[i].Scenario == scenario && r.Rows[i].System == system {
			return &r.Rows[i]
		}
	}
	return nil
}
