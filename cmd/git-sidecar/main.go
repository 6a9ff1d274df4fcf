// Command git-sidecar serves Git repositories to the clients of a relay, read only, and explores those that
// others serve.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/ahprelay/ahprelay/cmd/git-sidecar/cli"
)

// Set by the linker: -ldflags "-X main.version=1.2.3".
var version string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	p := &cli.Program{Version: version, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ()}
	code := p.Main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
