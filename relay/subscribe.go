package relay

import (
	"strconv"

	"github.com/ahprelay/ahprelay/codec"
)

// snapshotSlack is how many unsent bytes of earlier snapshots do not stand in the way of a further one,
// as long as the transport keeps taking output: a client may send its first requests in one go.
const snapshotSlack = 64 << 10

// channel returns the bit of a channel that exists, 0 for any other.
func channel(raw []byte) uint8 {
	switch {
	case isString(raw, codec.ChannelServices):
		return channelServices
	case isString(raw, codec.ChannelRoot):
		return channelRoot
	}
	return 0
}

// subscribe handles a subscribe request.
func (c *Core) subscribe(p *peer, id, line []byte, m *codec.Message) {
	raw := m.Channel.Of(line)
	if m.Duplicates&codec.MemberChannel != 0 || codec.KindOf(raw) != codec.String {
		c.fail(p, id, codec.CodeInvalidParams, "channel must be a string", nil)
		return
	}
	ch := channel(raw)
	switch {
	case ch == 0:
		c.fail(p, id, codec.CodeNotFound, "no such channel", nil)
		return
	case ch == channelServices && c.anonymous(p):
		c.fail(p, id, codec.CodeAuthRequired, "", c.authData(""))
		return
	case p.subscribed&ch == 0 && subscriptions(p.subscribed|ch) > c.limits.SubscriptionsPerConnectionMax:
		c.fail(p, id, codec.CodeLimit, "", limitData("", "subscriptionsPerConnection"))
		return
	case c.snapshotUnsent(p):
		c.fail(p, id, codec.CodeLimit, "an earlier snapshot has not been read yet", limitData("", "snapshots"))
		return
	}
	c.observe(p, ch)
	c.respond(p, id, c.snapshotsBytes(p, ch), func(b []byte) []byte {
		return append(c.appendSnapshot(append(b, `{"snapshot":`...), p, ch), '}')
	})
	p.snapshotEnd = p.out.sent + uint64(p.out.size)
}

// snapshotUnsent reports whether an earlier snapshot to p still waits to be read.
func (c *Core) snapshotUnsent(p *peer) bool {
	if p.snapshotEnd <= p.out.sent {
		return false
	}
	return p.out.blocked || p.snapshotEnd-p.out.sent > snapshotSlack
}

// unsubscribe handles an unsubscribe notification.
func (c *Core) unsubscribe(p *peer, line []byte, m *codec.Message) {
	ch := channel(m.Channel.Of(line))
	if m.Duplicates&codec.MemberChannel != 0 || ch == 0 {
		c.counters.Ignored++
		return
	}
	p.subscribed &^= ch
	if ch == channelServices {
		c.unobserve(p)
	}
}

// observe subscribes p to channels.
func (c *Core) observe(p *peer, channels uint8) {
	p.subscribed |= channels
	if channels&channelServices != 0 && p.observer < 0 {
		p.observer = len(c.observers)
		c.observers = append(c.observers, p)
	}
}

// unobserve takes p off the list of those who follow the catalogue.
func (c *Core) unobserve(p *peer) {
	if p.observer < 0 {
		return
	}
	last := c.observers[len(c.observers)-1]
	c.observers[p.observer], last.observer = last, p.observer
	c.observers = c.observers[:len(c.observers)-1]
	p.observer = -1
}

// subscriptions counts the channels of a set.
func subscriptions(channels uint8) int {
	return int(channels&channelRoot/channelRoot + channels&channelServices/channelServices)
}

// channels reads a list of channels from params: the set of those that p may observe, the same in order
// without repetition, and the raw names of all others. It returns false when raw is no list of strings.
func (c *Core) channels(p *peer, raw []byte) (set uint8, order []uint8, missing [][]byte, ok bool) {
	if codec.KindOf(raw) != codec.Array {
		return 0, nil, nil, false
	}
	seen := map[string]bool{}
	for it := codec.ArrayElements(raw); ; {
		value, more := it.Next()
		if !more {
			return set, order, missing, true
		}
		if codec.KindOf(value) != codec.String {
			return 0, nil, nil, false
		}
		ch := channel(value)
		switch {
		case ch == 0 || ch == channelServices && c.anonymous(p):
			if name, _ := codec.Unquote(nil, value); !seen[string(name)] {
				seen[string(name)] = true
				missing = append(missing, value)
			}
		case set&ch == 0:
			set |= ch
			order = append(order, ch)
		}
	}
}

// The pieces of a snapshot around the services and the number.
const (
	rootSnapshot     = `{"resource":"` + codec.ChannelRoot + `","state":{"agents":[]},"fromSeq":`
	servicesSnapshot = `{"resource":"` + codec.ChannelServices + `","state":{"services":[`
	servicesEnd      = `]},"fromSeq":`
)

// appendSnapshot appends the snapshot of one channel as p may see it.
func (c *Core) appendSnapshot(b []byte, p *peer, ch uint8) []byte {
	if ch == channelRoot {
		b = append(b, rootSnapshot...)
	} else {
		b = append(b, servicesSnapshot...)
		first := true
		for s := c.services.First; s != nil; s = s.Next() {
			if !c.visible(p, s) {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			b, first = append(b, s.Object...), false
		}
		b = append(b, servicesEnd...)
	}
	return append(strconv.AppendUint(b, c.seq, 10), '}')
}

// snapshotsBytes is how long the array of the snapshots of some channels is.
func (c *Core) snapshotsBytes(p *peer, channels uint8) int {
	digits := len(strconv.AppendUint(nil, c.seq, 10))
	n := len("[]")
	if channels&channelRoot != 0 {
		n += len(rootSnapshot) + digits + len("},")
	}
	if channels&channelServices != 0 {
		n += len(servicesSnapshot) + len(servicesEnd) + digits + len("},")
		services := 0
		for s := c.services.First; s != nil; s = s.Next() {
			if c.visible(p, s) {
				services++
				n += len(s.Object)
			}
		}
		n += max(services-1, 0) // commas
	}
	if channels != 0 {
		n-- // the comma behind the last
	}
	return n
}

// respond answers a request with a result of about need bytes that is built in place.
func (c *Core) respond(p *peer, id []byte, need int, build func([]byte) []byte) {
	b := p.out.tail(need + len(id) + 64)
	before := len(b.B)
	b.B = append(append(append(b.B, `{"jsonrpc":"2.0","id":`...), id...), `,"result":`...)
	b.B = append(build(b.B), "}\n"...)
	c.sent(KindAnswer, p, len(b.B)-before)
}
