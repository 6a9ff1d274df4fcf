package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/ahprelay/ahprelay/bench"
)

// child is a server that this program runs as a child process of itself.
type child struct {
	name    string
	version string
	serve   string // argument of the serve command
	oneProc bool   // GOMAXPROCS=1 and one CPU; else all of them
	needs   []bench.Need
	dialect bench.Dialect
}

// Name implements bench.System.
func (c *child) Name() string { return c.name }

// Version implements bench.System.
func (c *child) Version() string { return c.version }

// Supports implements bench.System.
func (c *child) Supports(need bench.Need) bool { return slices.Contains(c.needs, need) }

// Start implements bench.System.
func (c *child) Start(ctx context.Context, s bench.Setting) (*bench.Instance, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	port, err := bench.FreePort()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "serve", c.serve, "--port", fmt.Sprint(port))
	cmd.Dir = s.Dir
	cpus := s.AllCPUs
	if c.oneProc {
		cpus = s.CPUs
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	}
	return launch(ctx, cmd, cpus, port, c.dialect)
}

// launch starts cmd, which listens on port.
func launch(ctx context.Context, cmd *exec.Cmd, cpus []int, port int, dialect bench.Dialect) (*bench.Instance, error) {
	addr := fmt.Sprintf("tcp://127.0.0.1:%d", port)
	p, err := bench.Launch(ctx, cmd, cpus, addr)
	if err != nil {
		return nil, err
	}
	return &bench.Instance{Addr: addr, PID: p.PID(), Dialect: dialect, Stop: p.Stop}, nil
}
