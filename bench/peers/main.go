// Command peers compares ahprelay with what people would pick instead, and with two floors that only
// move bytes, on the scenarios of package bench: same generator, same machine, repetitions interleaved.
//
// nats-server is compiled in and runs as a child process of this program, as do the floors;
// redis-server and mosquitto are taken from the system when they are installed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := compareCommand()
	root.AddCommand(serveCommand())
	root.SilenceUsage, root.SilenceErrors = true, true
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		if errors.Is(err, context.Canceled) {
			os.Exit(130)
		}
		os.Exit(1)
	}
}

// serveCommand runs one of the servers that are compiled in, until SIGTERM. It is what the children of
// a run are started with.
func serveCommand() *cobra.Command {
	servers := map[string]func(ctx context.Context, port int) error{
		"nats":  serveNATS,
		"bytes": serveBytes,
		"gnet":  serveFrames,
	}
	var port int
	cmd := &cobra.Command{
		Use:    "serve {nats|bytes|gnet}",
		Short:  "Run one of the servers that are compiled in",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			serve, ok := servers[args[0]]
			if !ok {
				return fmt.Errorf("no server %q", args[0])
			}
			return serve(cmd.Context(), port)
		},
	}
	cmd.Flags().IntVar(&port, "port", 0, "loopback port to listen on")
	return cmd
}
