package cli

import (
	"github.com/spf13/cobra"

	"github.com/ahprelay/ahprelay/bench"
)

func (p *Program) bench() *cobra.Command { return bench.Command() }
