package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/ahprelay/ahprelay/bench"
)

func (p *Program) bench() *cobra.Command {
	cmd := bench.Command()
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		var wrong *bench.OptionError
		if errors.As(err, &wrong) {
			return usage("%w", err)
		}
		return err
	}
	return cmd
}
