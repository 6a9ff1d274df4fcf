package main

import (
	"fmt"
	"io"

	"github.com/ahprelay/ahprelay/bench"
)

// mqttDialect is MQTT 3.1.1 at QoS 0 with a topic for each service and one for a caller's answers.
type mqttDialect struct{}

const (
	mqttConnect   = 0x10
	mqttConnack   = 0x20
	mqttPublish   = 0x30
	mqttSubscribe = 0x82
	mqttSuback    = 0x90
)

func topicOf(s *bench.Service) string { return fmt.Sprintf("svc/%05d", s.Index) }

func answerTopic(m *bench.Member) string { return "re/" + m.Name }

// Join implements bench.Dialect.
func (mqttDialect) Join(m *bench.Member, addr string) error {
	conn, err := bench.Dial(addr)
	if err != nil {
		return err
	}
	m.Tx, m.Rx = conn, conn
	hello := append(mqttText(nil, "MQTT"), 4, 2, 0, 0) // level 3.1.1, clean session, no keep-alive
	if err := exchange(conn, mqttPacket(nil, mqttConnect, mqttText(hello, m.Name)), mqttConnack); err != nil {
		return err
	}
	topics := make([]string, 0, len(m.Services)+1)
	for _, s := range m.Services {
		topics = append(topics, topicOf(s))
	}
	if m.Calls && len(topics) == 0 {
		topics = append(topics, answerTopic(m))
	}
	for _, topic := range topics {
		filter := append(mqttText([]byte{0, 1}, topic), 0) // packet identifier 1, QoS 0
		if err := exchange(conn, mqttPacket(nil, mqttSubscribe, filter), mqttSuback); err != nil {
			return err
		}
	}
	return nil
}

// exchange sends a packet and reads the short one that answers it.
func exchange(conn *bench.Conn, packet []byte, want byte) error {
	if err := conn.Say(string(packet)); err != nil {
		return err
	}
	var head [2]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return fmt.Errorf("joining: %w", err)
	}
	rest := make([]byte, head[1])
	if _, err := io.ReadFull(conn, rest); err != nil {
		return fmt.Errorf("joining: %w", err)
	}
	if code := rest[len(rest)-1]; head[0] != want || code != 0 {
		return fmt.Errorf("joining: mosquitto answers %#x with code %d", head[0], code)
	}
	return nil
}

// Notify implements bench.Dialect.
func (mqttDialect) Notify(dst []byte, _ *bench.Member, to *bench.Service, body []byte) []byte {
	return publish(dst, topicOf(to), body)
}

// Notification implements bench.Dialect: QoS 0 arrives as it was sent.
func (mqttDialect) Notification(dst []byte, _ *bench.Member, to *bench.Service, body []byte) []byte {
	return publish(dst, topicOf(to), body)
}

// Call implements bench.Dialect.
func (mqttDialect) Call(dst []byte, _ *bench.Member, to *bench.Service, _ int, body []byte) []byte {
	return publish(dst, topicOf(to), body)
}

// Handle implements bench.Dialect.
func (mqttDialect) Handle(_ *bench.Member, to *bench.Service, _ int, body []byte) [][]byte {
	return [][]byte{publish(nil, topicOf(to), body)}
}

// Reply implements bench.Dialect.
func (mqttDialect) Reply(from *bench.Member, _ *bench.Service, _ int, body []byte) [][]byte {
	return [][]byte{publish(nil, answerTopic(from), body)}
}

// Answer implements bench.Dialect.
func (mqttDialect) Answer(dst []byte, from *bench.Member, _ *bench.Service, _ int, body []byte) []byte {
	return publish(dst, answerTopic(from), body)
}

// Receipt implements bench.Dialect: QoS 0 is not confirmed.
func (mqttDialect) Receipt() []byte { return nil }

// Control implements bench.Dialect: without keep-alive a broker says nothing.
func (mqttDialect) Control([]byte) (n, skip int, err error) { return -1, 0, nil }

func publish(dst []byte, topic string, body []byte) []byte {
	return mqttPacket(dst, mqttPublish, append(mqttText(nil, topic), body...))
}

// mqttText appends a string with its length before it.
func mqttText(dst []byte, s string) []byte {
	return append(append(dst, byte(len(s)>>8), byte(len(s))), s...)
}

// mqttPacket appends a packet: kind, the length of the rest seven bits at a time, the rest.
func mqttPacket(dst []byte, kind byte, rest []byte) []byte {
	dst = append(dst, kind)
	n := len(rest)
	for n >= 0x80 {
		dst = append(dst, byte(n)|0x80)
		n >>= 7
	}
	return append(append(dst, byte(n)), rest...)
}
