package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// selfSigned writes a certificate for 127.0.0.1 and its key.
func selfSigned(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestTransports: the commands work over every listener; SIGHUP brings a new certificate, and keeps the
// old one when the new one is no good.
func TestTransports(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := selfSigned(t, dir, "first")
	path := file(t, "tls.cert_file = \""+cert+"\"\ntls.key_file = \""+key+"\"\n")
	p := start(t, "serve", "--config", path, "--admin=", "--listen", "ws://127.0.0.1:0,tls://127.0.0.1:0,wss://127.0.0.1:0")
	var urls []string
	for range 3 {
		urls = append(urls, parseEntry(t, p.err.until(t, `"listening"`)).URL)
	}
	trusting := func(cert string) []string { return []string{"SSL_CERT_FILE=" + cert} }
	owner := start(t, "register", "--relay", urls[0], "--metadata", `{"protocol":"p"}`, "--echo")
	owner.out.next(t)
	for i, scheme := range []string{"ws", "tls", "wss"} {
		if !strings.HasPrefix(urls[i], scheme+"://127.0.0.1:") {
			t.Fatal(urls)
		}
		run(t, "", trusting(cert), "call", "--relay", urls[i], "protocol=p", "m", `{"over":"`+scheme+`"}`).is(t, result{out: `{"over":"` + scheme + `"}` + "\n"})
	}
	second, secondKey := selfSigned(t, dir, "second")
	swap := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	swap(second, cert) // without its key
	p.signal(syscall.SIGHUP)
	if e := parseEntry(t, p.err.next(t)); e.Msg != "reload failed, the old configuration stays" || e.Error != "tls: using the TLS certificate of "+cert+" with the key of "+key+": tls: private key does not match public key" {
		t.Errorf("%+v", e)
	}
	r := run(t, "", trusting(cert), "services", "--relay", urls[1], "--json")
	if r.code != 1 || !strings.Contains(r.err, "certificate") {
		t.Errorf("with the old certificate still in use: %+v", r)
	}
	swap(secondKey, key)
	p.signal(syscall.SIGHUP)
	p.err.until(t, `"reloaded"`)
	for _, url := range urls[1:] {
		run(t, "", trusting(cert), "call", "--relay", url, "protocol=p", "m", `1`).is(t, result{out: "1\n"})
	}
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
}
