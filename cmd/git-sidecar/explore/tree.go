package explore

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Entry is one entry of a tree. Path is relative to where the listing began; git does not say what encoding
// it has.
type Entry struct {
	Mode string // as git prints it, six octal digits: 100644, 100755, 120000, 040000, 160000
	Type string // "blob", "tree", or "commit" for a submodule, whose commit is in another repository
	OID  string
	Path string
}

// IsTree reports whether the entry is a directory.
func (e Entry) IsTree() bool { return e.Type == "tree" }

// parseTree takes a tree object apart: entries of "MODE NAME", NUL and the binary object id.
func parseTree(o *Object) ([]Entry, error) {
	bad := func(why string) error { return fmt.Errorf("tree %s: %s", o.OID, why) }
	if o.Type != "tree" {
		return nil, fmt.Errorf("object %s is a %s, not a tree", o.OID, o.Type)
	}
	var entries []Entry
	idBytes := len(o.OID) / 2
	for rest := o.Data; len(rest) > 0; {
		head, after, ok := bytes.Cut(rest, []byte{0})
		mode, name, spaced := strings.Cut(string(head), " ")
		if !ok || !spaced || len(after) < idBytes {
			return nil, bad("an entry is cut short")
		}
		bits, err := strconv.ParseUint(mode, 8, 18)
		if err != nil {
			return nil, bad(fmt.Sprintf("an entry has the mode %q", mode))
		}
		if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
			return nil, bad(fmt.Sprintf("an entry has the name %q", name))
		}
		entry := Entry{Mode: fmt.Sprintf("%06o", bits), Type: "blob", OID: hex.EncodeToString(after[:idBytes]), Path: name}
		switch bits >> 12 {
		case 0o04:
			entry.Type = "tree"
		case 0o16:
			entry.Type = "commit"
		}
		entries = append(entries, entry)
		rest = after[idBytes:]
	}
	return entries, nil
}

// List returns the entries of a tree, and with recursive instead of its directories what is in them, as
// `git ls-tree -r` does. All trees of one depth are asked for together.
func (r *Remote) List(ctx context.Context, tree string, recursive bool) ([]Entry, error) {
	entries, err := r.entries(ctx, tree)
	if err != nil || !recursive {
		return entries, err
	}
	for slices.ContainsFunc(entries, Entry.IsTree) {
		var oids []string
		for _, e := range entries {
			if e.IsTree() {
				oids = append(oids, e.OID)
			}
		}
		trees, err := r.Get(ctx, oids...)
		if err != nil {
			return nil, err
		}
		var next []Entry
		for _, e := range entries {
			if !e.IsTree() {
				next = append(next, e)
				continue
			}
			below, err := parseTree(trees[0])
			if err != nil {
				return nil, err
			}
			trees = trees[1:]
			for _, b := range below {
				b.Path = e.Path + "/" + b.Path
				next = append(next, b)
			}
		}
		if len(next) > entriesMax {
			return nil, fmt.Errorf("tree %s has more than %d entries", tree, entriesMax)
		}
		entries = next
	}
	return entries, nil
}

// entriesMax bounds a listing: a few small trees can nest to any number of entries.
const entriesMax = 1 << 20

// entries returns the entries of one tree.
func (r *Remote) entries(ctx context.Context, tree string) ([]Entry, error) {
	objects, err := r.Get(ctx, tree)
	if err != nil {
		return nil, err
	}
	return parseTree(objects[0])
}

// Lookup returns what is at path, slash-separated, below a tree; the empty path is the tree itself.
func (r *Remote) Lookup(ctx context.Context, tree, path string) (Entry, error) {
	at := Entry{Mode: "040000", Type: "tree", OID: tree}
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." {
			continue
		}
		if !at.IsTree() {
			return at, fmt.Errorf("%s is not a directory", at.Path)
		}
		entries, err := r.entries(ctx, at.OID)
		if err != nil {
			return at, err
		}
		i := slices.IndexFunc(entries, func(e Entry) bool { return e.Path == name })
		if i < 0 {
			return at, fmt.Errorf("no %q in %s", name, directory(at.Path))
		}
		below := entries[i]
		below.Path = strings.TrimPrefix(at.Path+"/"+name, "/")
		at = below
	}
	return at, nil
}

// directory names the directory at path for people.
func directory(path string) string {
	if path == "" {
		return "the top directory"
	}
	return strconv.Quote(path)
}
