package cli

import (
	"fmt"
	"math"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ahprelay/ahprelay/cmd/ahprelay/config"
)

func (p *Program) limits() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "limits [--json]",
		Short: "print where memory can go under a configuration",
		Long: "Prints what can take memory, each at its largest, and what memory_bytes_max comes to on this machine.\n" +
			"Outputs, tails, catalogue and replay share memory_bytes_max: at it the connection that holds most is closed.\n" +
			"The tables come on top. Where memory_bytes_max exceeds the cgroup's or the machine's memory, serve refuses to\n" +
			"start and this command says so and exits 1.\n\n" + configHelp,
		Example: "  ahprelay limits --config ahprelay.toml\n  ahprelay limits --json --connections-max 1000 | jq .totalBytes",
		Args:    between(0, 0, ""),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	source := p.source(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		l, err := source.load()
		if err != nil {
			return err
		}
		memory := config.SystemMemory()
		b := config.NewBudget(l.Limits, memory, fileLimit())
		if asJSON {
			err = printJSON(p.Out, b)
		} else {
			err = p.printBudget(b, l.Limits.MemoryBytesMax == 0)
		}
		if err != nil {
			return err
		}
		return memory.Check(l.Limits.MemoryBytesMax)
	}
	return cmd
}

func (p *Program) printBudget(b config.Budget, automatic bool) error {
	how := "as configured"
	if automatic {
		how = "half of the smaller of cgroup and machine"
	}
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
	row := func(name string, bytes int64, how string) {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", name, bytes, size(bytes), how)
	}
	fmt.Fprintln(w, "WHAT\tBYTES\t\tHOW")
	for _, item := range b.Items {
		if item.Pooled {
			row(item.Name, item.Bytes, item.How)
		}
	}
	row("together", b.PooledBytes, "at most memory_bytes_max")
	for _, item := range b.Items {
		if !item.Pooled {
			row(item.Name, item.Bytes, item.How)
		}
	}
	row("total", b.TotalBytes, "together, and the tables below it")
	fmt.Fprintln(w, "\t\t\t")
	row("memory_bytes_max", b.MemoryBytesMax, how)
	row("cgroup", b.CgroupBytes, unless(b.CgroupBytes, "no limit"))
	row("machine", b.MachineBytes, unless(b.MachineBytes, "unknown"))
	return w.Flush()
}

func unless(bytes int64, zero string) string {
	if bytes == 0 {
		return zero
	}
	return ""
}

// size is bytes for people.
func size(bytes int64) string {
	value, unit := float64(bytes), 0
	for ; value >= 1024 && unit < 4; unit++ {
		value /= 1024
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGT"[unit-1])
}

// fileLimit is how many descriptors a relay may have: it raises its soft limit to the hard one.
func fileLimit() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt32
	}
	return int(min(uint64(limit.Max), 1<<22))
}
