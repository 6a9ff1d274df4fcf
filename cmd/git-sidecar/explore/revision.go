package explore

import (
	"bytes"
	"context"
	"fmt"
	"strings"
)

// peelMax bounds how many objects stand between a revision and its tree.
const peelMax = 16

// Tree returns the tree of a revision: HEAD, a ref's name, whole or as git abbreviates it (v1 for
// refs/tags/v1, main for refs/heads/main), or a full object id of a commit, tag or tree.
func (r *Remote) Tree(ctx context.Context, revision string) (string, error) {
	oid, err := r.resolve(ctx, revision)
	if err != nil {
		return "", err
	}
	for range peelMax {
		objects, err := r.Get(ctx, oid)
		if err != nil {
			return "", err
		}
		switch o := objects[0]; o.Type {
		case "tree":
			return o.OID, nil
		case "commit":
			oid, err = header(o, "tree")
		case "tag":
			oid, err = header(o, "object")
		default:
			return "", fmt.Errorf("%s is a %s and has no tree", revision, o.Type)
		}
		if err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("%s is a tag of a tag, more than %d times", revision, peelMax)
}

// header returns the object id in the first line of a commit or tag, which must have the given name.
func header(o *Object, name string) (string, error) {
	line, _, _ := bytes.Cut(o.Data, []byte("\n"))
	oid, ok := bytes.CutPrefix(line, []byte(name+" "))
	if !ok || !isOID(string(oid)) {
		return "", fmt.Errorf("%s %s does not begin with its %s", o.Type, o.OID, name)
	}
	return string(oid), nil
}

// resolve returns the object that a revision names.
func (r *Remote) resolve(ctx context.Context, revision string) (string, error) {
	if isOID(revision) {
		return revision, nil
	}
	if revision == "HEAD" {
		page, err := r.refsPage(ctx, "HEAD", "") // no ref begins so: HEAD alone comes back
		if err != nil {
			return "", err
		}
		if page.Head.OID == "" {
			return "", fmt.Errorf("HEAD, %s, has no commit yet", page.Head.Ref)
		}
		return page.Head.OID, nil
	}
	for _, before := range []string{"", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"} { // git's order
		name := before + revision
		if !strings.HasPrefix(name, "refs/") {
			continue
		}
		page, err := r.refsPage(ctx, name, "")
		if err != nil {
			return "", err
		}
		if len(page.Refs) > 0 && page.Refs[0].Name == name { // of those that begin so it sorts first
			return page.Refs[0].OID, nil
		}
	}
	return "", fmt.Errorf("the repository %s has no revision %q", r.repo, revision)
}
