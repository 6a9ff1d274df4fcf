package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ahprelay/ahprelay/cmd/ahprelay/config"
)

// usageError: the command was called wrongly.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func usage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// configError: the configuration is bad; the error says it all.
type configError struct{ error }

func (e *configError) Unwrap() error { return e.error }

// reported: the command failed and has said why itself.
type reported struct{ error }

func (e *reported) Unwrap() error { return e.error }

// strict makes cmd and everything below it refuse what it does not know, naming what it does know.
func strict(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(flagError)
	cmd.DisableSuggestions = true
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return &usageError{err}
			}
			return nil
		}
	}
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = noSuchCommand
	}
	if cmd.Example == "" { // cobra's own
		cmd.Example = "  source <(ahprelay completion bash)"
		if cmd.HasParent() && cmd.Parent().Name() == "completion" {
			cmd.Example = "  " + cmd.CommandPath() + " > completion." + cmd.Name()
		}
	}
	for _, below := range cmd.Commands() {
		strict(below)
	}
}

// help is cobra's command of that name, which does not fail for what it does not know.
func help(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND…]",
		Short:   "print the help of a command",
		Example: "  ahprelay help call",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || cmd == nil || len(rest) > 0 {
				return usage("no help for %q", strings.Join(args, " "))
			}
			cmd.InitDefaultHelpFlag()
			cmd.InitDefaultVersionFlag()
			return cmd.Help()
		},
	}
}

func noSuchCommand(cmd *cobra.Command, args []string) error {
	var known []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			known = append(known, c.Name())
		}
	}
	if len(args) == 0 {
		return usage("a command is missing: %s", strings.Join(known, ", "))
	}
	return usage("unknown command %q, the nearest known one is %q", args[0], config.Nearest(args[0], known))
}

func flagError(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) || missing.GetSpecifiedShortnames() != "" {
		return &usageError{err}
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	return usage("unknown flag --%s, the nearest known one is --%s", missing.GetSpecifiedName(), config.Nearest(missing.GetSpecifiedName(), known))
}

// between requires that many arguments; want names them.
func between(least, most int, want string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		if most == 0 {
			return fmt.Errorf("unexpected argument %q", args[0])
		}
		return fmt.Errorf("want %s, got %d argument(s)", want, len(args))
	}
}
