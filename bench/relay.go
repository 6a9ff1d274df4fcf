//go:build linux

package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Relay is ahprelay, started from its binary for each repetition.
type Relay struct {
	Binary string // path of the program
	Label  string // "" is "ahprelay"
}

// Name implements System.
func (r *Relay) Name() string {
	if r.Label != "" {
		return r.Label
	}
	return "ahprelay"
}

// Version asks the program.
func (r *Relay) Version() string {
	text, err := exec.Command(r.Binary, "version").Output()
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return first
}

// Supports implements System: everything.
func (r *Relay) Supports(Need) bool { return true }

// config raises the limits that a scenario runs into on purpose. The handling of a message does not
// depend on any of them.
const config = `listen = [%q]
admin = ""
log_level = "error"
coalesce = %q

[limits]
services_per_connection_max = 65536
catalog_changes_per_second_max = 0
handshake_timeout = "10m"
`

// Start implements System.
func (r *Relay) Start(ctx context.Context, s Setting) (*Instance, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	addr := fmt.Sprintf("tcp://127.0.0.1:%d", port)
	coalesce := s.Coalesce
	if coalesce == "" {
		coalesce = "0us"
	}
	path := filepath.Join(s.Dir, "ahprelay.toml")
	if err := os.WriteFile(path, fmt.Appendf(nil, config, addr, coalesce), 0o600); err != nil {
		return nil, fmt.Errorf("writing the relay's configuration: %w", err)
	}
	binary, err := filepath.Abs(r.Binary) // the child runs in another directory
	if err != nil {
		return nil, fmt.Errorf("finding the relay's program: %w", err)
	}
	cmd := exec.Command(binary, "serve", "--config", path)
	cmd.Dir = s.Dir
	p, err := Launch(ctx, cmd, s.CPUs, addr)
	if err != nil {
		return nil, err
	}
	return &Instance{Addr: addr, PID: p.PID(), Dialect: AHP{}, Stop: p.Stop}, nil
}

// Attached is a relay that runs already. It keeps its own limits and is not bound to a CPU.
type Attached struct {
	URL string
	PID int // 0: its CPU time and memory are not measured
}

// Name implements System.
func (a *Attached) Name() string { return "ahprelay" }

// Version implements System.
func (a *Attached) Version() string { return "at " + a.URL }

// Supports implements System.
func (a *Attached) Supports(Need) bool { return true }

// Start implements System.
func (a *Attached) Start(context.Context, Setting) (*Instance, error) {
	return &Instance{Addr: a.URL, PID: a.PID, Dialect: AHP{}}, nil
}
