package interop

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/client"
)

// patience is how long a program may take.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

var built string // directory of the program

// program builds ahprelay once and returns its path.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ahprelay-interop-test-")
	if err != nil {
		return "", err
	}
	built = dir
	path := filepath.Join(dir, "ahprelay")
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/ahprelay").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building ahprelay: %w\n%s", err, out)
	}
	return path, nil
})

// relay is a running relay with every kind of listener.
type relay struct {
	urls map[string]string // by scheme
	ca   string            // file
	pool *x509.CertPool
}

// startRelay builds the relay and runs it until the test ends.
func startRelay(t *testing.T) *relay {
	t.Helper()
	dir, err := os.MkdirTemp("", "ahp") // short: socket addresses are
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	binary, err := program()
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{urls: map[string]string{}, ca: filepath.Join(dir, "cert.pem"), pool: x509.NewCertPool()}
	key := filepath.Join(dir, "key.pem")
	r.certify(t, key)
	cmd := exec.Command(binary, "serve", "--admin", "", "--log-format", "json", "--tls-cert-file", r.ca, "--tls-key-file", key,
		"--listen", "tcp://127.0.0.1:0,unix://"+dir+"/s,ws://127.0.0.1:0,tls://127.0.0.1:0,wss://127.0.0.1:0")
	logs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(logs)
	var seen strings.Builder
	for len(r.urls) < 5 && lines.Scan() {
		seen.WriteString(lines.Text() + "\n")
		var entry struct{ Msg, URL string }
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "listening" {
			scheme, _, _ := strings.Cut(entry.URL, ":")
			r.urls[scheme] = entry.URL
		}
	}
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, logs)
	}()
	if len(r.urls) < 5 {
		t.Fatalf("ahprelay serve:\n%s", seen.String())
	}
	return r
}

// certify writes a certificate for 127.0.0.1 that vouches for itself, and its key.
func (r *relay) certify(t *testing.T, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "relay"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for path, content := range map[string][]byte{r.ca: cert, keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.pool.AppendCertsFromPEM(cert)
}

// foreign is a client in another language.
type foreign struct {
	name    string
	command []string // to be followed by mode and URL
	schemes []string // that it speaks
}

// node returns the client in Node.js, or skips where there is none.
func node(t *testing.T) *foreign {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node here: the client in Node.js is not run")
	}
	install(t)
	return &foreign{name: "node", command: []string{path, "interop.mjs"}, schemes: []string{"tcp", "unix", "ws", "tls", "wss"}}
}

// python returns the client in Python, or skips where there is none.
func python(t *testing.T) *foreign {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here: the client in Python is not run")
	}
	return &foreign{name: "python", command: []string{path, "-B", "interop.py"}, schemes: []string{"tcp", "unix", "tls"}}
}

// install puts the packages of the lock file in place, unless they are there already.
func install(t *testing.T) {
	t.Helper()
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	stamp := filepath.Join("node_modules", ".lock")
	if was, err := os.ReadFile(stamp); err == nil && bytes.Equal(was, lock) {
		return
	}
	if out, err := exec.Command("npm", "ci").CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	if err := os.WriteFile(stamp, lock, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (r *relay) command(t *testing.T, f *foreign, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, f.command[0], append(f.command[1:len(f.command):len(f.command)], args...)...)
	cmd.Env = append(os.Environ(), "INTEROP_CA="+r.ca)
	return cmd
}

// run runs a program to its end, which must be "ok".
func (r *relay) run(t *testing.T, f *foreign, args ...string) {
	t.Helper()
	out, err := r.command(t, f, args...).CombinedOutput()
	if err != nil || string(out) != "ok\n" {
		t.Fatalf("%s %s: %v\n%s", f.name, strings.Join(args, " "), err, out)
	}
}

// vacant waits, at the end of the test, until the relay knows that what was offered is gone.
func (r *relay) vacant(t *testing.T) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		c, err := client.Dial(ctx, r.urls["tcp"], client.WithoutReconnect())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(ctx)
		for {
			if services, err := c.Services(ctx); err != nil || len(services) == 0 {
				return
			}
		}
	})
}

