package loop

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// Order is kept between one connection and one service, across notifications and requests, while several
// senders do it at once.
func TestOrderAcrossNotificationsAndRequestsUnderLoad(t *testing.T) {
	const senders, each = 4, 2000
	s := run(t, func(c *Config) { c.Relay.Limits.InflightPerConnectionMax = each })
	owner := hello(t, s.addr, "owner")
	id := owner.register(`{}`)
	failed := make(chan error, senders)
	for n := range senders {
		go func() { failed <- sendInOrder(t, s.addr, fmt.Sprint("sender", n), id, each) }()
	}
	next := map[string]int{}
	for range senders * each {
		line := owner.line()
		sender, seq := senderAndNumber(t, line)
		if next[sender] != seq {
			t.Fatalf("%s: number %d after %d", sender, seq, next[sender]-1)
		}
		next[sender]++
		if relayID, ok := relayID(line); ok {
			owner.send(result(relayID, fmt.Sprint(seq)))
		}
	}
	for range senders {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	owner.quiet()
}

// sendInOrder sends numbered messages, two notifications and a request in turn, and checks that the
// answers come in the order of the requests.
func sendInOrder(t testing.TB, addr, clientID, service string, count int) error {
	nc, err := connect(t, addr)
	if err != nil {
		return err
	}
	defer func() { _ = nc.Close() }()
	p := newPeer(t, nc)
	if err := p.trySend(initialize(clientID)); err != nil {
		return err
	}
	if line, err := p.tryLine(); err != nil || !strings.HasPrefix(line, initialized) {
		return fmt.Errorf("initialize: %q, %v", line, err)
	}
	asked := 0
	for i := range count {
		rest := `"method":"m","params":{"n":` + strconv.Itoa(i) + `}`
		line := notify(service, rest)
		if i%3 == 2 {
			line = request(strconv.Itoa(i), service, rest)
			asked++
		}
		if err := p.trySend(line); err != nil {
			return err
		}
	}
	for i := range asked {
		n := strconv.Itoa(3*i + 2)
		if line, err := p.tryLine(); err != nil || line != result(n, n) {
			return fmt.Errorf("answer %d is %q, %v", i, line, err)
		}
	}
	return nil
}

// senderAndNumber reads who sent a message and params.n.
func senderAndNumber(t testing.TB, line string) (sender string, n int) {
	t.Helper()
	_, sender, ok := strings.Cut(line, `"senderClientId":"`)
	sender, rest, ok2 := strings.Cut(sender, `"`)
	_, number, ok3 := strings.Cut(rest, `"params":{"n":`)
	number, _, ok4 := strings.Cut(number, `}`)
	n, err := strconv.Atoi(number)
	if !ok || !ok2 || !ok3 || !ok4 || err != nil {
		t.Fatalf("not a numbered message: %s", line)
	}
	return sender, n
}
