package explore

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"

	"github.com/ahprelay/ahprelay/cmd/git-sidecar/reader"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/repo"
)

// Object is a verified object: Data hash to OID.
type Object struct {
	OID  string
	Type string
	Data []byte
}

// transfer is an object that is arriving, from its beginning.
type transfer struct {
	kind string
	size int64
	data []byte
}

func isOID(text string) bool {
	_, err := repo.ParseOID(text)
	return err == nil
}

// hasher returns the hash that names an object, fed with its header.
func hasher(oid, kind string, size int64) hash.Hash {
	h := sha1.New()
	if repo.OID(oid).Format() == "sha256" {
		h = sha256.New()
	}
	fmt.Fprintf(h, "%s %d\x00", kind, size)
	return h
}

// verify compares what h has been fed with the name oid.
func verify(h hash.Hash, oid string) error {
	if got := hex.EncodeToString(h.Sum(nil)); got != oid {
		return fmt.Errorf("object %s is not what its name says: it hashes to %s", oid, got)
	}
	return nil
}

// Get returns the objects, in order, from the cache or the service, many in one request.
func (r *Remote) Get(ctx context.Context, oids ...string) ([]*Object, error) {
	got := make(map[string]*Object, len(oids))
	var need []string
	for _, oid := range oids {
		if _, asked := got[oid]; asked || r.cache[oid] != nil {
			r.stats.CacheHits++
		} else {
			need = append(need, oid)
		}
		got[oid] = r.cache[oid]
	}
	for len(need) > 0 {
		n := min(r.batch, len(need))
		if err := r.fetch(ctx, need[:n], got); err != nil {
			return nil, err
		}
		need = need[n:]
	}
	objects := make([]*Object, len(oids))
	for i, oid := range oids {
		objects[i] = got[oid]
	}
	return objects, nil
}

// fetch receives the objects into got, asking again for the rest of those that come truncated.
func (r *Remote) fetch(ctx context.Context, oids []string, got map[string]*Object) error {
	arriving := make(map[string]*transfer, len(oids))
	for _, oid := range oids {
		arriving[oid] = &transfer{}
	}
	total := int64(0)
	for len(oids) > 0 {
		rest, err := r.request(ctx, oids, arriving)
		if err != nil {
			return err
		}
		for _, oid := range oids {
			t := arriving[oid]
			if total += int64(len(t.data)); t.size > r.whole || total > fetchMax {
				return fmt.Errorf("object %s has %d bytes, too many to be held", oid, t.size)
			}
			if t.kind == "" || int64(len(t.data)) < t.size || got[oid] != nil {
				continue
			}
			if got[oid], err = r.finish(oid, t); err != nil {
				return err
			}
		}
		oids = rest
	}
	return nil
}

// finish verifies an object that has arrived and keeps it.
func (r *Remote) finish(oid string, t *transfer) (*Object, error) {
	h := hasher(oid, t.kind, t.size)
	h.Write(t.data)
	if err := verify(h, oid); err != nil {
		return nil, err
	}
	o := &Object{OID: oid, Type: t.kind, Data: t.data}
	r.stats.Objects++
	r.stats.Bytes += t.size
	if r.cached+len(o.Data) <= cacheMax {
		r.cached += len(o.Data)
		r.cache[oid] = o
	}
	return o, nil
}

// request asks once for what the transfers of oids lack, and returns the oids that lack something still.
func (r *Remote) request(ctx context.Context, oids []string, arriving map[string]*transfer) ([]string, error) {
	params := reader.ObjectsParams{Repo: r.repo, OIDs: oids}
	for _, oid := range oids {
		if t := arriving[oid]; len(t.data) > 0 {
			if params.Ranges == nil {
				params.Ranges = make(map[string]reader.Range)
			}
			params.Ranges[oid] = reader.Range{Offset: int64(len(t.data)), Length: t.size - int64(len(t.data))}
		}
	}
	answer, err := r.ask(ctx, params)
	if err != nil {
		return nil, err
	}
	progress := false
	for _, o := range answer.Objects {
		t := arriving[o.OID]
		if t == nil {
			return nil, fmt.Errorf("the service sent the object %q, which nobody asked for", o.OID)
		}
		data, err := piece(&o, int64(len(t.data)), t.kind, t.size)
		if err != nil {
			return nil, err
		}
		progress = progress || len(data) > 0 || o.Size == 0
		t.kind, t.size, t.data = o.Type, o.Size, append(t.data, data...)
	}
	var rest []string
	for _, oid := range oids {
		if t := arriving[oid]; t.kind == "" || int64(len(t.data)) < t.size {
			rest = append(rest, oid)
		}
	}
	if !progress {
		return nil, fmt.Errorf("the service sent nothing of %s and %d more objects", rest[0], len(rest)-1)
	}
	return rest, nil
}

// ask performs one getObjects. A missing object is an error.
func (r *Remote) ask(ctx context.Context, params reader.ObjectsParams) (*reader.ObjectsAnswer, error) {
	var answer reader.ObjectsAnswer
	r.stats.Requests++
	if err := r.caller.Call(ctx, r.service, "getObjects", params, &answer); err != nil {
		return nil, fmt.Errorf("reading objects: %w", err)
	}
	if len(answer.Missing) > 0 {
		return nil, fmt.Errorf("the repository %s has no object %s", r.repo, answer.Missing[0])
	}
	return &answer, nil
}

// piece decodes the data of o, which must begin at offset; kind and size are what the object said before, if
// it did.
func piece(o *reader.Object, offset int64, kind string, size int64) ([]byte, error) {
	data := []byte(o.Data)
	if o.Encoding == "base64" {
		var err error
		if data, err = base64.StdEncoding.DecodeString(o.Data); err != nil {
			return nil, fmt.Errorf("the service sent object %s in malformed base64", o.OID)
		}
	} else if o.Encoding != "utf-8" {
		return nil, fmt.Errorf("the service sent object %s in the unknown encoding %q", o.OID, o.Encoding)
	}
	switch {
	case kind != "" && (o.Type != kind || o.Size != size):
		return nil, fmt.Errorf("the service contradicts itself about object %s", o.OID)
	case o.Type == "" || o.Size < 0 || o.Offset != offset || int64(len(data)) > o.Size-offset:
		return nil, fmt.Errorf("the service sent another part of object %s than was asked for", o.OID)
	}
	return data, nil
}
