package relay

import "github.com/ahprelay/ahprelay/codec"

// Kind sorts frames for the operator. The first four are those of codec.Kind.
type Kind uint8

const (
	KindInvalid      = Kind(codec.KindNone) // received: no JSON, or neither of the three below
	KindNotification = Kind(codec.KindNotification)
	KindRequest      = Kind(codec.KindRequest)
	KindAnswer       = Kind(codec.KindAnswer) // a result or an error, of a service or of the relay itself
	KindAction       = KindAnswer + 1         // sent: a change of the catalogue
	KindControl      = KindAnswer + 2         // sent: what the relay tells by itself: dropped, closing, cancelled
	kinds            = KindAnswer + 3
)

var kindNames = [kinds]string{"invalid", "notification", "request", "answer", "action", "control"}

// String is the word used in metrics.
func (k Kind) String() string { return kindNames[k] }

// ReceivedKinds and SentKinds are the kinds that there are in each direction.
var (
	ReceivedKinds = []Kind{KindNotification, KindRequest, KindAnswer, KindInvalid}
	SentKinds     = []Kind{KindNotification, KindRequest, KindAnswer, KindAction, KindControl}
)

// Traffic is a number of frames and their bytes, LF included.
type Traffic struct{ Frames, Bytes uint64 }

func (t *Traffic) add(bytes int) {
	t.Frames++
	t.Bytes += uint64(bytes)
}

// Received returns what was received of a kind. Notifications are most of what there is, so their frames
// are not counted a second time: they are what the others leave of all.
func (k *Counters) Received(kind Kind) Traffic {
	t := k.in[kind]
	if kind == KindNotification {
		t.Frames = k.FramesIn - k.in[KindRequest].Frames - k.in[KindAnswer].Frames - k.in[KindInvalid].Frames
	}
	return t
}

// Sent returns what was queued to be sent of a kind. Notifications are those that were forwarded.
func (k *Counters) Sent(kind Kind) Traffic {
	t := k.out[kind]
	if kind == KindNotification {
		t.Frames = k.NotifyForwarded
	}
	return t
}

// sent charges n bytes of one line of a kind that were appended to p's output.
func (c *Core) sent(kind Kind, p *peer, n int) {
	c.queued(p, n)
	c.counters.out[kind].add(n)
	c.counters.FramesOut++
}
