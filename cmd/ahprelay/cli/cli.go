// Package cli is the command line of ahprelay: one cobra command in each file, the relay's own side
// (serve, config, limits, version) and the client's (services, call, notify, register), which goes
// through the SDK like any other program.
//
// Results go to stdout, everything else to stderr. A command that fails returns an error; Main alone
// prints it and chooses the exit code. The streams belong to the caller; what a command starts (a
// client, a relay, child processes) has ended when it returns.
package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	exitOK    = 0
	exitError = 1 // it was tried and failed
	exitUsage = 2 // it was not tried: wrong arguments or a bad configuration
)

// Program is what a main function tells the commands.
type Program struct {
	Version string // "" asks the build information
	Commit  string

	In       io.Reader
	Out, Err io.Writer
	Environ  []string // as os.Environ
}

// Main runs the command that args, the arguments without the program's name, ask for, and returns the
// exit code.
func (p *Program) Main(args []string) int {
	root := p.root()
	root.SetArgs(args)
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	cmd, err := root.ExecuteC()
	if err == nil {
		return exitOK
	}
	var quiet *reported
	if errors.As(err, &quiet) {
		return exitError
	}
	for line := range strings.SplitSeq(strings.TrimRight(err.Error(), "\n"), "\n") {
		fmt.Fprintf(p.Err, "ahprelay: %s\n", printable(line))
	}
	var wrong *usageError
	if errors.As(err, &wrong) {
		fmt.Fprintf(p.Err, "Run \"%s --help\" for usage and an example.\n", cmd.CommandPath())
		return exitUsage
	}
	var bad *configError
	if errors.As(err, &bad) {
		return exitUsage
	}
	return exitError
}

// Command returns the tree of commands, for whoever documents it.
func (p *Program) Command() *cobra.Command { return p.root() }

func (p *Program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "ahprelay",
		Short: "a relay for services of clients of the Agent Host Protocol",
		Long: "ahprelay connects clients of the Agent Host Protocol: they publish services, discover each other's,\n" +
			"and exchange notifications and requests through it.",
		Example:       "  ahprelay serve\n  ahprelay register --metadata '{\"protocol\":\"echo\"}' --echo\n  ahprelay call protocol=echo hello '{\"to\":\"you\"}'",
		Version:       p.build().Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(p.serve(), p.services(), p.call(), p.notify(), p.register(), p.top(), p.tap(), p.health(), p.bench(), p.config(), p.limits(), p.version())
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetHelpCommand(help(root))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	strict(root)
	return root
}
