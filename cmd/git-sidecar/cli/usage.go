package cli

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

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

// help is cobra's command of that name, which does not fail for what it does not know.
func help(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "print the help of a command",
		Example: "  git-sidecar help explore",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || cmd == nil || len(rest) > 0 {
				return usage("no help for %q", strings.Join(args, " "))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// flagError names the flag that was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) || missing.GetSpecifiedShortnames() != "" {
		return &usageError{err}
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	name := missing.GetSpecifiedName()
	return usage("unknown flag --%s, the nearest known one is --%s", name, config.Nearest(name, known))
}

// printable returns s with the characters escaped that do something to a terminal or to the order of the text
// in it: names and messages come from strangers.
func printable(s string) string {
	if !strings.ContainsFunc(s, commanding) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if commanding(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func commanding(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }
