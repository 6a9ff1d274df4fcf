package reader

import (
	"context"

	"github.com/ahprelay/ahprelay/cmd/git-sidecar/repo"
	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
)

// RefsParams are the params of getRefs.
type RefsParams struct {
	Repo   string `json:"repo"`
	Prefix string `json:"prefix,omitempty"`
	After  string `json:"after,omitempty"`
}

// RefsAnswer is the result of getRefs.
type RefsAnswer struct {
	Refs []Ref  `json:"refs"`
	Head Head   `json:"head"`
	Next string `json:"next,omitempty"`
}

// Ref is one reference; Peeled is empty unless it names an annotated tag.
type Ref struct {
	Name   string `json:"name"`
	OID    string `json:"oid"`
	Peeled string `json:"peeled,omitempty"`
}

// Head is where HEAD points: Ref is empty when detached, OID on a branch without a commit.
type Head struct {
	Ref string `json:"ref,omitempty"`
	OID string `json:"oid,omitempty"`
}

func (r *Reader) getRefs(ctx context.Context, params []byte) (any, error) {
	var name, prefixRaw, afterRaw []byte
	if err := members(params, "params", map[string]*[]byte{"repo": &name, "prefix": &prefixRaw, "after": &afterRaw}); err != nil {
		return nil, err
	}
	from, failed := r.find(name)
	if failed != nil {
		return nil, failed
	}
	prefix, after := "", ""
	if prefixRaw != nil {
		if prefix, failed = text(prefixRaw, "prefix"); failed != nil {
			return nil, failed
		}
		if why := repo.CheckPrefix(prefix); why != nil {
			return nil, invalid("prefix", "cannot begin a ref's name: "+why.Error())
		}
	}
	if afterRaw != nil { // is compared with names and goes nowhere else
		if after, failed = text(afterRaw, "after"); failed != nil {
			return nil, failed
		}
	}
	if err := r.begin(ctx); err != nil {
		return nil, r.gitFailed(ctx, from.Name(), err)
	}
	defer r.end()
	answer, err := r.refsPage(ctx, from, prefix, after)
	if err != nil {
		return nil, r.gitFailed(ctx, from.Name(), err)
	}
	return json.RawMessage(answer), nil
}

// refsPage reads and encodes one page.
func (r *Reader) refsPage(ctx context.Context, from *repo.Repo, prefix, after string) ([]byte, error) {
	refs, err := from.Refs(ctx, prefix, after)
	if err != nil {
		return nil, err
	}
	head, err := from.Head(ctx)
	if err != nil {
		return nil, err
	}
	headText := appendMember([]byte{'{'}, "ref", head.Ref)
	headText = append(appendMember(headText, "oid", string(head.OID)), '}')
	page, more := cutPage(refs, r.room()-len(`{"refs":[],"head":}`)-len(headText))
	if err := from.Peel(ctx, page); err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, 4096), `{"refs":[`...)
	for i, ref := range page {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendRef(out, ref)
	}
	out = append(append(out, `],"head":`...), headText...)
	if more {
		out = appendMember(out, "next", page[len(page)-1].Name)
	}
	return append(out, '}'), nil
}

// cutPage returns the refs, from the first, that fit room bytes with a `next` member, each counted as if it
// were an annotated tag; more tells whether some are left. A ref whose name alone is too long for a frame is
// left out, since no page could hold it.
func cutPage(refs []repo.Ref, room int) (page []repo.Ref, more bool) {
	used := 0
	var scratch []byte
	for i, ref := range refs {
		scratch = appendMember(scratch[:0], "next", ref.Name)
		next := len(scratch)
		scratch = appendRef(scratch[:0], repo.Ref{Name: ref.Name, OID: ref.OID, Peeled: ref.OID})
		size := len(scratch) + 1
		if size+next > room {
			continue
		}
		if used+size+next > room {
			return page, true
		}
		used += size
		if page == nil {
			page = make([]repo.Ref, 0, len(refs)-i)
		}
		page = append(page, ref)
	}
	return page, false
}

// appendRef appends ref as JSON.
func appendRef(dst []byte, ref repo.Ref) []byte {
	dst = append(dst, '{')
	dst = appendMember(dst, "name", ref.Name)
	dst = appendMember(dst, "oid", string(ref.OID))
	dst = appendMember(dst, "peeled", string(ref.Peeled))
	return append(dst, '}')
}

// appendMember appends a member of an object, with a comma before it unless it is the first; an empty value
// not at all.
func appendMember(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	if len(dst) > 0 && dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(append(append(dst, '"'), name...), `":`...)
	return codec.AppendQuoted(dst, value)
}
