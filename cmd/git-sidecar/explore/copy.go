package explore

import (
	"context"
	"fmt"
	"io"

	"github.com/ahprelay/ahprelay/cmd/git-sidecar/reader"
)

// Copy writes the bytes of an object to w. One that is too big to be held is written as it arrives, and only
// then is known to be what its name says: on an error what has been written is worthless.
func (r *Remote) Copy(ctx context.Context, oid string, w io.Writer) error {
	if o := r.cache[oid]; o != nil {
		r.stats.CacheHits++
		_, err := w.Write(o.Data)
		return err
	}
	t := &transfer{}
	rest, err := r.request(ctx, []string{oid}, map[string]*transfer{oid: t})
	if err != nil {
		return err
	}
	if t.size > r.whole {
		return r.stream(ctx, oid, t, w)
	}
	for len(rest) > 0 {
		if rest, err = r.request(ctx, rest, map[string]*transfer{oid: t}); err != nil {
			return err
		}
	}
	o, err := r.finish(oid, t)
	if err != nil {
		return err
	}
	_, err = w.Write(o.Data)
	return err
}

// stream is Copy for a big object, of which t is the beginning.
func (r *Remote) stream(ctx context.Context, oid string, t *transfer, w io.Writer) error {
	h := hasher(oid, t.kind, t.size)
	data, offset := t.data, int64(0)
	for {
		h.Write(data)
		if _, err := w.Write(data); err != nil {
			return fmt.Errorf("writing object %s: %w", oid, err)
		}
		if offset += int64(len(data)); offset == t.size {
			break
		}
		answer, err := r.ask(ctx, reader.ObjectsParams{Repo: r.repo, OIDs: []string{oid},
			Ranges: map[string]reader.Range{oid: {Offset: offset, Length: t.size - offset}}})
		if err != nil {
			return err
		}
		if len(answer.Objects) != 1 || answer.Objects[0].OID != oid {
			return fmt.Errorf("the service sent something else than object %s", oid)
		}
		if data, err = piece(&answer.Objects[0], offset, t.kind, t.size); err != nil {
			return err
		}
		if len(data) == 0 {
			return fmt.Errorf("the service sent nothing of object %s from %d on", oid, offset)
		}
	}
	r.stats.Objects++
	r.stats.Bytes += t.size
	return verify(h, oid)
}
