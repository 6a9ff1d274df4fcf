//go:build linux

package bench

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"

	"github.com/goccy/go-json"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// observer follows the catalogue. All observers of a run see the same services, so they must read the
// same bytes: each keeps length and checksum, the first keeps the bytes too.
type observer struct {
	bytes int64
	sum   uint32
	keep  bool
	text  []byte
	total *int64 // bytes of all observers together
}

func (o *observer) accept(buf []byte) error {
	o.bytes += int64(len(buf))
	*o.total += int64(len(buf))
	o.sum = crc32.Update(o.sum, castagnoli, buf)
	if o.keep {
		o.text = append(o.text, buf...)
	}
	return nil
}

// crowd is the observers of a run.
type crowd struct {
	observers []*observer
	total     int64  // bytes that all have read
	seq       uint64 // serverSeq of the snapshot that they started from
}

// gather lets n observers join. No change may be under way.
func (c *cast) gather(n int) (*crowd, error) {
	all := &crowd{}
	for i := range n {
		m := &Member{Name: fmt.Sprintf("o%s-%05d", c.Tag, i), Pair: -1, Observes: true}
		conn, seq, err := observe(m, c.Instance.Addr)
		if err != nil {
			return nil, fmt.Errorf("observer %d: %w", i, err)
		}
		if i > 0 && seq != all.seq {
			return nil, errors.Join(fmt.Errorf("observer %d starts at serverSeq %d, the first at %d", i, seq, all.seq), conn.Close())
		}
		all.seq = seq
		if err := c.take(m, conn); err != nil {
			return nil, err
		}
		o := &observer{keep: i == 0, total: &all.total}
		c.sockets[conn].sink = o
		all.observers = append(all.observers, o)
	}
	return all, nil
}

// observe joins with the catalogue as initial subscription and returns the snapshot's fromSeq.
func observe(m *Member, addr string) (*Conn, uint64, error) {
	conn, err := Dial(addr)
	if err != nil {
		return nil, 0, err
	}
	r, err := introduce(conn, m)
	if err != nil {
		return nil, 0, errors.Join(err, conn.Close())
	}
	if len(r.Snapshots) != 1 {
		return nil, 0, errors.Join(fmt.Errorf("%d snapshots instead of one", len(r.Snapshots)), conn.Close())
	}
	return conn, r.Snapshots[0].FromSeq, nil
}

// agree compares what the observers have read.
func (w *crowd) agree() error {
	first := w.observers[0]
	for i, o := range w.observers {
		if o.bytes != first.bytes || o.sum != first.sum {
			return fmt.Errorf("observer %d read %d bytes with checksum %08x, the first %d bytes with %08x", i, o.bytes, o.sum, first.bytes, first.sum)
		}
	}
	return nil
}

// action is what an observer gets, as far as a run reads it.
type action struct {
	Method string `json:"method"`
	Params struct {
		Seq    uint64 `json:"serverSeq"`
		Action struct {
			Type      string `json:"type"`
			ServiceID string `json:"serviceId"`
		} `json:"action"`
	} `json:"params"`
}

// parseActions reads text, which must be whole lines, and checks that serverSeq grows by one from seq.
func parseActions(text []byte, seq uint64) ([]action, error) {
	var all []action
	for len(text) > 0 {
		n := 0
		for n < len(text) && text[n] != '\n' {
			n++
		}
		if n == len(text) {
			return nil, fmt.Errorf("half an action: %s: %w", quote(text), io.ErrUnexpectedEOF)
		}
		var a action
		if err := json.Unmarshal(text[:n], &a); err != nil {
			return nil, fmt.Errorf("reading action %s: %w", quote(text[:n]), err)
		}
		if seq++; a.Method != "action" || a.Params.Seq != seq {
			return nil, fmt.Errorf("want the action with serverSeq %d, got %s", seq, quote(text[:n]))
		}
		all = append(all, a)
		text = text[n+1:]
	}
	return all, nil
}

// appendUpdate appends the registrar's request number k, which changes a counter in the metadata.
func appendUpdate(dst []byte, id string, k int) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = strconv.AppendInt(dst, int64(k), 10)
	dst = append(dst, `,"method":"client/updateService","params":{`+channel+`,"serviceId":"`+id+`","metadata":`...)
	return append(appendMetadata(dst, k), "}}\n"...)
}

func appendMetadata(dst []byte, k int) []byte {
	dst = append(dst, `{"protocol":"bench","version":`...)
	dst = strconv.AppendInt(dst, int64(1_000_000+k), 10)
	return append(dst, `,"label":"changes all the time"}`...)
}

// appendSet appends the action that observers get for it.
func appendSet(dst []byte, owner *Member, id string, k int, seq uint64) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"action","params":{`+channel+`,"action":{"type":"clientService/set","service":{"serviceId":"`+id+`","clientId":"`+owner.Name+`","metadata":`...)
	dst = append(appendMetadata(dst, k), `}},"serverSeq":`...)
	return append(strconv.AppendUint(dst, seq, 10), "}}\n"...)
}

// appendUpdated appends the answer to request number k.
func appendUpdated(dst []byte, k int) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	return append(strconv.AppendInt(dst, int64(k), 10), `,"result":{}}`+"\n"...)
}
