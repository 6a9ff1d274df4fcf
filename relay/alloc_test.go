package relay

import (
	"bytes"
	"fmt"
	"testing"
)

// allocations counts those of f, which must be none; under the race detector they mean nothing.
func allocations(t *testing.T, f func()) {
	t.Helper()
	if n := testing.AllocsPerRun(500, f); n != 0 && !raced {
		t.Errorf("%v allocations", n)
	}
}

// pump moves what waits for a connection into a buffer that is kept.
type pump struct {
	w   *world
	out map[PeerID]*[]byte
}

func (p *pump) drain() {
	for {
		id, ok := p.w.core.Dirty()
		if !ok {
			return
		}
		to := p.out[id]
		for {
			out, _ := p.w.core.Take(id)
			if len(out) == 0 {
				break
			}
			*to = append(*to, out...)
			p.w.core.Wrote(p.w.now, id, len(out))
		}
	}
}

func newPump(t *testing.T) (p *pump, owner, caller *end, service string) {
	w := newWorld(t, testConfig())
	owner, caller = w.hello("owner", PeerInfo{UID: -1}), w.hello("caller", PeerInfo{UID: -1})
	service = w.register(owner, `{"protocol":"p"}`)
	return &pump{w: w, out: map[PeerID]*[]byte{owner.id: new([]byte), caller.id: new([]byte)}}, owner, caller, service
}

// forwarded is what a notification is to look like at the owner.
func forwarded(service, params string) string {
	return `{"jsonrpc":"2.0","method":"clientService/notification","params":{"channel":"ahp-client-services://","serviceId":"` + service +
		`","senderClientId":"caller","method":"m","params":` + params + "}}\n"
}

func TestNotificationAllocatesNothing(t *testing.T) {
	p, owner, caller, service := newPump(t)
	one := []byte(`{"jsonrpc":"2.0","method":"clientService/notify","params":{"channel":"ahp-client-services://","serviceId":"` + service + `","method":"m","params":{"x":1}}}` + "\n")
	// Nothing that begins like this one is remembered: what is not the payload stands behind it.
	long := []byte(`{"jsonrpc":"2.0","method":"clientService/notify","params":{"params":{"x":1},"serviceId":"` + service + `","method":"m"}}` + "\n")
	escaped := bytes.Replace(long, []byte(service), escapeFirst(service), 1)
	for name, chunks := range map[string][][]byte{
		"whole":       {one},
		"in two":      {one[:50], one[50:]},
		"long way":    {long},
		"long in two": {long[:50], long[50:]},
		"many":        {bytes.Repeat(one, 20)},
		"escaped id":  {escaped},
	} {
		t.Run(name, func(t *testing.T) {
			got := p.out[owner.id]
			count := bytes.Count(bytes.Join(chunks, nil), []byte("\n"))
			allocations(t, func() {
				*got = (*got)[:0]
				for _, chunk := range chunks {
					p.w.core.Receive(p.w.now, caller.id, chunk)
				}
				p.drain()
			})
			if want := bytes.Repeat([]byte(forwarded(service, `{"x":1}`)), count); !bytes.Equal(*got, want) {
				t.Errorf("got  %s\nwant %s", *got, want)
			}
		})
	}
}

// escapeFirst spells the first character of a service id as an escape.
func escapeFirst(service string) []byte { return fmt.Appendf(nil, `\u%04x%s`, service[0], service[1:]) }

func TestRequestAllocatesNothing(t *testing.T) {
	for name, cut := range map[string]int{"whole": 0, "in two": 30} {
		t.Run(name, func(t *testing.T) {
			p, owner, caller, service := newPump(t)
			request := []byte(`{"jsonrpc":"2.0","id":"a","method":"clientService/request","params":{"channel":"ahp-client-services://","serviceId":"` + service + `","method":"m","params":[1]}}` + "\n")
			answer := make([]byte, 0, 200)
			task, reply := p.out[owner.id], p.out[caller.id]
			send := func(e *end, line []byte) {
				if cut > 0 {
					p.w.core.Receive(p.w.now, e.id, line[:cut])
				}
				p.w.core.Receive(p.w.now, e.id, line[cut:])
				p.drain()
			}
			allocations(t, func() {
				*task, *reply = (*task)[:0], (*reply)[:0]
				send(caller, request)
				rest := (*task)[len(`{"jsonrpc":"2.0","id":`):]
				answer = append(append(append(answer[:0], `{"jsonrpc":"2.0","id":`...), rest[:bytes.IndexByte(rest, ',')]...), `,"result":{"y":2}}`+"\n"...)
				send(owner, answer)
			})
			if got, want := string(*reply), `{"jsonrpc":"2.0","id":"a","result":{"y":2}}`+"\n"; got != want {
				t.Errorf("got %s want %s", got, want)
			}
			if c := p.w.core.Counters(); c.RequestsForwarded != 501 || c.Requests[OutcomeResult] != 501 {
				t.Errorf("%d forwarded, %d answered", c.RequestsForwarded, c.Requests[OutcomeResult])
			}
		})
	}
}

// What is dropped must cost as little: a flood of notifications that go nowhere allocates nothing.
func TestDroppedNotificationAllocatesNothing(t *testing.T) {
	p, _, caller, service := newPump(t)
	p.w.core.limits.QueueBytesSoft = 1 << 10
	for name, params := range map[string]string{
		"unknown":   `{"serviceId":"AAAAAAAAABAAAAAAAAAAAA","method":"m"}`,
		"malformed": `{"serviceId":"` + service + `","method":5}`,
		"overload":  `{"serviceId":"` + service + `","method":"m"}`,
	} {
		if name == "overload" {
			flood := []byte(`{"jsonrpc":"2.0","method":"clientService/notify","params":{"serviceId":"` + service + `","method":"m"}}` + "\n")
			p.w.core.Receive(p.w.now, caller.id, bytes.Repeat(flood, 20))
		}
		line := []byte(`{"jsonrpc":"2.0","method":"clientService/notify","params":` + params + "}\n")
		t.Run(name, func(t *testing.T) {
			allocations(t, func() { p.w.core.Receive(p.w.now, caller.id, line) })
		})
	}
	p.drain()
	if got := p.w.core.Counters().NotifyDropped; got[DropUnknownService] != 501 || got[DropMalformed] != 501 || got[DropOverload] < 501 {
		t.Errorf("dropped: %v", got)
	}
}
