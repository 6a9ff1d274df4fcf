// Package cli is the command line of git-sidecar: the service itself and `explore`, the other side of it.
//
// Results go to stdout, everything else to stderr. A command that fails returns an error; Main alone prints it
// and chooses the exit code. The streams belong to the caller; what a command starts (git processes, a
// connection) has ended when it returns.
package cli

import (
	"context"
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
	exitUsage = 2 // it was not tried: wrong arguments
)

// Program is what a main function tells the commands.
type Program struct {
	Version  string // "" is "devel"
	Out, Err io.Writer
	Environ  []string // as os.Environ
}

// Main runs the command that args, the arguments without the program's name, ask for, until it ends or ctx
// does, and returns the exit code.
func (p *Program) Main(ctx context.Context, args []string) int {
	if p.Version == "" {
		p.Version = "devel"
	}
	p.Err = &lines{out: p.Err}
	root := p.root()
	root.SetArgs(args)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(p.Err, "git-sidecar: %s\n", printable(strings.TrimSpace(err.Error())))
	var wrong *usageError
	if errors.As(err, &wrong) {
		fmt.Fprintf(p.Err, "Run \"%s --help\" for usage and an example.\n", cmd.CommandPath())
		return exitUsage
	}
	return exitError
}

func (p *Program) root() *cobra.Command {
	root := p.serve()
	root.AddCommand(p.explore())
	root.Version = p.Version
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SilenceUsage, root.SilenceErrors = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(help(root))
	root.SetFlagErrorFunc(flagError)
	return root
}
