package repo

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// Ref is one reference: its full name (`refs/heads/main`), the object it names, and, when that is an
// annotated tag and Peel has been called, what the tag finally names.
type Ref struct {
	Name   string
	OID    OID
	Peeled OID
}

// Head is where HEAD points. Detached: Ref is empty. On a branch without a commit, as in an empty
// repository: OID is empty.
type Head struct {
	Ref string
	OID OID
}

// Refs returns the refs whose names begin with prefix and sort after after, bytewise ascending. A ref whose
// name is not valid UTF-8 is left out: no JSON string can name it. The prefix must have passed CheckPrefix.
func (r *Repo) Refs(ctx context.Context, prefix, after string) ([]Ref, error) {
	args := []string{"for-each-ref", "--format=%(objectname) %(refname)"}
	if at := strings.LastIndexByte(prefix, '/'); strings.HasPrefix(prefix, "refs/") {
		args = append(args, "--", prefix[:at+1])
	}
	out, err := r.git.run(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", r.name, err)
	}
	refs := make([]Ref, 0, bytes.Count(out, []byte("\n")))
	for line := range strings.Lines(string(out)) {
		oid, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		parsed, err := r.CheckOID(oid)
		if err != nil || name == "" {
			return nil, fmt.Errorf("repository %s: git for-each-ref answered %.100q", r.name, line)
		}
		if strings.HasPrefix(name, prefix) && utf8.ValidString(name) {
			refs = append(refs, Ref{Name: name, OID: parsed})
		}
	}
	slices.SortFunc(refs, func(a, b Ref) int { return strings.Compare(a.Name, b.Name) })
	return refs[sort.Search(len(refs), func(i int) bool { return refs[i].Name > after }):], nil
}

// Head returns where HEAD points now.
func (r *Repo) Head(ctx context.Context) (Head, error) {
	var head Head
	out, err := r.git.run(ctx, "symbolic-ref", "-q", "HEAD")
	if err != nil && !exitedWith(err, 1) { // 1: detached
		return head, fmt.Errorf("repository %s: %w", r.name, err)
	}
	head.Ref = strings.TrimSuffix(string(out), "\n")
	out, err = r.git.run(ctx, "rev-parse", "-q", "--verify", "HEAD")
	if exitedWith(err, 1) { // unborn
		return head, nil
	}
	if err == nil {
		head.OID, err = r.CheckOID(strings.TrimSuffix(string(out), "\n"))
	}
	if err != nil {
		return head, fmt.Errorf("repository %s: HEAD: %w", r.name, err)
	}
	return head, nil
}
