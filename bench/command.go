//go:build linux

package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Output is where a report goes besides the table on standard output.
type Output struct {
	JSON string // a file, "-" for standard output instead of the table, "" for nowhere
	Plot string // a directory for SVG files, "" for none
	List bool   // name the scenarios and run nothing
}

// Flags adds the flags of an Output.
func (o *Output) Flags(f *pflag.FlagSet) {
	f.StringVar(&o.JSON, "json", "", "write everything measured to this `file` as JSON; - is standard output, instead of the table")
	f.Lookup("json").NoOptDefVal = "-"
	f.StringVar(&o.Plot, "plot", "", "write SVG plots into this `directory`")
	f.BoolVar(&o.List, "list", false, "list the scenarios and run nothing")
}

// Write writes the report to all its places.
func (o *Output) Write(r *Report, stdout io.Writer) error {
	if o.JSON == "-" {
		if err := r.WriteJSON(stdout); err != nil {
			return err
		}
	} else if err := r.WriteTable(stdout); err != nil {
		return err
	}
	if o.JSON != "" && o.JSON != "-" {
		if err := writeFile(o.JSON, r.WriteJSON); err != nil {
			return err
		}
	}
	if o.Plot != "" {
		return r.WritePlots(o.Plot)
	}
	return nil
}

// writeFile makes a file of what write writes.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing a result: %w", err)
	}
	return errors.Join(write(f), f.Close())
}

// Command is `ahprelay bench`.
func Command() *cobra.Command {
	o := DefaultOptions()
	var out Output
	var binary, url string
	var pid int
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure a relay: messages per second, CPU per message, memory, latency",
		Long: "Measure a relay: messages per second, server CPU per delivered message, memory, latency.\n\n" +
			"Starts a relay for each repetition, on a free loopback port, or attaches to a running one with\n" +
			"--relay. Every message is checked: a lost, reordered or altered one is an error.",
		Example: "  ahprelay bench --pin --scenario notify\n" +
			"  ahprelay bench --relay tcp://127.0.0.1:7420 --pid $(pidof ahprelay) --scenario request --json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out.List {
				return WriteList(cmd.OutOrStdout(), o.Scale)
			}
			system, err := subject(binary, url, pid)
			if err != nil {
				return err
			}
			o.Systems = []System{system}
			o.Progress = Terminal(os.Stderr)
			report, err := Run(cmd.Context(), o)
			if report == nil || len(report.Rows) == 0 {
				return err
			}
			return errors.Join(err, out.Write(report, cmd.OutOrStdout()))
		},
	}
	o.Flags(cmd.Flags())
	out.Flags(cmd.Flags())
	cmd.Flags().StringVar(&binary, "binary", "", "the program whose serve command is measured (default this one)")
	cmd.Flags().StringVar(&url, "relay", "", "attach to the relay at this `URL` instead of starting one")
	cmd.Flags().IntVar(&pid, "pid", 0, "process id of that relay, to measure its CPU time and memory")
	cmd.MarkFlagsMutuallyExclusive("binary", "relay")
	return cmd
}

// subject is the relay to measure.
func subject(binary, url string, pid int) (System, error) {
	if url != "" {
		return &Attached{URL: url, PID: pid}, nil
	}
	if pid != 0 {
		return nil, &OptionError{errors.New("--pid needs --relay")}
	}
	if binary == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding this program: %w", err)
		}
		binary = self
	}
	return &Relay{Binary: binary}, nil
}

// WriteList names every scenario with its group and title.
func WriteList(w io.Writer, scale float64) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "scenario\tgroup\twhat")
	for _, s := range Scenarios(scale) {
		fmt.Fprintf(t, "%s\t%s\t%s\n", s.Name, s.Group, s.Title)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("writing the list: %w", err)
	}
	return nil
}
