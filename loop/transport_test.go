package loop

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// schemeOf is the transport of a test: of its servers that have no other listener, and of its clients
// that dial "tcp".
func schemeOf(t testing.TB) string {
	if name, ok := strings.CutPrefix(t.Name(), "TestEveryTransport/"); ok {
		scheme, _, _ := strings.Cut(name, "/")
		return scheme
	}
	return "tcp"
}

// The behaviour of the contract does not depend on the transport: these tests run over each.
var everywhere = []struct {
	name string
	test func(*testing.T)
}{
	{"NotificationAndRequest", TestNotificationAndRequest},
	{"HalfCloseStillGetsAnswers", TestHalfCloseStillGetsAnswers},
	{"HalfCloseLosesAnswersOfServices", TestHalfCloseLosesAnswersOfServices},
	{"HalfCloseInTheMiddleOfALine", TestHalfCloseInTheMiddleOfALine},
	{"HalfCloseAndNoReader", TestHalfCloseAndNoReader},
	{"ClosingSurvivesUnreadInput", TestClosingSurvivesUnreadInput},
	{"LingeringEnds", TestLingeringEnds},
	{"UnsupportedVersionIsExplained", TestUnsupportedVersionIsExplained},
	{"HandshakeTimeout", TestHandshakeTimeout},
	{"IdleTimeout", TestIdleTimeout},
	{"SurplusConnections", TestSurplusConnections},
	{"EndlessLineCostsBoundedMemory", TestEndlessLineCostsBoundedMemory},
	{"CallerThatNeverReadsItsAnswersIsClosed", TestCallerThatNeverReadsItsAnswersIsClosed},
	{"SnapshotsThatNobodyReads", TestSnapshotsThatNobodyReads},
	{"ReaderThatStopsCostsOnlyItself", TestReaderThatStopsCostsOnlyItself},
	{"StalledReaderIsClosed", TestStalledReaderIsClosed},
	{"Drain", TestDrain},
	{"DrainTimeout", TestDrainTimeout},
	{"DrainOfTheIdle", TestDrainOfTheIdle},
	{"DrainFlushes", TestDrainFlushes},
	{"IdenticalIDsFromManyCallers", TestIdenticalIDsFromManyCallers},
	{"AuthenticateWithAToken", TestAuthenticateWithAToken},
	{"WritesAfterCloseReachNobody", TestWritesAfterCloseReachNobody},
	{"SnapshotAndChangesWithoutGapUnderChurn", TestSnapshotAndChangesWithoutGapUnderChurn},
	{"OrderAcrossNotificationsAndRequestsUnderLoad", TestOrderAcrossNotificationsAndRequestsUnderLoad},
}

func TestEveryTransport(t *testing.T) {
	for _, scheme := range []string{"unix", "ws", "tls", "wss"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			for _, e := range everywhere {
				t.Run(e.name, e.test)
			}
		})
	}
}

// listenURL is a free address of the transport under test.
func listenURL(t testing.TB) string {
	scheme := schemeOf(t)
	if scheme == "unix" {
		dir, err := os.MkdirTemp("", "loop") // short: socket addresses are
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		return "unix://" + filepath.Join(dir, "s")
	}
	return scheme + "://127.0.0.1:0"
}

// overTransport makes a client's connection one of the transport under test.
func overTransport(scheme string, c net.Conn) (net.Conn, error) {
	if scheme == "tls" || scheme == "wss" {
		secure := tls.Client(c, authority().trusted())
		if err := secure.Handshake(); err != nil {
			return nil, err
		}
		c = secure
	}
	if scheme == "ws" || scheme == "wss" {
		return openSocket(c, nil)
	}
	return c, nil
}

// connect is dial for other goroutines than the test's own.
func connect(t testing.TB, addr string) (net.Conn, error) {
	scheme, network := schemeOf(t), "tcp"
	if scheme == "unix" {
		network = "unix"
	}
	base, err := net.Dial(network, addr)
	if err != nil {
		return nil, err
	}
	c, err := overTransport(scheme, base)
	if err != nil {
		_ = base.Close()
	}
	return c, err
}

// unlingered is a connection that can be reset; a Unix socket cannot, and is closed like any other.
type unlingered interface{ SetLinger(int) error }

type closed struct{}

func (closed) SetLinger(int) error { return nil }

func socketOf(c net.Conn) unlingered {
	switch c := c.(type) {
	case *socketPeer:
		return socketOf(c.Conn)
	case *tls.Conn:
		return socketOf(c.NetConn())
	case unlingered:
		return c
	}
	return closed{}
}

// certifier is a certificate authority for tests, with the relay's certificate.
type certifier struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
	made atomic.Int64
}

var authority = sync.OnceValue(newCertifier)

func newCertifier() *certifier {
	a := &certifier{}
	a.key, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.cert, _ = x509.ParseCertificate(a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true}, nil, a.key))
	a.pool = x509.NewCertPool()
	a.pool.AddCert(a.cert)
	return a
}

func (a *certifier) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(a.made.Add(1)), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, a.key)
	if err != nil {
		panic(err)
	}
	return der
}

