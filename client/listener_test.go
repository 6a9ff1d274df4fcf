package client

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// keys are the certificates of these tests: of an authority, of the relay and of a client.
type keys struct {
	dir    string
	roots  *x509.CertPool
	client tls.Certificate // of git.example
}

func (k *keys) args() []string {
	return []string{"--tls-cert-file", filepath.Join(k.dir, "relay.pem"), "--tls-key-file", filepath.Join(k.dir, "relay.key"),
		"--tls-client-ca-file", filepath.Join(k.dir, "authority.pem")}
}

func newKeys(t *testing.T) *keys {
	t.Helper()
	k := &keys{dir: t.TempDir(), roots: x509.NewCertPool()}
	var parent *x509.Certificate
	var parentKey *ecdsa.PrivateKey
	issue := func(name string, template *x509.Certificate) *x509.Certificate {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		if parent == nil {
			parent, parentKey = template, key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
		if err != nil {
			t.Fatal(err)
		}
		secret, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		for file, block := range map[string]*pem.Block{name + ".pem": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: secret}} {
			if err := os.WriteFile(filepath.Join(k.dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	parent = issue("authority", &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true})
	k.roots.AddCert(parent)
	issue("relay", &x509.Certificate{Subject: pkix.Name{CommonName: "relay"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	issue("client", &x509.Certificate{Subject: pkix.Name{CommonName: "git.example"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	var err error
	if k.client, err = tls.LoadX509KeyPair(filepath.Join(k.dir, "client.pem"), filepath.Join(k.dir, "client.key")); err != nil {
		t.Fatal(err)
	}
	return k
}

// trust makes a client accept the relay's certificate, and show its own if it has one.
func (k *keys) trust(own ...tls.Certificate) Option {
	return WithTLSConfig(&tls.Config{RootCAs: k.roots, Certificates: own})
}

// TestRelayListeners: what the client does, it does over every listener of the relay.
func TestRelayListeners(t *testing.T) {
	k := newKeys(t)
	for _, scheme := range []string{"unix", "ws", "tls", "wss"} {
		t.Run(scheme, func(t *testing.T) {
			url := scheme + "://127.0.0.1:0"
			if scheme == "unix" {
				dir, err := os.MkdirTemp("", "ahp") // short: socket addresses are
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.RemoveAll(dir) })
				url = "unix://" + dir + "/s"
			}
			r := launch(url, k.args()...)
			if r.err != nil {
				t.Fatal(r.err)
			}
			t.Cleanup(r.kill)
			useRelay(t, r, k.trust())
			restartRelay(t, r, k)
		})
	}
}

// useRelay registers, discovers, notifies, calls and cancels, small things and large ones.
func useRelay(t *testing.T, r *process, trust Option) {
	t.Helper()
	a, b := r.joined(t, "user-a", trust), r.joined(t, "user-b", trust)
	const many = 5000
	var mu sync.Mutex
	var got []string
	arrived, blocked := make(chan struct{}), make(chan struct{})
	s, err := a.Register(deadline(t), map[string]string{"protocol": "all"}, func(ctx context.Context, r *Request) (any, error) {
		if r.Method == "block" {
			close(blocked)
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		return r.Params, nil
	}, OnNotify(func(_ context.Context, n *Notification) {
		mu.Lock()
		defer mu.Unlock()
		if got = append(got, string(n.Params)); len(got) == many {
			close(arrived)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	found, err := b.Find(deadline(t), "protocol=all")
	if err != nil || found.ID != s.ID() {
		t.Fatal(found, err)
	}
	for _, size := range []int{0, 100, 70_000, b.Limits().FrameBytes - 512} {
		want := strings.Repeat("x", size)
		if got, err := Call[string](deadline(t), b, found.ID, "echo", want); err != nil || got != want {
			t.Fatalf("%d bytes: %d, %v", size, len(got), err)
		}
	}
	for n := range many {
		if err := b.Notify(found.ID, "m", n); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-arrived:
	case <-deadline(t).Done():
		t.Fatalf("%d of %d notifications", len(got), many)
	}
	for n, params := range got {
		if params != fmt.Sprint(n) {
			t.Fatalf("notification %d says %s", n, params)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-blocked
		cancel()
	}()
	if err := b.Call(ctx, found.ID, "block", nil, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := s.Unregister(deadline(t)); err != nil {
		t.Fatal(err)
	}
}

// restartRelay kills the relay and has the clients come back to the next one, services and all.
func restartRelay(t *testing.T, r *process, k *keys) {
	t.Helper()
	a, b := r.joined(t, "again-a", k.trust()), r.joined(t, "again-b", k.trust())
	offer(t, a, "back")
	r.kill()
	r.again(t, k.args()...)
	for {
		found, err := b.Find(deadline(t), "protocol=back")
		if err == nil {
			var got string
			got, err = Call[string](deadline(t), b, found.ID, "whoami", nil)
			if err == nil && got == "again-b" {
				return
			}
		}
		if !errors.Is(err, ErrDisconnected) && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrUnavailable) {
			t.Fatal(err)
		}
	}
}

// TestRelayClientCertificate: a client certificate is a principal.
func TestRelayClientCertificate(t *testing.T) {
	k := newKeys(t)
	config := filepath.Join(k.dir, "config.toml")
	text := "[auth]\nrequired = true\n[[principal]]\nname = \"git\"\nclient_cert = \"git.example\"\nclient_ids = [\"*\"]\nregister = [\"*\"]\ndiscover = [\"*\"]\nrequest = [\"*\"]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"tls", "wss"} {
		t.Run(scheme, func(t *testing.T) {
			r := launch(scheme+"://127.0.0.1:0", append(k.args(), "--config", config)...)
			if r.err != nil {
				t.Fatal(r.err)
			}
			t.Cleanup(r.kill)
			known, anonymous := r.joined(t, "known", k.trust(k.client)), r.joined(t, "anonymous", k.trust())
			offer(t, known, "p")
			found, err := known.Find(deadline(t), "protocol=p")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := Call[string](deadline(t), known, found.ID, "whoami", nil); err != nil || got != "known" {
				t.Fatal(got, err)
			}
			if err := anonymous.Call(deadline(t), found.ID, "whoami", nil, nil); !errors.Is(err, ErrAuthRequired) {
				t.Fatal(err)
			}
			if _, err := Dial(deadline(t), r.url, WithoutReconnect()); err == nil {
				t.Fatal("an unknown authority was accepted")
			}
		})
	}
}

// TestRelayClosingIsHeard: the relay says why it closes, over every listener.
func TestRelayClosingIsHeard(t *testing.T) {
	k := newKeys(t)
	for _, scheme := range []string{"ws", "tls", "wss"} {
		t.Run(scheme, func(t *testing.T) {
			r := launch(scheme+"://127.0.0.1:0", append(k.args(), "--idle-timeout", "100ms")...)
			if r.err != nil {
				t.Fatal(r.err)
			}
			t.Cleanup(r.kill)
			events := make(chan Event, 16)
			r.joined(t, "idle", k.trust(), WithoutReconnect(), WithOnEvent(func(e Event) { events <- e }))
			for {
				select {
				case e := <-events:
					if closing, ok := e.(Closing); ok {
						if closing.Reason != "idle" {
							t.Fatalf("%+v", closing)
						}
						return
					}
				case <-deadline(t).Done():
					t.Fatal("no closing was heard")
				}
			}
		})
	}
}
