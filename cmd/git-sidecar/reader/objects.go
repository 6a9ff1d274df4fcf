package reader

import (
	"context"
	"fmt"
	"math"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/repo"
	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
)

const (
	oidsMax       = 2000     // objects in one request, at the default frameBytes; fewer below
	oidRoom       = 512      // bytes of an answer kept for each: its entry without data is under half of that
	readBytesMax  = 32 << 20 // sizes of the objects that git unpacks for one request, big ones apart
	streamsMax    = 8        // such big ones read for one request
	smallFraction = 4        // what takes less than this fraction of the room is served first
)

// ObjectsParams are the params of getObjects.
type ObjectsParams struct {
	Repo     string           `json:"repo"`
	OIDs     []string         `json:"oids"`
	MaxBytes *int64           `json:"maxBytes,omitempty"`
	Ranges   map[string]Range `json:"ranges,omitempty"`
}

// Range is a part of an object, in bytes.
type Range struct {
	Offset int64 `json:"offset"`
	Length int64 `json:"length"`
}

// ObjectsAnswer is the result of getObjects.
type ObjectsAnswer struct {
	Objects   []Object `json:"objects"`
	Missing   []string `json:"missing"`
	Truncated []string `json:"truncated"`
}

// Object is one entry of ObjectsAnswer: Data, in the given Encoding, are the object's bytes from Offset.
type Object struct {
	OID      string `json:"oid"`
	Type     string `json:"type"`
	Size     int64  `json:"size"`
	Offset   int64  `json:"offset,omitempty"`
	Encoding string `json:"encoding"`
	Data     string `json:"data"`
}

// objectsQuery is a checked ObjectsParams.
type objectsQuery struct {
	from     *repo.Repo
	oids     []repo.OID // without repetitions
	maxBytes int64
	ranges   map[repo.OID]Range
}

func (r *Reader) getObjects(ctx context.Context, params []byte) (any, error) {
	query, failed := r.objectsQuery(params)
	if failed != nil {
		return nil, failed
	}
	if err := r.begin(ctx); err != nil {
		return nil, r.gitFailed(ctx, query.from.Name(), err)
	}
	defer r.end()
	objects, err := query.from.Info(ctx, query.oids)
	if err != nil {
		return nil, r.gitFailed(ctx, query.from.Name(), err)
	}
	plan := newPlan(query, objects, r.room())
	if err := plan.read(ctx, query.from); err != nil {
		return nil, r.gitFailed(ctx, query.from.Name(), err)
	}
	return json.RawMessage(plan.encode()), nil
}

// objectsQuery checks params.
func (r *Reader) objectsQuery(params []byte) (*objectsQuery, *client.Error) {
	var name, oids, maxBytes, ranges []byte
	err := members(params, "params", map[string]*[]byte{"repo": &name, "oids": &oids, "maxBytes": &maxBytes, "ranges": &ranges})
	if err != nil {
		return nil, err
	}
	q := &objectsQuery{}
	if q.from, err = r.find(name); err != nil {
		return nil, err
	}
	if q.oids, err = oidList(q.from, oids, max(1, min(oidsMax, r.room()/oidRoom))); err != nil {
		return nil, err
	}
	if q.maxBytes, err = count(maxBytes, "maxBytes", math.MaxInt64); err != nil {
		return nil, err
	}
	if ranges != nil {
		q.ranges, err = q.rangesOf(ranges)
	}
	return q, err
}

// oidList checks the member oids and takes out repetitions.
func oidList(from *repo.Repo, value []byte, most int) ([]repo.OID, *client.Error) {
	if codec.KindOf(value) != codec.Array {
		return nil, invalid("oids", "must be an array of object ids")
	}
	seen := make(map[repo.OID]bool)
	var list []repo.OID
	n := 0
	it := codec.ArrayElements(value)
	for element, ok := it.Next(); ok; element, ok = it.Next() {
		member := fmt.Sprintf("oids[%d]", n)
		if n++; n > most {
			problem := fmt.Sprintf("has more than %d entries", most)
			return nil, failure(codeInvalidParams, "invalid params: oids "+problem, data{Member: "oids", Problem: problem, Max: most})
		}
		oid, err := oidOf(from, element, member)
		if err != nil {
			return nil, err
		}
		if !seen[oid] {
			seen[oid] = true
			list = append(list, oid)
		}
	}
	return list, nil
}

// oidOf checks one object id.
func oidOf(from *repo.Repo, value []byte, member string) (repo.OID, *client.Error) {
	hex, failed := text(value, member)
	if failed != nil {
		return "", failed
	}
	oid, err := from.CheckOID(hex)
	if err != nil {
		return "", invalid(member, "is not an object id: "+err.Error())
	}
	return oid, nil
}

// rangesOf checks the member ranges, whose names must be among the oids.
func (q *objectsQuery) rangesOf(value []byte) (map[repo.OID]Range, *client.Error) {
	if codec.KindOf(value) != codec.Object {
		return nil, invalid("ranges", "must be an object, from object id to {offset, length}")
	}
	asked := make(map[repo.OID]bool, len(q.oids))
	for _, oid := range q.oids {
		asked[oid] = true
	}
	ranges := make(map[repo.OID]Range)
	it := codec.ObjectMembers(value)
	for name, part, ok := it.Next(); ok; name, part, ok = it.Next() {
		oid, err := oidOf(q.from, name, "ranges")
		if err != nil {
			return nil, err
		}
		where := "ranges." + string(oid)
		if _, twice := ranges[oid]; twice || !asked[oid] {
			return nil, invalid(where, "is there twice, or not among the oids")
		}
		var offset, length []byte
		if err := members(part, where, map[string]*[]byte{"offset": &offset, "length": &length}); err != nil {
			return nil, err
		}
		var parsed Range
		if parsed.Offset, err = count(offset, where+".offset", 0); err != nil {
			return nil, err
		}
		if parsed.Length, err = count(length, where+".length", math.MaxInt64); err != nil {
			return nil, err
		}
		ranges[oid] = parsed
	}
	return ranges, nil
}
