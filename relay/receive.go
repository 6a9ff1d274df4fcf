package relay

import (
	"math"
	"time"

	"github.com/ahprelay/ahprelay/codec"
)

// Receive takes bytes from a connection. They are not kept: what is unfinished is copied.
func (c *Core) Receive(now time.Duration, id PeerID, data []byte) {
	c.pressure = math.MaxInt
	c.receive(now, id, data)
}

// ReceiveSome is Receive, but it stops when much has come together for some connection that takes its
// output: that is to be written before it counts as too much. It returns the bytes that are left.
func (c *Core) ReceiveSome(now time.Duration, id PeerID, data []byte) []byte {
	c.pressure = min(segmentBytes, c.limits.QueueBytesSoft/4)
	return c.receive(now, id, data)
}

func (c *Core) receive(now time.Duration, id PeerID, data []byte) []byte {
	p := c.peer(id)
	if p == nil {
		return nil
	}
	c.pressed = false
	c.now = now
	p.received = now
	c.counters.BytesIn += uint64(len(data))
	for p.state <= stateOpen && !p.doomed && !c.pressed {
		limit := c.limits.FrameBytesMax
		if p.state != stateOpen {
			limit = min(limit, handshakeFrameBytesMax)
		}
		line, behind, status := p.framer.Next(data, limit)
		data = behind
		if status == codec.FrameMore {
			break
		}
		if status == codec.FrameTooLong {
			c.close(p, ReasonFrameTooLarge, "a line is longer than the limit")
			break
		}
		if len(p.prefix.in) > 0 && c.services.Crowded() {
			c.foresee(p, line, behind)
		}
		c.line(p, line)
	}
	if held := p.framer.Held(); held != p.held {
		c.memory += int64(held - p.held)
		p.held = held
	}
	if len(c.condemned) > 0 || c.draining || c.Memory() > c.reclaim {
		c.settle()
	}
	if !c.pressed {
		return nil
	}
	c.counters.BytesIn -= uint64(len(data)) // they come again
	return data
}

// line handles one line.
func (c *Core) line(p *peer, line []byte) {
	m := &c.message
	p.frames++
	c.counters.FramesIn++
	if len(p.prefix.in) > 0 && c.tap == nil && c.recall(p, line) {
		return
	}
	molded := len(p.mold.in) > 0 && p.mold.press(line, c.epoch, c.limits.DepthMax, m)
	if !molded && !codec.Parse(line, c.limits.DepthMax, m) {
		c.counters.in[KindInvalid].add(len(line) + 1)
		c.fail(p, nil, codec.CodeParse, "", nil)
		c.stranger(p)
		return
	}
	if m.Strangers > 1 && !molded && !codec.UniqueMembers(line) {
		m.Duplicates |= codec.MemberStranger
	}
	c.counters.in[m.Kind].add(len(line) + 1)
	switch m.Kind {
	case codec.KindNotification:
		c.notification(p, line, m)
	case codec.KindRequest:
		c.request(p, line, m)
		if m.Method == codec.MethodRequest && !molded {
			p.mold.remember(line, m, c.epoch)
		}
	case codec.KindAnswer:
		if p.state == stateOpen {
			c.answer(p, line, m)
		} else {
			c.stranger(p)
		}
	default:
		c.fail(p, nil, codec.CodeInvalidRequest, "", nil)
		c.stranger(p)
	}
}

// stranger closes a connection whose line, before the handshake, was no JSON-RPC 2.0 message at all:
// whatever talks there does not speak the protocol.
func (c *Core) stranger(p *peer) {
	if p.state < stateOpen {
		c.condemn(p, ReasonProtocolErrors, "not a JSON-RPC 2.0 message")
	}
}

// fail answers a request, or a line that is none, with an error. An empty message is the code's own
// text; data is raw JSON or nil. Lines that break the protocol are counted against their sender.
func (c *Core) fail(p *peer, id []byte, code codec.Code, message string, data []byte) {
	if message == "" {
		message = code.Text()
	}
	b := p.out.tail(len(id) + len(message) + len(data) + 96)
	before := len(b.B)
	b.B = codec.AppendError(b.B, id, code, message, data)
	c.sent(KindAnswer, p, len(b.B)-before)
	if code != codec.CodeParse && code != codec.CodeInvalidRequest {
		return
	}
	p.protocolErrors++
	c.counters.ProtocolErrors++
	if p.protocolErrors >= c.limits.ProtocolErrorsMax {
		c.condemn(p, ReasonProtocolErrors, "too many lines broke the protocol")
	}
}

// reply answers a request with a result, raw JSON.
func (c *Core) reply(p *peer, id, result []byte) {
	b := p.out.tail(len(id) + len(result) + 64)
	before := len(b.B)
	b.B = codec.AppendResult(b.B, id, result)
	c.sent(KindAnswer, p, len(b.B)-before)
}
