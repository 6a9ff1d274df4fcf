package repo

import (
	"context"
	"fmt"
)

// readBytesMax bounds what one Read may return in all; a caller that plans its reads never meets it.
const readBytesMax = 64 << 20

// Object is what is known of one object. Type is "commit", "tree", "blob" or "tag", and empty when the
// repository does not have the object; Size is that of the whole object in bytes; Data is the part that was
// asked for, nil after Info.
type Object struct {
	OID  OID
	Type string
	Size int64
	Data []byte
}

// Part is a part of an object that Info has described: Length bytes from Offset, cut to the object's end.
type Part struct {
	Object Object
	Offset int64
	Length int64
}

// Info returns type and size of each object, in order, without reading it. The ids must have passed CheckOID.
func (r *Repo) Info(ctx context.Context, oids []OID) ([]Object, error) {
	parts := make([]Part, len(oids))
	for i, oid := range oids {
		parts[i].Object.OID = oid
	}
	found, err := r.batch.ask(ctx, verbInfo, parts)
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", r.name, err)
	}
	return found, nil
}

// Read returns the parts, in order. git unpacks every object as a whole: what a Read costs is the sum of the
// objects' sizes, not of the lengths. An object that has vanished since Info described it comes back with an
// empty Type.
func (r *Repo) Read(ctx context.Context, parts []Part) ([]Object, error) {
	objects := make([]Object, len(parts))
	var whole []Part
	var at []int
	var total int64
	for i, p := range parts {
		p = p.clip()
		objects[i] = p.Object
		if total += p.Length; total > readBytesMax {
			return nil, fmt.Errorf("repository %s: more than %d bytes asked for at once", r.name, readBytesMax)
		}
		if p.Length > 0 && p.Object.Size <= StreamedBytesMin {
			whole, at = append(whole, p), append(at, i)
		}
	}
	found, err := r.batch.ask(ctx, verbContents, whole)
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", r.name, err)
	}
	for n, i := range at {
		objects[i] = found[n]
	}
	for i, p := range parts {
		if p = p.clip(); p.Length == 0 || p.Object.Size <= StreamedBytesMin {
			continue
		}
		if objects[i].Data, err = r.streams.read(ctx, p.Object, p.Offset, p.Length); err != nil {
			return nil, fmt.Errorf("repository %s: %w", r.name, err)
		}
	}
	return objects, nil
}

// clip returns p cut to the object.
func (p Part) clip() Part {
	p.Offset = min(max(p.Offset, 0), p.Object.Size)
	p.Length = min(max(p.Length, 0), p.Object.Size-p.Offset)
	return p
}
