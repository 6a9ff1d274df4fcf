package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/ahprelay/ahprelay/bench"
)

// installed is a server that the system's packages provide.
type installed struct {
	name    string
	program string
	version string
	args    func(port int, dir string) ([]string, error)
	needs   []bench.Need
	dialect bench.Dialect
}

var versionText = regexp.MustCompile(`\d+\.\d+\.\d+`)

// find returns s when its program is there. ask are the arguments that make it print its version.
func (s *installed) find(ask string) (*installed, bool) {
	path, err := exec.LookPath(s.program)
	if err != nil {
		// Debian keeps some servers where only root's PATH looks.
		if path, err = exec.LookPath(filepath.Join("/usr/sbin", s.program)); err != nil {
			return nil, false
		}
	}
	s.program = path
	text, _ := exec.Command(path, ask).CombinedOutput() // mosquitto -h exits 3
	s.version = versionText.FindString(string(text))
	return s, true
}

// Name implements bench.System.
func (s *installed) Name() string { return s.name }

// Version implements bench.System.
func (s *installed) Version() string { return s.version }

// Supports implements bench.System.
func (s *installed) Supports(need bench.Need) bool { return slices.Contains(s.needs, need) }

// Start implements bench.System.
func (s *installed) Start(ctx context.Context, set bench.Setting) (*bench.Instance, error) {
	port, err := bench.FreePort()
	if err != nil {
		return nil, err
	}
	args, err := s.args(port, set.Dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(s.program, args...)
	cmd.Dir = set.Dir
	return launch(ctx, cmd, set.CPUs, port, s.dialect)
}

func redis() *installed {
	return &installed{name: "redis", program: "redis-server", needs: routing, dialect: redisDialect{},
		args: func(port int, _ string) ([]string, error) {
			return []string{"--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no"}, nil
		}}
}

func mosquitto() *installed {
	return &installed{name: "mosquitto", program: "mosquitto", needs: routing, dialect: mqttDialect{},
		args: func(port int, dir string) ([]string, error) {
			path := filepath.Join(dir, "mosquitto.conf")
			text := fmt.Sprintf("listener %d 127.0.0.1\nallow_anonymous true\npersistence false\nmax_queued_messages 0\nset_tcp_nodelay true\nlog_dest none\n", port)
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return nil, fmt.Errorf("configuring mosquitto: %w", err)
			}
			return []string{"-c", path}, nil
		}}
}
