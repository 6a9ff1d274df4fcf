package repo

import (
	"bytes"
	"context"
	"sync"
)

const (
	peelsMax     = 1 << 16 // remembered objects; at it all are forgotten
	tagDepthMax  = 16      // tags of tags
	tagBytesMax  = 1 << 20 // a longer tag object is not looked into
	tagBatchSize = 32      // tags read at once
)

// peels remembers what objects peel to: "" for what is no tag. Objects never change, so neither does this.
type peels struct {
	mu    sync.Mutex
	known map[OID]OID
}

// Peel fills in Peeled of the refs that name annotated tags, through tags of tags. A tag whose chain leads to
// an object that the repository lacks stays unpeeled.
//
// This is not left to for-each-ref, which dies on the first ref to a missing object and, before git 2.45,
// peels one level only.
func (r *Repo) Peel(ctx context.Context, refs []Ref) error {
	var unknown []OID
	seen := make(map[OID]bool)
	r.peels.mu.Lock()
	for i := range refs {
		if _, ok := r.peels.known[refs[i].OID]; !ok && !seen[refs[i].OID] {
			seen[refs[i].OID] = true
			unknown = append(unknown, refs[i].OID)
		}
	}
	r.peels.mu.Unlock()
	found, err := r.peel(ctx, unknown)
	if err != nil {
		return err
	}
	r.peels.mu.Lock()
	defer r.peels.mu.Unlock()
	for i := range refs {
		target, ok := found[refs[i].OID]
		if !ok {
			target = r.peels.known[refs[i].OID]
		}
		refs[i].Peeled = target
	}
	if r.peels.known == nil || len(r.peels.known)+len(found) > peelsMax {
		r.peels.known = make(map[OID]OID, len(found))
	}
	for oid, target := range found {
		r.peels.known[oid] = target
	}
	return nil
}

// peel returns what each of oids peels to; an object that is missing now, and may come, is left out.
func (r *Repo) peel(ctx context.Context, oids []OID) (map[OID]OID, error) {
	peeled := make(map[OID]OID, len(oids))
	objects, err := r.Info(ctx, oids)
	if err != nil {
		return nil, err
	}
	at := make(map[OID]OID) // tag that was asked about → tag that its chain has reached
	for _, o := range objects {
		switch o.Type {
		case "":
		case "tag":
			at[o.OID] = o.OID
		default:
			peeled[o.OID] = ""
		}
	}
	for depth := 0; len(at) > 0 && depth < tagDepthMax; depth++ {
		tags := make([]OID, 0, len(at))
		for _, tag := range at {
			tags = append(tags, tag)
		}
		targets, err := r.tagTargets(ctx, tags)
		if err != nil {
			return nil, err
		}
		for asked, tag := range at {
			target := targets[tag]
			switch target.Type {
			case "tag":
				at[asked] = target.OID
				continue
			case "":
			default:
				peeled[asked] = target.OID
			}
			delete(at, asked)
		}
	}
	return peeled, nil
}

// tagTargets returns, by tag, the object that the tag names directly; a tag that is missing, too long or not
// in a tag's format, and one whose target is missing, is left out.
func (r *Repo) tagTargets(ctx context.Context, tags []OID) (map[OID]Object, error) {
	infos, err := r.Info(ctx, tags)
	if err != nil {
		return nil, err
	}
	var parts []Part
	for _, o := range infos {
		if o.Type == "tag" && o.Size <= tagBytesMax {
			parts = append(parts, Part{Object: o, Length: 128}) // "object HEX\n" stands first
		}
	}
	var named []OID
	namedBy := make(map[OID]OID)
	for len(parts) > 0 {
		n := min(tagBatchSize, len(parts))
		read, err := r.Read(ctx, parts[:n])
		if err != nil {
			return nil, err
		}
		parts = parts[n:]
		for _, o := range read {
			line, _, _ := bytes.Cut(o.Data, []byte("\n"))
			hex, _ := bytes.CutPrefix(line, []byte("object "))
			if oid, err := r.CheckOID(string(hex)); err == nil {
				named = append(named, oid)
				namedBy[o.OID] = oid
			}
		}
	}
	infos, err = r.Info(ctx, named)
	if err != nil {
		return nil, err
	}
	byOID := make(map[OID]Object, len(infos))
	for _, o := range infos {
		byOID[o.OID] = o
	}
	targets := make(map[OID]Object, len(namedBy))
	for tag, oid := range namedBy {
		targets[tag] = byOID[oid]
	}
	return targets, nil
}