// offer runs a program that is a service, until the test ends.
func (r *relay) offer(t *testing.T, f *foreign, scheme string) {
	t.Helper()
	r.vacant(t)
	cmd := r.command(t, f, "offer", r.urls[scheme])
	var problems bytes.Buffer
	cmd.Stderr = &problems
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // ends it
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		_ = cmd.Wait()
		t.Fatalf("%s offer: %q, %v\n%s", f.name, line, err, problems.String())
	}
}

func (r *relay) dial(t *testing.T, scheme string) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), r.urls[scheme], client.WithTLSConfig(&tls.Config{RootCAs: r.pool}), client.WithoutReconnect())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

// goOffer is offer in Go.
func (r *relay) goOffer(t *testing.T, scheme string) {
	t.Helper()
	r.vacant(t)
	var seen atomic.Int64
	answer := func(_ context.Context, q *client.Request) (any, error) {
		if q.Method == "count" {
			return seen.Load(), nil
		}
		return q.Params, nil
	}
	_, err := r.dial(t, scheme).Register(t.Context(), map[string]string{"protocol": "interop", "by": "go"}, answer,
		client.OnNotify(func(context.Context, *client.Notification) { seen.Add(1) }), client.Ordered())
	if err != nil {
		t.Fatal(err)
	}
}

// goUse is use in Go.
func (r *relay) goUse(t *testing.T, scheme string) {
	t.Helper()
	c := r.dial(t, scheme)
	found, err := c.Find(t.Context(), "protocol=interop")
	if err != nil {
		t.Fatal(err)
	}
	for _, params := range []string{`{"n":1e3,"big":9007199254740993,"n":1.50}`, `{ "s" : "\u0041\ud800\/" }`, `[1,2 , 3]`, `{"x":"` + strings.Repeat("x", 200_000) + `"}`} {
		got, err := client.Call[json.RawMessage](t.Context(), c, found.ID, "echo", json.RawMessage(params))
		if err != nil || string(got) != params {
			t.Fatalf("%.200s came back as %.200s, %v", params, got, err)
		}
	}
	count := func() int {
		n, err := client.Call[int](t.Context(), c, found.ID, "count", nil)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	for n := range 500 {
		if err := c.Notify(found.ID, "n", map[string]int{"n": n}); err != nil {
			t.Fatal(err)
		}
	}
	if after := count(); after-before != 500 {
		t.Fatalf("%d of 500 notifications arrived", after-before)
	}
}

func TestNode(t *testing.T)   { every(t, node(t)) }
func TestPython(t *testing.T) { every(t, python(t)) }

// every has a foreign client meet itself and the Go client over every listener.
func every(t *testing.T, f *foreign) {
	r := startRelay(t)
	for _, scheme := range f.schemes {
		t.Run(scheme, func(t *testing.T) {
			r.run(t, f, "self", r.urls[scheme])
			t.Run("offers", func(t *testing.T) {
				r.offer(t, f, scheme)
				r.goUse(t, "tcp")
			})
			t.Run("uses", func(t *testing.T) {
				r.goOffer(t, "tcp")
				r.run(t, f, "use", r.urls[scheme])
			})
		})
	}
}

// TestNodeAndPython: the two meet, over transports that differ.
func TestNodeAndPython(t *testing.T) {
	n, p := node(t), python(t)
	r := startRelay(t)
	for _, c := range []struct{ nodes, pythons string }{{"ws", "tcp"}, {"wss", "unix"}, {"tcp", "tls"}} {
		t.Run(fmt.Sprintf("%s-%s", c.nodes, c.pythons), func(t *testing.T) {
			t.Run("node offers", func(t *testing.T) {
				r.offer(t, n, c.nodes)
				r.run(t, p, "use", r.urls[c.pythons])
			})
			t.Run("python offers", func(t *testing.T) {
				r.offer(t, p, c.pythons)
				r.run(t, n, "use", r.urls[c.nodes])
			})
		})
	}
}

// TestStockClient: a client of AHP that knows nothing of client services finds what AHP says.
func TestStockClient(t *testing.T) {
	stock := *node(t)
	stock.command = []string{stock.command[0], "stock.mjs"}
	r := startRelay(t)
	for _, scheme := range stock.schemes {
		t.Run(scheme, func(t *testing.T) { r.run(t, &stock, r.urls[scheme]) })
	}
}
