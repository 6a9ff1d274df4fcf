package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ahprelay/ahprelay/bench"
)

// redisDialect is RESP2 with a channel for each service. A connection that subscribes cannot publish,
// so whoever does both has two. Requests and answers are two publications: redis has no other way.
type redisDialect struct{}

func channelOf(s *bench.Service) string { return fmt.Sprintf("svc.%05d", s.Index) }

func answerChannel(m *bench.Member) string { return "re." + m.Name }

// Join implements bench.Dialect.
func (redisDialect) Join(m *bench.Member, addr string) (err error) {
	if m.Sends {
		if m.Tx, err = bench.Dial(addr); err != nil {
			return err
		}
	}
	if !m.Receives {
		return nil
	}
	if m.Rx, err = bench.Dial(addr); err != nil {
		return err
	}
	var channels []string
	for _, s := range m.Services {
		channels = append(channels, channelOf(s))
	}
	if m.Calls && len(channels) == 0 {
		channels = append(channels, answerChannel(m))
	}
	const line = 256 // channels: redis limits how long a plain line may be
	for some := range slices.Chunk(channels, line) {
		if err := m.Rx.Say("SUBSCRIBE " + strings.Join(some, " ") + "\r\n"); err != nil {
			return err
		}
		for range some {
			if _, err := m.Rx.Await(":"); err != nil {
				return err
			}
		}
	}
	return nil
}

// Notify implements bench.Dialect.
func (redisDialect) Notify(dst []byte, _ *bench.Member, to *bench.Service, body []byte) []byte {
	return bulk(dst, "PUBLISH", channelOf(to), body)
}

// Notification implements bench.Dialect.
func (redisDialect) Notification(dst []byte, _ *bench.Member, to *bench.Service, body []byte) []byte {
	return bulk(dst, "message", channelOf(to), body)
}

// Call implements bench.Dialect.
func (redisDialect) Call(dst []byte, _ *bench.Member, to *bench.Service, _ int, body []byte) []byte {
	return bulk(dst, "PUBLISH", channelOf(to), body)
}

// Handle implements bench.Dialect.
func (redisDialect) Handle(_ *bench.Member, to *bench.Service, _ int, body []byte) [][]byte {
	return [][]byte{bulk(nil, "message", channelOf(to), body)}
}

// Reply implements bench.Dialect.
func (redisDialect) Reply(from *bench.Member, _ *bench.Service, _ int, body []byte) [][]byte {
	return [][]byte{bulk(nil, "PUBLISH", answerChannel(from), body)}
}

// Answer implements bench.Dialect.
func (redisDialect) Answer(dst []byte, from *bench.Member, _ *bench.Service, _ int, body []byte) []byte {
	return bulk(dst, "message", answerChannel(from), body)
}

// Receipt implements bench.Dialect: every PUBLISH is answered with the number of receivers.
func (redisDialect) Receipt() []byte { return []byte(":1\r\n") }

// Control implements bench.Dialect: errors end the run.
func (redisDialect) Control(frame []byte) (n, skip int, err error) {
	if line, _, whole := bytes.Cut(frame, []byte("\r\n")); frame[0] == '-' && whole {
		return 0, 0, fmt.Errorf("redis-server says %s", line)
	} else if frame[0] == '-' {
		return 0, 0, nil
	}
	return -1, 0, nil
}

// bulk appends an array of three bulk strings.
func bulk(dst []byte, verb, channel string, body []byte) []byte {
	dst = append(dst, "*3\r\n"...)
	for _, s := range []string{verb, channel} {
		dst = append(strconv.AppendInt(append(dst, '$'), int64(len(s)), 10), "\r\n"...)
		dst = append(append(dst, s...), "\r\n"...)
	}
	dst = append(strconv.AppendInt(append(dst, '$'), int64(len(body)), 10), "\r\n"...)
	return append(append(dst, body...), "\r\n"...)
}
