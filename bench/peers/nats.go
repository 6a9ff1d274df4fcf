package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ahprelay/ahprelay/bench"
	"github.com/nats-io/nats-server/v2/server"
)

const natsVersion = server.VERSION

// serveNATS runs nats-server without log, JetStream, monitoring or authentication.
func serveNATS(ctx context.Context, port int) error {
	s, err := server.NewServer(&server.Options{
		Host:         "127.0.0.1",
		Port:         port,
		NoLog:        true,
		NoSigs:       true,
		PingInterval: time.Hour, // the generator does not answer pings
	})
	if err != nil {
		return fmt.Errorf("configuring nats-server: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(5 * time.Second) {
		return errors.New("nats-server does not become ready")
	}
	<-ctx.Done()
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}

// natsDialect is the NATS client protocol: a subject for each service, an inbox for each call.
type natsDialect struct{}

func subject(s *bench.Service) string { return fmt.Sprintf("svc.%05d", s.Index) }

func inbox(m *bench.Member, place int) string { return fmt.Sprintf("_INBOX.%s.%05d", m.Name, place) }

// Join implements bench.Dialect.
func (natsDialect) Join(m *bench.Member, addr string) error {
	conn, err := bench.Dial(addr)
	if err != nil {
		return err
	}
	m.Tx, m.Rx = conn, conn
	if _, err := conn.Await("INFO "); err != nil {
		return err
	}
	var say strings.Builder
	fmt.Fprintf(&say, `CONNECT {"verbose":false,"pedantic":false,"tls_required":false,"echo":true,"lang":"raw","version":"1","protocol":1,"name":%q}`+"\r\n", m.Name)
	for _, s := range m.Services {
		fmt.Fprintf(&say, "SUB %s %d\r\n", subject(s), s.Index+1)
	}
	if m.Calls && len(m.Services) == 0 {
		fmt.Fprintf(&say, "SUB _INBOX.%s.* 1\r\n", m.Name)
	}
	say.WriteString("PING\r\n")
	if err := conn.Say(say.String()); err != nil {
		return err
	}
	_, err = conn.Await("PONG")
	return err
}

// Notify implements bench.Dialect.
func (natsDialect) Notify(dst []byte, _ *bench.Member, to *bench.Service, body []byte) []byte {
	return pub(dst, subject(to), "", body)
}

// Notification implements bench.Dialect.
func (natsDialect) Notification(dst []byte, _ *bench.Member, to *bench.Service, body []byte) []byte {
	return msg(dst, subject(to), to.Index+1, "", body)
}

// Call implements bench.Dialect.
func (natsDialect) Call(dst []byte, from *bench.Member, to *bench.Service, place int, body []byte) []byte {
	return pub(dst, subject(to), inbox(from, place), body)
}

// Handle implements bench.Dialect.
func (natsDialect) Handle(from *bench.Member, to *bench.Service, place int, body []byte) [][]byte {
	return [][]byte{msg(nil, subject(to), to.Index+1, inbox(from, place), body)}
}

// Reply implements bench.Dialect.
func (natsDialect) Reply(from *bench.Member, _ *bench.Service, place int, body []byte) [][]byte {
	return [][]byte{pub(nil, inbox(from, place), "", body)}
}

// Answer implements bench.Dialect.
func (natsDialect) Answer(dst []byte, from *bench.Member, _ *bench.Service, place int, body []byte) []byte {
	return msg(dst, inbox(from, place), 1, "", body)
}

// Receipt implements bench.Dialect.
func (natsDialect) Receipt() []byte { return nil }

// Control implements bench.Dialect: pings are passed over, errors end the run.
func (natsDialect) Control(frame []byte) (n, skip int, err error) {
	for _, known := range []string{"PING\r\n", "-ERR ", "INFO "} {
		have := min(len(known), len(frame))
		if string(frame[:have]) != known[:have] {
			continue
		}
		line, _, whole := strings.Cut(string(frame), "\r\n")
		switch {
		case !whole:
			return 0, 0, nil
		case known == "-ERR ":
			return 0, 0, fmt.Errorf("nats-server says %s", line)
		}
		return len(line) + 2, 0, nil
	}
	return -1, 0, nil
}

func pub(dst []byte, subject, reply string, body []byte) []byte {
	dst = append(append(append(dst, "PUB "...), subject...), ' ')
	return payload(dst, reply, body)
}

func msg(dst []byte, subject string, sid int, reply string, body []byte) []byte {
	dst = append(append(append(dst, "MSG "...), subject...), ' ')
	dst = append(strconv.AppendInt(dst, int64(sid), 10), ' ')
	return payload(dst, reply, body)
}

func payload(dst []byte, reply string, body []byte) []byte {
	if reply != "" {
		dst = append(append(dst, reply...), ' ')
	}
	dst = append(strconv.AppendInt(dst, int64(len(body)), 10), "\r\n"...)
	return append(append(dst, body...), "\r\n"...)
}
