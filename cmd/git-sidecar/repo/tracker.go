package repo

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// settleTime is how long after a file's modification another one may leave the same time stamp: file systems
// count in ticks. Until it has passed the refs themselves are compared.
const settleTime = time.Second

// Tracker tells when a repository's refs or HEAD have changed. A look costs a stat per directory that holds
// refs as long as nothing moves: git changes a ref by renaming a file into its directory, which leaves its
// mark on the directory. It is not safe for concurrent use.
type Tracker struct {
	repo  *Repo
	files map[string]stamp
	dirs  map[string]*refDir
	sum   [sha256.Size]byte
	known bool // sum is of the refs as they were at the last look
}

// stamp is what changes about a file when its contents do.
type stamp struct {
	modified time.Time
	size     int64
}

// refDir is one directory of refs with the directories in it, valid as long as its stamp.
type refDir struct {
	stamp stamp
	below []string
}

// Track returns a Tracker of r's refs.
func (r *Repo) Track() *Tracker {
	return &Tracker{repo: r, files: make(map[string]stamp), dirs: make(map[string]*refDir)}
}

// Changed reports whether refs or HEAD differ from the last look. The first look reports false. After an
// error the next look compares with the last one that succeeded.
func (t *Tracker) Changed(ctx context.Context) (bool, error) {
	now := time.Now()
	if !t.moved(now) && t.known {
		return false, nil
	}
	t.known = false // until the refs have been read
	sum, err := t.repo.refsSum(ctx)
	if err != nil {
		return false, err
	}
	changed := sum != t.sum && t.sum != [sha256.Size]byte{}
	t.sum, t.known = sum, true
	return changed, nil
}

// moved looks at the files and directories that git writes refs to, and reports whether one has changed since
// the last look or so recently that its stamp may not show it.
func (t *Tracker) moved(now time.Time) bool {
	moved := false
	for _, path := range []string{
		filepath.Join(t.repo.gitDir, "HEAD"),
		filepath.Join(t.repo.commonDir, "packed-refs"),
		filepath.Join(t.repo.commonDir, "reftable", "tables.list"),
	} {
		next := stampOf(path)
		moved = moved || next != t.files[path] || fresh(next, now)
		t.files[path] = next
	}
	seen := make(map[string]*refDir, len(t.dirs))
	moved = t.walk(filepath.Join(t.repo.commonDir, "refs"), now, seen) || moved
	moved = moved || len(seen) != len(t.dirs)
	t.dirs = seen
	return moved
}

// walk is moved for one directory of loose refs and those below it.
func (t *Tracker) walk(path string, now time.Time, seen map[string]*refDir) bool {
	next := stampOf(path)
	if next == (stamp{}) {
		return false
	}
	dir := t.dirs[path]
	moved := dir == nil || dir.stamp != next || fresh(next, now)
	if moved {
		dir = &refDir{stamp: next}
		entries, err := os.ReadDir(path)
		if err != nil {
			dir.stamp = stamp{} // look again
		}
		for _, entry := range entries {
			if entry.IsDir() {
				dir.below = append(dir.below, filepath.Join(path, entry.Name()))
			}
		}
	}
	seen[path] = dir
	for _, below := range dir.below {
		moved = t.walk(below, now, seen) || moved
	}
	return moved
}

// stampOf returns path's stamp, the zero one when there is no such file.
func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{modified: info.ModTime(), size: info.Size()}
}

// fresh reports whether a file with stamp s may be written again without showing.
func fresh(s stamp, now time.Time) bool {
	return now.Sub(s.modified) < settleTime
}

// refsSum hashes all refs and HEAD.
func (r *Repo) refsSum(ctx context.Context) ([sha256.Size]byte, error) {
	var sum [sha256.Size]byte
	head, err := r.Head(ctx)
	if err != nil {
		return sum, err
	}
	out, err := r.git.run(ctx, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return sum, fmt.Errorf("repository %s: %w", r.name, err)
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %s\n", head.Ref, head.OID)
	hash.Write(out)
	hash.Sum(sum[:0])
	return sum, nil
}
