// Package repo reads Git repositories through the git program: refs, objects and the moment when refs
// change. It knows nothing of relays or JSON.
//
// A Repo owns one long-lived `git cat-file` process (see batch.go), up to four short-lived ones for parts of
// big objects (stream.go), and nothing on disk: it never writes to the repository. Everything that a caller
// can name is checked first: repository names, object ids and ref prefixes (name.go, oid.go). Only full
// lower-case hex object ids are ever written to git's standard input, and no argument of a git command line
// comes from a caller except the directory part of a checked ref prefix.
//
// Of a partial clone only what is there can be read: nothing is fetched, and git gives up a whole batch over one
// object that it would have to fetch, so the call fails.
//
// Slices that the package returns belong to the caller; none aliases a buffer that is used again.
// All methods of Repo may be called from several goroutines at once; a Tracker belongs to one.
package repo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Repo is one open repository.
type Repo struct {
	name      string
	git       *git
	gitDir    string // of this worktree: HEAD
	commonDir string // of all worktrees: refs, packed-refs
	format    string // "sha1" or "sha256"
	batch     *batch
	streams   *streams
	peels     peels
}

// Open checks that path is a repository's own directory (a worktree's top, or a bare repository; never a
// directory somewhere inside one) and starts the reading of it under the given name.
func Open(ctx context.Context, name, path string) (*Repo, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", name, err)
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, fmt.Errorf("repository %s: %w", name, err)
	}
	if stat, err := os.Stat(abs); err != nil || !stat.IsDir() {
		return nil, fmt.Errorf("repository %s: %s is not a directory", name, abs)
	}
	g := newGit(abs)
	version, err := g.version(ctx)
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", name, err)
	}
	if version.before(2, 25) {
		return nil, fmt.Errorf("repository %s: git %d.%d is too old, 2.25 is needed", name, version.major, version.minor)
	}
	out, err := g.run(ctx, "rev-parse", "--absolute-git-dir", "--git-common-dir", "--show-object-format")
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", name, err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != 3 {
		return nil, fmt.Errorf("repository %s: git rev-parse answered %d lines, not 3", name, len(lines))
	}
	common := lines[1]
	if !filepath.IsAbs(common) {
		common = filepath.Join(abs, common)
	}
	r := &Repo{name: name, git: g, gitDir: lines[0], commonDir: common, format: lines[2]}
	r.batch = newBatch(g, !version.before(2, 36))
	r.streams = newStreams(g)
	return r, nil
}

// Close ends the git processes. Calls that are still waiting fail.
func (r *Repo) Close() {
	r.batch.close()
	r.streams.close()
}

// Name returns the name that the repository was opened under.
func (r *Repo) Name() string { return r.name }

// Format returns the hash that names the repository's objects, "sha1" or "sha256".
func (r *Repo) Format() string { return r.format }

// Paired reports that git is older than 2.36 and has no `cat-file --batch-command`: two processes are kept
// open and objects are read one by one, which is correct and slower.
func (r *Repo) Paired() bool { return !r.batch.buffered }

// CheckOID parses an object id of this repository: as ParseOID, and of the length of its hash.
func (r *Repo) CheckOID(text string) (OID, error) {
	oid, err := ParseOID(text)
	if err == nil && oid.Format() != r.format {
		err = fmt.Errorf("%d hex digits in a %s repository", len(text), r.format)
	}
	return oid, err
}
