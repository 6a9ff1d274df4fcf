package repo

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a repository made for one test.
type fixture struct {
	t   *testing.T
	dir string
	env []string
}

// newFixture makes an empty repository on branch main.
func newFixture(t *testing.T, initArgs ...string) *fixture {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, dir: dir, env: append(environment(dir),
		"HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@example.org", "GIT_COMMITTER_DATE=1700000000 +0000",
	)}
	f.git(append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	return f
}

// git runs git in the repository and returns what it prints, trimmed.
func (f *fixture) git(args ...string) string {
	f.t.Helper()
	return f.gitInput("", args...)
}

func (f *fixture) gitInput(input string, args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = f.dir, f.env
	cmd.Stdin = strings.NewReader(input)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatalf("git %v: %v\n%s", args, err, complaint.String())
	}
	return strings.TrimSpace(string(out))
}

// blob stores data and returns its id.
func (f *fixture) blob(data string) OID {
	f.t.Helper()
	return OID(f.gitInput(data, "hash-object", "-w", "--stdin"))
}

// commit makes an empty commit on the current branch.
func (f *fixture) commit(message string) OID {
	f.t.Helper()
	f.git("commit", "-q", "--allow-empty", "-m", message)
	return OID(f.git("rev-parse", "HEAD"))
}

// open opens the fixture for the length of the test.
func (f *fixture) open() *Repo {
	f.t.Helper()
	r, err := Open(f.t.Context(), "work", f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(r.Close)
	return r
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
