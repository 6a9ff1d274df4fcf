package reader

import (
	"context"
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/ahprelay/ahprelay/cmd/git-sidecar/repo"
	"github.com/ahprelay/ahprelay/codec"
)

// plan decides which bytes of which objects go into one answer, and encodes it.
type plan struct {
	entries []entry
	missing []repo.OID
	order   []int // entries in the order of being served: those that are small for the room first
	room    int   // bytes of the answer left for data, as encoded
	budget  int64 // bytes of data left, before encoding
}

// entry is one object of the answer.
type entry struct {
	part   repo.Part // what is asked for; Length is cut to what is read
	want   int64     // what was asked for
	ranged bool
	data   []byte
	cut    bool // data is less than want
}

// newPlan distributes room, which the answer as a whole may take.
func newPlan(q *objectsQuery, objects []repo.Object, room int) *plan {
	p := &plan{room: room - len(`{"objects":[],"missing":[],"truncated":[]}`), budget: q.maxBytes}
	for _, o := range objects {
		if o.Type == "" {
			p.miss(o.OID)
			continue
		}
		asked, ranged := q.ranges[o.OID]
		offset := min(asked.Offset, o.Size)
		want := o.Size - offset
		if ranged {
			want = min(want, asked.Length)
		}
		e := entry{part: repo.Part{Object: o, Offset: offset, Length: want}, want: want, ranged: ranged}
		p.room -= len(e.append(nil, "base64", nil)) + len(`,`) + len(`"",`) + len(o.OID) // … and in truncated
		p.entries = append(p.entries, e)
	}
	p.sort()
	p.allot()
	return p
}

// miss puts oid on the list of missing objects.
func (p *plan) miss(oid repo.OID) {
	p.missing = append(p.missing, oid)
	p.room -= len(`"",`) + len(oid)
}

// sort makes the order of being served.
func (p *plan) sort() {
	for _, small := range []bool{true, false} {
		for i := range p.entries {
			if small == (p.entries[i].want < int64(p.room/smallFraction)) {
				p.order = append(p.order, i)
			}
		}
	}
}

// allot cuts what is read to what could be sent if no character needed an escape, and puts off what would
// keep git busy for too long. The first in order is never put off.
func (p *plan) allot() {
	left := min(int64(max(p.room, 0)), p.budget)
	unpacked, streamed := int64(0), 0
	for _, i := range p.order {
		part := &p.entries[i].part
		part.Length = min(part.Length, left)
		if part.Length == 0 {
			continue
		}
		if part.Object.Size > repo.StreamedBytesMin {
			streamed++
		} else {
			unpacked += part.Object.Size
		}
		if unpacked > readBytesMax || streamed > streamsMax {
			part.Length = 0
		}
		left -= part.Length
	}
}

// read reads the parts and chooses what of them fits.
func (p *plan) read(ctx context.Context, from *repo.Repo) error {
	parts := make([]repo.Part, len(p.entries))
	for i := range p.entries {
		parts[i] = p.entries[i].part
	}
	objects, err := from.Read(ctx, parts)
	if err != nil {
		return err
	}
	for _, i := range p.order {
		e := &p.entries[i]
		if objects[i].Type == "" { // deleted since we looked
			e.part.Object.Type = ""
			p.miss(e.part.Object.OID)
			continue
		}
		e.data = objects[i].Data
		e.data = e.data[:fit(e.data, int64(len(e.data)) == e.want, p.room)]
		e.cut = int64(len(e.data)) < e.want
		p.room -= encodedLen(e.data)
	}
	return nil
}

// encode returns the answer.
func (p *plan) encode() []byte {
	size := 64
	for i := range p.entries {
		size += len(p.entries[i].data)*4/3 + 256
	}
	out := append(make([]byte, 0, size), `{"objects":[`...)
	var truncated []repo.OID
	first := true
	for i := range p.entries {
		e := &p.entries[i]
		if e.part.Object.Type == "" {
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		encoding := "base64"
		if utf8.Valid(e.data) {
			encoding = "utf-8"
		}
		out = e.append(out, encoding, e.data)
		if e.cut {
			truncated = append(truncated, e.part.Object.OID)
		}
	}
	out = appendOIDs(append(out, `],"missing":[`...), p.missing)
	out = appendOIDs(append(out, `],"truncated":[`...), truncated)
	return append(out, `]}`...)
}

// append appends the entry as JSON.
func (e *entry) append(dst []byte, encoding string, data []byte) []byte {
	dst = append(append(dst, `{"oid":"`...), e.part.Object.OID...)
	dst = append(append(dst, `","type":"`...), e.part.Object.Type...)
	dst = strconv.AppendInt(append(dst, `","size":`...), e.part.Object.Size, 10)
	if e.ranged {
		dst = strconv.AppendInt(append(dst, `,"offset":`...), e.part.Offset, 10)
	}
	dst = append(append(dst, `,"encoding":"`...), encoding...)
	dst = append(dst, `","data":`...)
	if encoding == "utf-8" {
		return append(codec.AppendQuoted(dst, string(data)), '}')
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), data), `"}`...)
}

// appendOIDs appends the elements of an array.
func appendOIDs(dst []byte, oids []repo.OID) []byte {
	for i, oid := range oids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), oid...), '"')
	}
	return dst
}
