package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// outputBytesMax bounds what one short git command may print: about a million refs.
const outputBytesMax = 128 << 20

// git builds the command lines for one repository.
type git struct {
	path string   // the repository's directory, absolute, without symbolic links
	env  []string // of every git process
	slot chan struct{}
}

// newGit prepares commands for the repository at path. At most two short commands run at a time.
func newGit(path string) *git {
	return &git{path: path, env: environment(path), slot: make(chan struct{}, 2)}
}

// environment is this process's own without any GIT_ variable (they could point git at another repository
// or bring configuration), and with what makes git read only, quiet and local.
func environment(path string) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		// GIT_CONFIG_GLOBAL and GIT_CONFIG_SYSTEM say where the operator's safe.directory is.
		if strings.HasPrefix(name, "GIT_") && name != "GIT_CONFIG_GLOBAL" && name != "GIT_CONFIG_SYSTEM" {
			continue
		}
		if name == "LC_ALL" || name == "LANGUAGE" || name == "PAGER" {
			continue
		}
		env = append(env, kv)
	}
	return append(env,
		"LC_ALL=C",
		"PAGER=cat",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_REPLACE_OBJECTS=1", // an id must always mean the bytes that hash to it
		"GIT_NO_LAZY_FETCH=1",      // a partial clone must not fetch what it lacks (git 2.44) …
		"GIT_ALLOW_PROTOCOL=none",  // … and cannot (any git)
		"GIT_DISCOVERY_ACROSS_FILESYSTEM=0",
		"GIT_CEILING_DIRECTORIES="+filepath.Dir(path), // the repository itself, never one around it
	)
}

// command builds `git … args`, without a context: who starts it ends it.
func (g *git) command(args ...string) *exec.Cmd {
	fixed := []string{
		"--no-pager", "--literal-pathspecs", "-C", g.path,
		"-c", "core.fsmonitor=false", // the repository's own configuration may name programs
		"-c", "core.hooksPath=/dev/null",
	}
	cmd := exec.Command("git", append(fixed, args...)...)
	cmd.Env = g.env
	return cmd
}

// run runs a short git command and returns what it printed. A failure carries git's last line of complaint;
// errors.As finds *exec.ExitError in it.
func (g *git) run(ctx context.Context, args ...string) ([]byte, error) {
	select {
	case g.slot <- struct{}{}:
		defer func() { <-g.slot }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	cmd := g.command(args...)
	complaint := &tail{}
	output := &bounded{}
	cmd.Stdout, cmd.Stderr = output, complaint
	cmd.WaitDelay = time.Second
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start git: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { cmd.Process.Kill() })
	err := cmd.Wait()
	stop()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("git %s: %w%s", args[0], err, complaint)
	}
	return output.Bytes(), nil
}

// exitedWith reports whether err comes from a git command that ended with the given status.
func exitedWith(err error, status int) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == status
}

// gitVersion is what `git version` says, as far as it matters.
type gitVersion struct{ major, minor int }

func (v gitVersion) before(major, minor int) bool {
	return v.major < major || v.major == major && v.minor < minor
}

// version asks git for its version.
func (g *git) version(ctx context.Context) (gitVersion, error) {
	var v gitVersion
	out, err := g.run(ctx, "version")
	if err != nil {
		return v, err
	}
	if _, err := fmt.Sscanf(string(out), "git version %d.%d", &v.major, &v.minor); err != nil {
		return v, fmt.Errorf("git version: unexpected answer %q", out)
	}
	return v, nil
}

// tail keeps the end of what a program writes to its standard error.
type tail struct{ buf []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - 1024; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// String returns ": " and the last line, "" when there is none. Only to be called after the program's end.
func (t *tail) String() string {
	line := bytes.TrimSpace(t.buf)
	if i := bytes.LastIndexByte(line, '\n'); i >= 0 {
		line = line[i+1:]
	}
	if len(line) == 0 {
		return ""
	}
	return ": " + string(line)
}

// bounded is a buffer that refuses to grow beyond outputBytesMax.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > outputBytesMax {
		return 0, fmt.Errorf("more than %d bytes of output", outputBytesMax)
	}
	return b.Buffer.Write(p)
}
