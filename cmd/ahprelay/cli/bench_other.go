//go:build !linux

package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

// bench is there so that its absence is explained: the generator polls and reads CPU times as only
// Linux lets it.
func (p *Program) bench() *cobra.Command {
	return &cobra.Command{
		Use:     "bench",
		Short:   "measure a relay (Linux only)",
		Example: "  ahprelay bench --list",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("the load generator runs on Linux only")
		},
		DisableFlagParsing: true,
	}
}
