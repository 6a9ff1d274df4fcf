package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ahprelay/ahprelay/cmd/ahprelay/config"
)

// configHelp explains where a configuration comes from.
const configHelp = "Every key is set by a flag (--frame-bytes-max, --auth-required), by an environment variable\n" +
	"(AHPRELAY_LIMITS_FRAME_BYTES_MAX, AHPRELAY_AUTH_REQUIRED; lists with commas) or by the file, in that order of\n" +
	"precedence; [[principal]] only by the file. No file is read unless --config or AHPRELAY_CONFIG names it."

func (p *Program) config() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "check or print a configuration",
		Example: "  ahprelay config show --defaults > ahprelay.toml\n  ahprelay config check ahprelay.toml",
	}
	cmd.AddCommand(p.configCheck(), p.configShow())
	return cmd
}

func (p *Program) configCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check F",
		Short: "validate a configuration file",
		Long: "Validates the file F alone, without flags and environment. Each error is one line that names file, line and\n" +
			"key; what is legal but odd is warned of. Exits 2 for a bad configuration.",
		Example: "  ahprelay config check ahprelay.toml",
		Args:    between(1, 1, "one file"),
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := config.Load(config.Source{File: args[0]})
			if err != nil {
				return &configError{err}
			}
			for _, w := range l.Warnings {
				fmt.Fprintf(p.Err, "ahprelay: warning: %s\n", printable(w))
			}
			_, err = fmt.Fprintf(p.Out, "%s: ok\n", args[0])
			return err
		},
	}
}

func (p *Program) configShow() *cobra.Command {
	var defaults bool
	cmd := &cobra.Command{
		Use:   "show [--defaults]",
		Short: "print the effective configuration and where each value came from",
		Long: "Prints the configuration that serve would run with under the same flags and environment, as TOML with the\n" +
			"origin of each value. With --defaults it prints the complete commented example instead.\n\n" + configHelp,
		Example: "  ahprelay config show --config ahprelay.toml --log-level debug\n  ahprelay config show --defaults > ahprelay.toml",
		Args:    between(0, 0, ""),
	}
	cmd.Flags().BoolVar(&defaults, "defaults", false, "print the commented example with every default")
	source := p.source(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		if defaults {
			_, err := fmt.Fprint(p.Out, config.Example())
			return err
		}
		l, err := source.load()
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(p.Out, l.Show())
		return err
	}
	return cmd
}

// source is where a command's configuration comes from.
type source struct {
	p     *Program
	file  string
	flags *config.Flags
}

// source adds --config and a flag for each key to cmd.
func (p *Program) source(cmd *cobra.Command) *source {
	s := &source{p: p}
	cmd.Flags().StringVar(&s.file, "config", p.getenv("AHPRELAY_CONFIG", ""), "configuration file (env AHPRELAY_CONFIG); none is read unless named")
	cmd.Flags().Lookup("config").DefValue = ""
	s.flags = config.AddFlags(cmd.Flags())
	return s
}

// load reads the configuration and prints its warnings.
func (s *source) load() (*config.Loaded, error) {
	l, err := s.read()
	if err != nil {
		return nil, &configError{err}
	}
	for _, w := range l.Warnings {
		fmt.Fprintf(s.p.Err, "ahprelay: warning: %s\n", printable(strings.TrimSpace(w)))
	}
	return l, nil
}

func (s *source) read() (*config.Loaded, error) {
	return config.Load(config.Source{File: s.file, Env: s.p.Environ, Flags: s.flags})
}
