// Command ahprelay is a relay for services of clients of the Agent Host Protocol, and their command
// line.
package main

import (
	"os"

	"github.com/ahprelay/ahprelay/cmd/ahprelay/cli"
)

// Set by the linker: -ldflags "-X main.version=1.2.3 -X main.commit=abc".
var version, commit string

func main() {
	p := &cli.Program{Version: version, Commit: commit, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ()}
	os.Exit(p.Main(os.Args[1:]))
}
