package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/goccy/go-json"

	"github.com/ahprelay/ahprelay/cmd/git-sidecar/explore"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/reader"
)

// printRefs prints HEAD and the refs.
func (e *exploration) printRefs(ctx context.Context, remote *explore.Remote) error {
	refs, head, err := remote.Refs(ctx, e.prefix)
	if err != nil {
		return err
	}
	if e.json {
		if refs == nil {
			refs = []reader.Ref{}
		}
		return e.printJSON(reader.RefsAnswer{Refs: refs, Head: head})
	}
	out := bufio.NewWriter(e.p.Out)
	if e.prefix == "" && head.Ref != "" && head.OID != "" {
		fmt.Fprintf(out, "ref: %s\tHEAD\n", printable(head.Ref))
	}
	if e.prefix == "" && head.OID != "" {
		fmt.Fprintf(out, "%s\tHEAD\n", head.OID)
	}
	for _, ref := range refs {
		fmt.Fprintf(out, "%s\t%s\n", ref.OID, printable(ref.Name))
		if ref.Peeled != "" {
			fmt.Fprintf(out, "%s\t%s^{}\n", ref.Peeled, printable(ref.Name))
		}
	}
	return out.Flush()
}

// printPath prints what is at path.
func (e *exploration) printPath(ctx context.Context, remote *explore.Remote, path string) error {
	tree, err := remote.Tree(ctx, e.rev)
	if err != nil {
		return err
	}
	entry, err := remote.Lookup(ctx, tree, path)
	if err != nil {
		return err
	}
	switch entry.Type {
	case "tree":
		return e.printTree(ctx, remote, entry)
	case "commit":
		return fmt.Errorf("%s is a submodule at commit %s of another repository", entry.Path, entry.OID)
	}
	if e.json {
		return e.printFile(ctx, remote, entry)
	}
	return remote.Copy(ctx, entry.OID, e.p.Out)
}

// treeEntry is an entry of a directory in JSON.
type treeEntry struct {
	Mode string `json:"mode"`
	Type string `json:"type"`
	OID  string `json:"oid"`
	Path string `json:"path"`
}

// printTree prints a directory.
func (e *exploration) printTree(ctx context.Context, remote *explore.Remote, tree explore.Entry) error {
	entries, err := remote.List(ctx, tree.OID, e.recursive)
	if err != nil {
		return err
	}
	if e.json {
		list := make([]treeEntry, 0, len(entries))
		for _, entry := range entries {
			list = append(list, treeEntry(entry))
		}
		return e.printJSON(struct {
			OID     string      `json:"oid"`
			Entries []treeEntry `json:"entries"`
		}{tree.OID, list})
	}
	out := bufio.NewWriter(e.p.Out)
	for _, entry := range entries {
		fmt.Fprintf(out, "%s %s %s\t%s\n", entry.Mode, entry.Type, entry.OID, quoted(entry.Path))
	}
	return out.Flush()
}

// quoted returns a file's name as it is if it is plain text, else as a Go string.
func quoted(name string) string {
	if utf8.ValidString(name) && printable(name) == name {
		return name
	}
	return strconv.Quote(name)
}

// printFile prints a file in JSON, in the encoding that the service uses.
func (e *exploration) printFile(ctx context.Context, remote *explore.Remote, entry explore.Entry) error {
	objects, err := remote.Get(ctx, entry.OID)
	if err != nil {
		return err
	}
	data := objects[0].Data
	file := struct {
		treeEntry
		Size     int    `json:"size"`
		Encoding string `json:"encoding"`
		Data     string `json:"data"`
	}{treeEntry(entry), len(data), "utf-8", string(data)}
	if !utf8.Valid(data) {
		file.Encoding, file.Data = "base64", base64.StdEncoding.EncodeToString(data)
	}
	return e.printJSON(file)
}

// printJSON prints v as one line.
func (e *exploration) printJSON(v any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("encoding the result: %w", err)
	}
	_, err := e.p.Out.Write(text.Bytes())
	return err
}
