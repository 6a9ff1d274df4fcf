package main

import (
	"os"

	"github.com/ahprelay/ahprelay/bench"
	"github.com/spf13/cobra"
)

// compareCommand measures all systems side by side.
func compareCommand() *cobra.Command {
	o := bench.DefaultOptions()
	var binary string
	cmd := &cobra.Command{
		Use:   "peers",
		Short: "Compare ahprelay with other systems and with floors",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Progress = bench.Terminal(os.Stderr)
			o.Systems = systems(binary)
			report, err := bench.Run(cmd.Context(), o)
			if report != nil {
				if err := report.WriteTable(os.Stdout); err != nil {
					return err
				}
			}
			return err
		},
	}
	o.Flags(cmd.Flags())
	cmd.Flags().StringVar(&binary, "ahprelay", "", "the relay's program; without it only the others are measured")
	return cmd
}

func systems(binary string) []bench.System {
	pairs := []bench.Need{bench.NeedPairs, bench.NeedCalls, bench.NeedIdle}
	routes := []bench.Need{bench.NeedPairs, bench.NeedRoutes, bench.NeedCalls, bench.NeedIdle}
	all := []bench.System{
		&child{name: "bytes", version: "Go, copies bytes", serve: "bytes", oneProc: true, needs: pairs, dialect: verbatim{}},
		&child{name: "gnet", version: "gnet, copies lines", serve: "gnet", oneProc: true, needs: routes, dialect: verbatim{}},
		&child{name: "nats-1", version: natsVersion + ", GOMAXPROCS=1", serve: "nats", oneProc: true, needs: routes, dialect: natsDialect{}},
		&child{name: "nats", version: natsVersion, serve: "nats", needs: routes, dialect: natsDialect{}},
	}
	if binary != "" {
		all = append(all, &bench.Relay{Binary: binary})
	}
	return all
}
