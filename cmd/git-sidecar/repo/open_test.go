package repo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahprelay/ahprelay/cmd/git-sidecar/fixture"
)

func TestOpenTakesOnlyTheRepositoryItself(t *testing.T) {
	f := fixture.New(t)
	sub := filepath.Join(f.Dir, "sub")
	check(t, os.Mkdir(sub, 0o755))
	check(t, os.WriteFile(filepath.Join(f.Dir, "file"), nil, 0o644))
	link := filepath.Join(t.TempDir(), "link")
	check(t, os.Symlink(f.Dir, link))

	for _, good := range []string{f.Dir, filepath.Join(f.Dir, ".git"), link} {
		r, err := Open(t.Context(), "work", good)
		check(t, err)
		if r.Format() != "sha1" || r.Name() != "work" || r.Paired() {
			t.Errorf("%s: format %s, name %s, paired %v", good, r.Format(), r.Name(), r.Paired())
		}
		r.Close()
	}
	for bad, want := range map[string]string{
		sub:                           "not a git repository",
		filepath.Join(f.Dir, "file"):  "is not a directory",
		filepath.Join(f.Dir, "never"): "no such file",
		t.TempDir():                   "not a git repository",
	} {
		if _, err := Open(t.Context(), "work", bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", bad, err, want)
		}
	}
	if _, err := Open(t.Context(), "../work", f.Dir); err == nil {
		t.Error("a name with .. was accepted")
	}
}

func TestOpenIgnoresGitVariablesOfTheProcess(t *testing.T) {
	f, other := fixture.New(t), fixture.New(t)
	want := commit(f, "one")
	commit(other, "two")
	t.Setenv("GIT_DIR", filepath.Join(other.Dir, ".git"))
	t.Setenv("GIT_OBJECT_DIRECTORY", filepath.Join(other.Dir, ".git", "objects"))
	head, err := open(t, f).Head(t.Context())
	check(t, err)
	if head != (Head{"refs/heads/main", want}) {
		t.Errorf("head %v, want %s", head, want)
	}
}

func TestConfiguredProgramsDoNotRun(t *testing.T) {
	f := fixture.New(t)
	commit(f, "one")
	mark := filepath.Join(t.TempDir(), "mark")
	for _, key := range []string{"core.fsmonitor", "core.pager", "pager.for-each-ref", "core.sshCommand", "core.editor"} {
		f.Git("config", key, "touch "+mark)
	}
	r := open(t, f)
	refs, err := r.Refs(t.Context(), "", "")
	check(t, err)
	check(t, r.Peel(t.Context(), refs))
	_, err = r.Head(t.Context())
	check(t, err)
	if _, err := os.Stat(mark); !os.IsNotExist(err) {
		t.Error("a program that the repository's configuration names has run")
	}
}

func TestReplacedObjectsKeepTheirBytes(t *testing.T) {
	f := fixture.New(t)
	one, two := blob(f, "one"), blob(f, "two")
	f.Git("replace", string(one), string(two))
	if got := readAll(t, open(t, f), one); string(got[0].Data) != "one" {
		t.Errorf("%q", got[0].Data)
	}
}

func TestNames(t *testing.T) {
	for _, good := range []string{"a", "Work-2", "x.git", "0_", strings.Repeat("a", 64)} {
		check(t, CheckName(good))
	}
	for _, bad := range []string{"", ".", "..", "../a", "a/b", "a..b", "-a", ".git", "a b", "a\n", "a\x00", "é", strings.Repeat("a", 65)} {
		if CheckName(bad) == nil {
			t.Errorf("name %q was accepted", bad)
		}
	}
	for _, good := range []string{"", "r", "refs/", "refs/heads/ma", "refs/heads/ü", "heads", strings.Repeat("a", 1024)} {
		check(t, CheckPrefix(good))
	}
	for _, bad := range []string{"/refs", "-x", "--all", "refs/../x", "refs//x", "refs/heads/*", "a b", "a\nb", "a\x00", "a:b", "a^{}", "a@{1}", "\xff", "a\x7f", "a\\", strings.Repeat("a", 1025)} {
		if CheckPrefix(bad) == nil {
			t.Errorf("prefix %q was accepted", bad)
		}
	}
	hex := strings.Repeat("0123456789abcdef", 4)
	for _, good := range []string{hex, hex[:40]} {
		_, err := ParseOID(good)
		check(t, err)
	}
	for _, bad := range []string{"", "HEAD", hex[:39], hex[:41], hex[:63], hex + "0", strings.ToUpper(hex), hex[:39] + "\n", hex[:38] + "\r\n", hex[:39] + "g", hex[:30] + "^{tree}   ", "../../../../../../../../../../etc/passwd"} {
		if _, err := ParseOID(bad); err == nil {
			t.Errorf("oid %q was accepted", bad)
		}
	}
	if _, err := open(t, fixture.New(t)).CheckOID(hex); err == nil {
		t.Error("a SHA-256 id was accepted in a SHA-1 repository")
	}
}
