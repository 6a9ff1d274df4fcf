package loop

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
)

const (
	requestBytesMax = 16 << 10 // of the request that opens a WebSocket
	socketReadBytes = 4 << 10
	discardTime     = time.Second // for which a refused request is read on, so that the answer gets through
)

// upgrade makes a WebSocket of the connection, or answers with an HTTP error.
func (e *edge) upgrade() (*webSocket, error) {
	in := bufio.NewReaderSize(io.LimitReader(e.stream, requestBytesMax), socketReadBytes)
	request, err := http.ReadRequest(in)
	if err != nil {
		return nil, fmt.Errorf("reading the WebSocket request: %w", err)
	}
	answer := &response{conn: e.stream, in: in, header: http.Header{}}
	if err := e.server.checkOrigin(request, e.secure != nil); err != nil {
		http.Error(answer, err.Error(), http.StatusForbidden)
		return nil, e.refused(err)
	}
	// What Accept returns is left alone: frames are the edge's own. It lets in read on from the connection.
	if _, err := websocket.Accept(answer, request, &websocket.AcceptOptions{InsecureSkipVerify: true}); err != nil { // checked above
		return nil, e.refused(err)
	}
	return &webSocket{edge: e, in: in}, nil
}

// refused ends a connection that will be no WebSocket, in a way that lets the answer get through.
func (e *edge) refused(err error) error {
	if e.secure != nil {
		_ = e.secure.CloseWrite()
	}
	_ = e.raw.CloseWrite()
	_ = e.raw.SetReadDeadline(time.Now().Add(discardTime))
	_, _ = io.Copy(io.Discard, e.raw)
	return fmt.Errorf("refusing a WebSocket: %w", err)
}

// checkOrigin refuses web pages from elsewhere. A browser names the page's origin; who sends none is no
// browser. A page of the relay's own address may connect, if that address is one that no foreign name
// server can have made up: an IP address, localhost, or a name that a certificate stands for.
func (s *Server) checkOrigin(request *http.Request, secure bool) error {
	origins := request.Header["Origin"]
	if len(origins) == 0 || len(origins) == 1 && slices.Contains(s.config.Origins, origins[0]) {
		return nil
	}
	u, err := url.Parse(origins[0])
	if err == nil && len(origins) == 1 && u.Host != "" && strings.EqualFold(u.Host, request.Host) && (secure || numeric(u.Hostname())) {
		return nil
	}
	return errors.New("web pages of this origin may not connect; the relay's configuration names those that may")
}

// numeric reports whether host is an IP address or localhost.
func numeric(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost")
}

// response is the http.ResponseWriter of a request that opens a WebSocket.
type response struct {
	conn   net.Conn
	in     *bufio.Reader
	header http.Header
	status int
}

func (r *response) Header() http.Header { return r.header }

func (r *response) WriteHeader(status int) {
	if r.status != 0 {
		return
	}
	r.status = status
	if status != http.StatusSwitchingProtocols {
		r.header.Set("Connection", "close")
	}
	var head strings.Builder
	fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	_ = r.header.Write(&head) // a Builder takes everything
	head.WriteString("\r\n")
	_, _ = io.WriteString(r.conn, head.String()) // the next read or write tells
}

func (r *response) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.conn.Write(b)
}

// Hijack lets the library have the connection, but not close it: that is the edge's to do.
func (r *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn := unclosed{r.conn}
	return conn, bufio.NewReadWriter(r.in, bufio.NewWriterSize(conn, 16)), nil
}

type unclosed struct{ net.Conn }

func (unclosed) Close() error { return nil }
