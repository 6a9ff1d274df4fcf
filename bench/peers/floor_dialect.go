package main

import (
	"bytes"
	"fmt"

	"github.com/ahprelay/ahprelay/bench"
)

// verbatim is the dialect of the floors: the relay's own frames, which arrive as they were sent, so
// that a floor moves the same bytes as the relay reads.
type verbatim struct{ ahp bench.AHP }

// Where a notification names its service: eight decimal digits.
const slotLen = 8

var slotOff = bytes.Index(verbatim{}.Notify(nil, nil, &bench.Service{Index: 12345678}, []byte("{}")), []byte("12345678"))

// Join implements bench.Dialect.
func (verbatim) Join(m *bench.Member, addr string) error {
	conn, err := bench.Dial(addr)
	if err != nil {
		return err
	}
	m.Tx, m.Rx = conn, conn
	var lines []string
	switch {
	case m.Pair >= 0:
		lines = append(lines, fmt.Sprintf("pair %d\n", m.Pair))
	case m.Sends:
		lines = append(lines, "route\n")
	default:
		for _, s := range m.Services {
			lines = append(lines, fmt.Sprintf("slot %d\n", s.Index))
		}
	}
	for _, line := range lines {
		if err := conn.Say(line); err != nil {
			return err
		}
		if _, err := conn.Await("ok"); err != nil {
			return err
		}
	}
	return nil
}

// Notify implements bench.Dialect.
func (v verbatim) Notify(dst []byte, from *bench.Member, to *bench.Service, body []byte) []byte {
	return v.ahp.Notify(dst, from, &bench.Service{ID: fmt.Sprintf("%0*d", slotLen, to.Index)}, body)
}

// Notification implements bench.Dialect.
func (v verbatim) Notification(dst []byte, from *bench.Member, to *bench.Service, body []byte) []byte {
	return v.Notify(dst, from, to, body)
}

// Call implements bench.Dialect.
func (v verbatim) Call(dst []byte, from *bench.Member, to *bench.Service, place int, body []byte) []byte {
	return v.ahp.Call(dst, from, to, place, body)
}

// Handle implements bench.Dialect.
func (v verbatim) Handle(from *bench.Member, to *bench.Service, place int, body []byte) [][]byte {
	return [][]byte{v.Call(nil, from, to, place, body)}
}

// Reply implements bench.Dialect.
func (v verbatim) Reply(from *bench.Member, to *bench.Service, place int, body []byte) [][]byte {
	return [][]byte{v.Answer(nil, from, to, place, body)}
}

// Answer implements bench.Dialect.
func (v verbatim) Answer(dst []byte, from *bench.Member, to *bench.Service, place int, body []byte) []byte {
	return v.ahp.Answer(dst, from, to, place, body)
}

// Receipt implements bench.Dialect.
func (verbatim) Receipt() []byte { return nil }

// Control implements bench.Dialect: a floor says nothing.
func (verbatim) Control([]byte) (n, skip int, err error) { return -1, 0, nil }
