package relay

import (
	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/table"
)

const (
	prefixBytesMax = 768 // of a notification up to its payload; longer ones are not remembered
	prefixPause    = 64  // notifications that are not remembered after one that was of no use
)

// prefix remembers how a sender's latest notification began, up to its payload and except for the id of
// the service: when the next one starts alike, only that id has to be looked up and the payload to be
// scanned, and the envelope that goes out is ready.
//
// Only what the bytes say is remembered. The service, the rights and the limits are looked at for every
// message; what else the outcome depends on is covered by the epoch (limits of the configuration) or
// clears the memory (the sender's principal).
type prefix struct {
	in, out []byte         // up to the payload; empty: nothing is remembered
	gap     int            // where the id stands in in; in out it stands at codec.NotificationIDOffset
	service *table.Service // with that id, when it was looked up; it may have gone
	epoch   uint32
	shape   [2]uint32 // where id and payload of the latest notification stood
	used    bool      // since it was filled
	pause   int
}

// recall forwards a notification that starts like the one before. It reports false, having done
// nothing, when the long way is needed.
func (c *Core) recall(p *peer, line []byte) bool {
	x := &p.prefix
	n, after := len(x.in), x.gap+table.ServiceIDBytes
	if len(line) < n+3 || x.epoch != c.epoch {
		return false
	}
	id := line[x.gap:after]
	s := x.service
	if string(line[:n]) != string(x.in) || !s.Is(id) {
		if string(line[:x.gap]) != string(x.in[:x.gap]) || string(line[after:n]) != string(x.in[after:]) {
			return false
		}
		if s = c.services.Lookup(id); s != nil {
			copy(x.in[x.gap:], id)
			x.service = s
		}
	}
	if s == nil || s.Rights[p.principal]&(rightDiscover|rightNotify) != rightDiscover|rightNotify || c.anonymous(p) {
		return false
	}
	owner := c.peers[s.Owner]
	if s.Dropped > 0 || owner.shedding || owner.out.size > c.limits.QueueBytesSoft/2 {
		return false
	}
	end := len(line) - 2
	if line[end] != '}' || line[end+1] != '}' || codec.SkipValue(line[:end], n, c.limits.DepthMax-2) != end {
		return false
	}
	b := owner.out.tail(len(x.out) + len(line) - n + 1)
	before := len(b.B)
	b.B = append(append(append(b.B, x.out...), line[n:]...), '\n')
	*(*[table.ServiceIDBytes]byte)(b.B[before+codec.NotificationIDOffset:]) = [table.ServiceIDBytes]byte(id)
	c.queued(owner, len(b.B)-before)
	c.counters.in[KindNotification].Bytes += uint64(len(line) + 1)
	c.counters.out[KindNotification].Bytes += uint64(len(b.B) - before)
	x.used = true
	s.Forwards++
	c.counters.NotifyForwarded++
	c.counters.FramesOut++
	return true
}

// foresee has a service fetched that a line in data, which follows line, is for, if that begins like line: it is
// there when the line's turn comes. When lines are of one length, that is the line after the next.
func (c *Core) foresee(p *peer, line, data []byte) {
	gap, size := p.prefix.gap, len(line)
	if size < len(data) && data[size] == '\n' {
		gap += size + 1
	}
	if len(data) >= gap+table.ServiceIDBytes {
		c.services.Prefetch(data[gap : gap+table.ServiceIDBytes])
	}
}

// remember notes how a notification begins that has just gone the long way. The first one of a shape is
// only a hint: traffic that varies gains nothing from being remembered.
func (x *prefix) remember(p *peer, s *table.Service, line []byte, m *codec.Message, epoch uint32) {
	if shape := [2]uint32{m.ServiceID.Off, m.Payload.Off}; x.shape != shape {
		x.shape = shape
		return
	}
	if x.pause > 0 {
		x.pause--
		return
	}
	if len(x.in) > 0 && !x.used {
		x.in, x.pause = x.in[:0], prefixPause
		return
	}
	at, gap := int(m.Payload.Off), int(m.ServiceID.Off)+1
	if m.Payload.Absent() || at > prefixBytesMax || gap > at || int(m.ServiceID.End) != gap+table.ServiceIDBytes+1 || string(line[m.Payload.End:]) != "}}" {
		return
	}
	x.in, x.gap, x.service = append(x.in[:0], line[:at]...), gap, s
	x.out = codec.AppendNotification(x.out[:0], s.ID, p.client, p.label, m.Name.Of(line), nil)
	x.out = x.out[:len(x.out)-len("null}}\n")]
	x.epoch, x.used = epoch, false
}

// forget clears the memory.
func (x *prefix) forget() { x.in, x.shape = x.in[:0], [2]uint32{} }
