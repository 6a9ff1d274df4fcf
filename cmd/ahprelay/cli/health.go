package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (p *Program) health() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "tell whether a relay takes connections",
		Long: "Asks the relay's admin server whether it is ready, and exits 0 if so. It exits 1 while the relay starts or drains,\n" +
			"and when nobody answers. It needs no token and is meant for the health checks of containers.",
		Example: "  ahprelay health --admin unix:///run/ahprelay/admin.sock",
		Args:    between(0, 0, ""),
	}
	o := p.operate(cmd)
	_ = cmd.Flags().MarkHidden("admin-token-file") // the answer is open to everybody
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o.tokenFile = ""
		c, err := o.client()
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.Ready(cmd.Context()); err != nil {
			return err
		}
		_, err = fmt.Fprintln(p.Out, "ready")
		return err
	}
	return cmd
}
