package rpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/client/rpc"
	"github.com/ahprelay/ahprelay/client/rpc/relaytest"
)

// handHost is a host made by hand, to do what a Host never would.
type handHost struct {
	t        *testing.T
	client   *client.Client
	service  *client.Service
	user     *client.Client
	conn     *rpc.Conn
	session  string
	requests chan string // the protocol's requests, as method and params
	acks     chan uint64
	mu       sync.Mutex
}

// byHand makes such a host. answer gives the results of calls, and of the protocol's methods unless it
// returns errOrdinary.
func byHand(t *testing.T, answer func(method string) (any, error), opts ...rpc.Option) *handHost {
	t.Helper()
	h := &handHost{t: t, requests: make(chan string, 64), acks: make(chan uint64, 1024)}
	h.client = relaytest.Joined(t, "hand-host")
	var err error
	h.service, err = h.client.Register(relaytest.Context(t), nil, func(_ context.Context, r *client.Request) (any, error) {
		h.requests <- r.Method + string(r.Params)
		switch r.Method {
		case "$rpc/open":
			var p struct{ Session string }
			if err := r.Decode(&p); err != nil {
				return nil, err
			}
			h.mu.Lock()
			h.session = p.Session
			h.mu.Unlock()
			return nil, nil
		case "$rpc/subscribe":
			return json.RawMessage(`{"subscriptionId":"s","snapshot":7}`), nil
		case "$rpc/start", "$rpc/unsubscribe":
			return nil, nil
		}
		return answer(r.Method)
	}, client.OnNotify(func(_ context.Context, n *client.Notification) {
		var p struct{ Sequence uint64 }
		if n.Method == "$rpc/ack" && n.Decode(&p) == nil {
			h.acks <- p.Sequence
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	h.user = relaytest.Joined(t, "user")
	h.conn = rpc.NewConn(h.user, client.ServiceInfo{ID: h.service.ID(), ClientID: h.client.ClientID()}, opts...)
	t.Cleanup(func() { h.conn.Close(relaytest.Context(t)) })
	return h
}

func (h *handHost) lab() Lab {
	p, err := rpc.Root[Lab](h.conn, contract)
	if err != nil {
		h.t.Fatal(err)
	}
	return labProxy{p}
}

// event sends the event of this sequence from c.
func (h *handHost) event(c *client.Client, sequence int) {
	h.t.Helper()
	params := fmt.Sprintf(`{"subscriptionId":"s","sequence":%d,"value":{"n":%d}}`, sequence, sequence)
	if err := c.Notify(h.sessionID(), "$rpc/event", json.RawMessage(params)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *handHost) sessionID() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session
}

// want waits for a request of the protocol.
func (h *handHost) want(text string) {
	h.t.Helper()
	select {
	case got := <-h.requests:
		if got != text {
			h.t.Fatalf("got %s, want %s", got, text)
		}
	case <-relaytest.Context(h.t).Done():
		h.t.Fatalf("never got %s", text)
	}
}
