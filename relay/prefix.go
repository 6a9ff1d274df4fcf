package relay

import (
	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/table"
)

const (
	prefixBytesMax = 768 // of a notification up to its payload; longer ones are not remembered
	prefixPause    = 64  // notifications that are not remembered after one that was of no use
)

// prefix remembers how a sender's latest notifications begin: when the next one starts with the same
// bytes, only its payload has to be scanned, and the envelope that goes out is ready.
//
// Only what the bytes say is remembered. Whether the service is still there, the rights and the limits
// are looked at for every message; what else the outcome depends on is covered by the epoch (limits of
// the configuration) or clears the memory (the sender's principal).
type prefix struct {
	service *table.Service // of the latest notification
	in, out []byte         // up to the payload; empty: nothing is remembered
	epoch   uint32
	used    bool // since it was filled
	pause   int
}

// recall forwards a notification that starts like the ones before. It reports false, having done
// nothing, when the long way is needed.
func (c *Core) recall(p *peer, line []byte) bool {
	x := &p.prefix
	n := len(x.in)
	if len(line) < n+3 || string(line[:n]) != string(x.in) || x.epoch != c.epoch {
		return false
	}
	s := x.service
	if !c.services.Has(s) || s.Rights[p.principal]&(rightDiscover|rightNotify) != rightDiscover|rightNotify || c.anonymous(p) {
		return false
	}
	owner := c.peers[s.Owner]
	if s.Dropped > 0 || owner.shedding || owner.out.size > c.limits.QueueBytesSoft/2 {
		return false
	}
	end := codec.SkipValue(line, n, c.limits.DepthMax-2)
	if end != len(line)-2 || line[end] != '}' || line[end+1] != '}' {
		return false
	}
	b := owner.out.tail(len(x.out) + len(line) - n + 1)
	before := len(b.B)
	b.B = append(append(append(b.B, x.out...), line[n:]...), '\n')
	c.queued(owner, len(b.B)-before)
	c.counters.in[KindNotification].Bytes += uint64(len(line) + 1)
	c.counters.out[KindNotification].Bytes += uint64(len(b.B) - before)
	x.used = true
	s.Forwards++
	c.counters.NotifyForwarded++
	c.counters.FramesOut++
	return true
}

// remember notes how a notification begins that has just gone the long way. The first one to a service
// is only a hint: traffic that is spread over services gains nothing from being remembered.
func (x *prefix) remember(p *peer, s *table.Service, line []byte, m *codec.Message, epoch uint32) {
	if x.service != s {
		x.service, x.in, x.pause = s, x.in[:0], 0
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
	at := int(m.Payload.Off)
	if m.Payload.Absent() || at > prefixBytesMax || string(line[m.Payload.End:]) != "}}" {
		return
	}
	x.in = append(x.in[:0], line[:at]...)
	x.out = codec.AppendNotification(x.out[:0], s.ID, p.client, p.label, m.Name.Of(line), nil)
	x.out = x.out[:len(x.out)-len("null}}\n")]
	x.epoch, x.used = epoch, false
}

// forget clears the memory.
func (x *prefix) forget() { x.service, x.in = nil, x.in[:0] }
