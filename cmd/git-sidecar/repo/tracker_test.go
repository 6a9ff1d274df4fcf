package repo

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/cmd/git-sidecar/fixture"
)

// settle makes every file that the tracker looks at older than settleTime, as time would.
func settle(t *testing.T, f *fixture.Repository) {
	t.Helper()
	past := time.Now().Add(-time.Hour)
	check(t, filepath.WalkDir(filepath.Join(f.Dir, ".git"), func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, past, past)
	}))
}

func TestTrackerSeesEveryKindOfChange(t *testing.T) {
	f := fixture.New(t)
	commit(f, "one")
	tracker := open(t, f).Track()
	look := func(what string, want bool) {
		t.Helper()
		got, err := tracker.Changed(t.Context())
		check(t, err)
		if got != want {
			t.Errorf("%s: changed %v, want %v", what, got, want)
		}
	}
	look("first look", false)
	look("nothing", false)
	for _, step := range []struct {
		what string
		do   func()
		want bool
	}{
		{"commit", func() { commit(f, "two") }, true},
		{"new branch", func() { f.Git("branch", "topic") }, true},
		{"branch in a new directory", func() { f.Git("branch", "deep/er/branch") }, true},
		{"change in that directory", func() { f.Git("branch", "-f", "deep/er/branch", "HEAD^") }, true},
		{"pack-refs", func() { f.Git("pack-refs", "--all") }, false},
		{"tag", func() { f.Git("tag", "-a", "-m", "x", "v1") }, true},
		{"delete a packed ref", func() { f.Git("branch", "-D", "topic") }, true},
		{"switch", func() { f.Git("checkout", "-q", "deep/er/branch") }, true},
		{"detach", func() { f.Git("checkout", "-q", "--detach") }, true},
		{"object without a ref", func() { blob(f, "loose") }, false},
	} {
		settle(t, f)
		look("before "+step.what, false)
		if tracker.moved(time.Now()) {
			t.Errorf("before %s: a settled repository is not left alone", step.what)
		}
		step.do()
		look(step.what, step.want)
		look("after "+step.what, false)
	}
}

func TestTrackerOfALinkedWorktree(t *testing.T) {
	f := fixture.New(t)
	commit(f, "one")
	linked := filepath.Join(t.TempDir(), "linked")
	f.Git("worktree", "add", "-q", "-b", "side", linked)
	r, err := Open(t.Context(), "linked", linked)
	check(t, err)
	defer r.Close()
	tracker := r.Track()
	_, err = tracker.Changed(t.Context())
	check(t, err)
	commit(f, "two")
	changed, err := tracker.Changed(t.Context())
	check(t, err)
	if !changed {
		t.Error("a commit in the main worktree was not seen")
	}
	head, err := r.Head(t.Context())
	check(t, err)
	if head.Ref != "refs/heads/side" {
		t.Errorf("head %v", head)
	}
}
