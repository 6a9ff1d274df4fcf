package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/panjf2000/gnet/v2"
	"github.com/panjf2000/gnet/v2/pkg/logging"
	"go.uber.org/zap"
)

// serveFrames is the second floor: on the same reactor as ahprelay it cuts lines at LF and copies each
// whole line to its destination. It does not look into them but for the digits of the service at a
// fixed place, and that only in connections that said "route".
func serveFrames(ctx context.Context, port int) error {
	f := &frames{waiting: map[string]gnet.Conn{}}
	result := make(chan error, 1)
	go func() {
		result <- gnet.Run(f, fmt.Sprintf("tcp://127.0.0.1:%d", port),
			gnet.WithNumEventLoop(1), gnet.WithReadBufferCap(256<<10), gnet.WithLogger(zap.NewNop().Sugar()), gnet.WithLogLevel(logging.FatalLevel))
	}()
	select {
	case err := <-result:
		return fmt.Errorf("running the reactor: %w", err)
	case <-ctx.Done():
		return nil // the process ends; stopping the reactor first would take half a second
	}
}

type frames struct {
	gnet.BuiltinEventEngine
	waiting map[string]gnet.Conn
	owners  []*end // by service number
	dirty   []*end
}

// end is one connection.
type end struct {
	conn   gnet.Conn
	peer   *end // of a pair
	routes bool
	tail   []byte
	out    []byte
}

// OnOpen implements gnet.EventHandler.
func (f *frames) OnOpen(c gnet.Conn) ([]byte, gnet.Action) {
	c.SetContext(&end{conn: c})
	return nil, gnet.None
}

// OnClose implements gnet.EventHandler.
func (f *frames) OnClose(c gnet.Conn, _ error) gnet.Action {
	e := c.Context().(*end)
	e.conn = nil
	if e.peer != nil {
		e.peer.peer = nil
	}
	for i, owner := range f.owners {
		if owner == e {
			f.owners[i] = nil
		}
	}
	for name, waiting := range f.waiting {
		if waiting == c {
			delete(f.waiting, name)
		}
	}
	return gnet.None
}

// OnTraffic implements gnet.EventHandler.
func (f *frames) OnTraffic(c gnet.Conn) gnet.Action {
	e := c.Context().(*end)
	buf, err := c.Next(-1)
	if err != nil {
		return gnet.Close
	}
	if len(e.tail) > 0 {
		e.tail = append(e.tail, buf...)
		buf = e.tail
	}
	for {
		n := bytes.IndexByte(buf, '\n') + 1
		if n == 0 {
			break
		}
		f.line(e, buf[:n])
		buf = buf[n:]
	}
	e.tail = append(e.tail[:0], buf...)
	for _, d := range f.dirty {
		if d.conn != nil {
			if _, err := d.conn.Write(d.out); err != nil {
				return gnet.Close
			}
		}
		d.out = d.out[:0]
	}
	f.dirty = f.dirty[:0]
	return gnet.None
}

// line copies a line to where it goes.
func (f *frames) line(e *end, line []byte) {
	to := e.peer
	if e.routes {
		to = f.owner(line)
	}
	if to == nil {
		f.introduce(e, string(line))
		return
	}
	if len(to.out) == 0 {
		f.dirty = append(f.dirty, to)
	}
	to.out = append(to.out, line...)
}

// owner reads the service number at its fixed place.
func (f *frames) owner(line []byte) *end {
	if len(line) < slotOff+slotLen {
		return nil
	}
	n := 0
	for _, c := range line[slotOff : slotOff+slotLen] {
		n = n*10 + int(c-'0')
	}
	if n >= len(f.owners) || n < 0 {
		return nil
	}
	return f.owners[n]
}

// introduce obeys "pair NAME", "route" and "slot N", the lines that come before messages.
func (f *frames) introduce(e *end, line string) {
	word, rest, _ := bytes.Cut([]byte(line[:len(line)-1]), []byte(" "))
	switch string(word) {
	case "pair":
		if first := f.waiting[string(rest)]; first != nil {
			delete(f.waiting, string(rest))
			e.peer = first.Context().(*end)
			e.peer.peer = e
		} else {
			f.waiting[string(rest)] = e.conn
		}
	case "route":
		e.routes = true
	case "slot":
		n, err := strconv.Atoi(string(rest))
		if err != nil || n < 0 || n > 1<<20 {
			return
		}
		for len(f.owners) <= n {
			f.owners = append(f.owners, nil)
		}
		f.owners[n] = e
	default:
		return
	}
	if _, err := e.conn.Write([]byte("ok\n")); err != nil {
		e.conn = nil
	}
}