// issue returns a certificate and its key, PEM.
func (a *certifier) issue(template *x509.Certificate) (cert, key []byte) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.sign(template, a.cert, k)}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// server issues a certificate of a server with that name.
func (a *certifier) server(name string) (cert, key []byte) {
	return a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
}

// trusted is what a client needs that trusts the authority.
func (a *certifier) trusted() *tls.Config {
	return &tls.Config{RootCAs: a.pool, ServerName: "127.0.0.1"}
}

// certificates writes a server's files and loads them, with the authority for clients if wanted.
func (a *certifier) certificates(t testing.TB, name string, clients bool) *Certificates {
	t.Helper()
	dir := t.TempDir()
	cert, key := a.server(name)
	ca := ""
	if clients {
		ca = write(t, dir, "ca", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
	}
	c, err := LoadCertificates(write(t, dir, "cert", cert), write(t, dir, "key", key), ca)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func write(t testing.TB, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// socketPeer is a WebSocket client as a stream of lines: it knows frames, and no library.
type socketPeer struct {
	net.Conn
	r       *bufio.Reader
	left    []byte // of what was read
	partial bool   // a message was sent in part
	frames  int    // data frames that were read
	pongs   []string
	code    uint16 // of the relay's close frame
	reason  string
}

// openSocket shakes hands over a connection.
func openSocket(c net.Conn, header http.Header) (*socketPeer, error) {
	p := &socketPeer{Conn: c, r: bufio.NewReader(c)}
	request := "GET / HTTP/1.1\r\nHost: " + c.RemoteAddr().String() + "\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"
	var more bytes.Buffer
	_ = header.Write(&more)
	if _, err := io.WriteString(c, request+more.String()+"\r\n"); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(p.r, nil)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		body, err := io.ReadAll(answer.Body)
		return nil, errors.Join(fmt.Errorf("%s: %s", answer.Status, body), err)
	}
	if got := answer.Header.Get("Sec-WebSocket-Accept"); got != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		return nil, fmt.Errorf("the relay accepts with %q", got)
	}
	if got := answer.Header.Get("Sec-WebSocket-Extensions"); got != "" {
		return nil, fmt.Errorf("the relay accepts the extensions %q", got)
	}
	return p, nil
}

// appendFrame appends a masked frame.
func appendFrame(dst []byte, head byte, payload []byte) []byte {
	dst = append(dst, head)
	switch n := len(payload); {
	case n < 126:
		dst = append(dst, 0x80|byte(n))
	case n < 1<<16:
		dst = binary.BigEndian.AppendUint16(append(dst, 0x80|126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, 0x80|127), uint64(n))
	}
	mask := [4]byte{1, 2, 3, 4}
	dst = append(dst, mask[:]...)
	for i, c := range payload {
		dst = append(dst, c^mask[i%4])
	}
	return dst
}

// Write sends each line as a message; what does not end with a line feed goes on with the next call.
func (p *socketPeer) Write(b []byte) (int, error) {
	var frames []byte
	for rest := b; len(rest) > 0; {
		line, after, final := bytes.Cut(rest, []byte{'\n'})
		rest = after
		head := byte(opcodeText)
		if p.partial {
			head = 0
		}
		if p.partial = !final; final {
			head |= frameFinal
		}
		frames = appendFrame(frames, head, line)
	}
	if _, err := p.Conn.Write(frames); err != nil {
		return 0, err
	}
	return len(b), nil
}

// CloseWrite sends a close frame.
func (p *socketPeer) CloseWrite() error {
	_, err := p.Conn.Write(appendFrame(nil, frameFinal|opcodeClose, []byte{0x03, 0xE8, 'd', 'o', 'n', 'e'}))
	return err
}

// Read returns messages as lines, and EOF after a close frame that nothing follows.
func (p *socketPeer) Read(b []byte) (int, error) {
	for len(p.left) == 0 {
		if err := p.frame(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}

func (p *socketPeer) frame() error {
	var head [10]byte
	if _, err := io.ReadFull(p.r, head[:2]); err != nil {
		return fmt.Errorf("reading a frame: %w", err) // not io.EOF: no close frame came
	}
	size := uint64(head[1])
	switch size {
	case 126:
		_, _ = io.ReadFull(p.r, head[2:4])
		size = uint64(binary.BigEndian.Uint16(head[2:]))
	case 127:
		_, _ = io.ReadFull(p.r, head[2:10])
		size = binary.BigEndian.Uint64(head[2:])
	}
	payload := make([]byte, size, size+1)
	if _, err := io.ReadFull(p.r, payload); err != nil {
		return err
	}
	switch head[0] {
	case 0, opcodeText:
		p.left = payload
	case frameFinal, frameFinal | opcodeText:
		p.left = append(payload, '\n')
	case frameFinal | opcodePong:
		p.pongs = append(p.pongs, string(payload))
		return nil
	case frameFinal | opcodeClose:
		p.code, p.reason = binary.BigEndian.Uint16(payload), string(payload[2:])
		if b, err := io.ReadAll(p.r); err != nil || len(b) > 0 {
			return fmt.Errorf("after the close frame came %q, %v", b, err)
		}
		return io.EOF
	default:
		return fmt.Errorf("a frame that begins with %#x", head[0])
	}
	p.frames++
	return nil
}
