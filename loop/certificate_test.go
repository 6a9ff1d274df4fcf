package loop

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahprelay/ahprelay/relay"
)

func TestLoadCertificates(t *testing.T) {
	dir := t.TempDir()
	cert, key := authority().server("relay")
	_, otherKey := authority().server("other")
	good, goodKey := write(t, dir, "cert", cert), write(t, dir, "key", key)
	other, junk, missing := write(t, dir, "other", otherKey), write(t, dir, "junk", []byte("junk")), filepath.Join(dir, "missing")
	for _, c := range []struct{ cert, key, ca, want string }{
		{missing, goodKey, "", "reading the TLS certificate: open " + missing + ": no such file or directory"},
		{good, missing, "", "reading the TLS key: open " + missing + ": no such file or directory"},
		{junk, goodKey, "", "using the TLS certificate of " + junk + " with the key of " + goodKey + ": tls: failed to find any PEM data in certificate input"},
		{good, other, "", "using the TLS certificate of " + good + " with the key of " + other + ": tls: private key does not match public key"},
		{good, goodKey, missing, "reading the authorities of client certificates: open " + missing + ": no such file or directory"},
		{good, goodKey, junk, "reading the authorities of client certificates: " + junk + " holds no PEM certificate"},
	} {
		if _, err := LoadCertificates(c.cert, c.key, c.ca); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
	if c, err := LoadCertificates(good, goodKey, ""); err != nil || c.NotAfter().IsZero() {
		t.Error(c, err)
	}
	_, err := Listen(Config{Listen: []string{"tls://127.0.0.1:0"}, Relay: relay.DefaultConfig()})
	if err == nil || err.Error() != "tls:// and wss:// listeners need a certificate" {
		t.Error(err)
	}
}

// secured connects with what config says, and returns the client and how the handshake went.
func secured(t *testing.T, s *server, scheme string, config *tls.Config) (*peer, *tls.Conn, error) {
	t.Helper()
	raw := openRaw(t, s)
	secure := tls.Client(raw, config)
	if err := secure.Handshake(); err != nil {
		return nil, nil, err
	}
	var c net.Conn = secure
	if scheme == "wss" {
		socket, err := openSocket(secure, nil)
		if err != nil {
			return nil, nil, err
		}
		c = socket
	}
	p := newPeer(t, c)
	p.base = raw
	return p, secure, nil
}

func TestTLSVersions(t *testing.T) {
	s := run(t, func(c *Config) {
		c.Listen, c.Certificates = []string{"tls://127.0.0.1:0"}, authority().certificates(t, "relay", false)
	})
	old := authority().trusted()
	old.MaxVersion = tls.VersionTLS12
	if _, _, err := secured(t, s, "tls", old); err == nil || !strings.Contains(err.Error(), "protocol version not supported") {
		t.Errorf("TLS 1.2: %v", err)
	}
	p, secure, err := secured(t, s, "tls", authority().trusted())
	if err != nil || secure.ConnectionState().Version != tls.VersionTLS13 {
		t.Fatal(err)
	}
	p.initialize("a")
}

// A new certificate is for connections from then on.
func TestUseCertificates(t *testing.T) {
	s := run(t, func(c *Config) {
		c.Listen, c.Certificates = []string{"wss://127.0.0.1:0"}, authority().certificates(t, "first", false)
	})
	name := func(secure *tls.Conn) string { return secure.ConnectionState().PeerCertificates[0].Subject.CommonName }
	before, secure, err := secured(t, s, "wss", authority().trusted())
	if err != nil || name(secure) != "first" {
		t.Fatal(err)
	}
	before.initialize("a")
	if err := s.UseCertificates(authority().certificates(t, "second", false)); err != nil {
		t.Fatal(err)
	}
	_, secure, err = secured(t, s, "wss", authority().trusted())
	if err != nil || name(secure) != "second" {
		t.Fatal(err)
	}
	before.quiet()
	if err := s.UseCertificates(nil); err == nil {
		t.Error("the certificate can be taken away")
	}
}

// The names of a client's certificate make its principal; who has none is anonymous.
func TestClientCertificates(t *testing.T) {
	uri, _ := url.Parse("spiffe://example/user")
	for _, scheme := range []string{"tls", "wss"} {
		t.Run(scheme, func(t *testing.T) {
			s := run(t, func(c *Config) {
				c.Listen, c.Certificates = []string{scheme + "://127.0.0.1:0"}, authority().certificates(t, "relay", true)
				c.Relay.Auth = relay.Auth{Required: true, Resource: resource, ResourceName: "the relay"}
				c.Relay.Principals = []relay.Principal{
					{Name: "git", ClientCert: "git.example", ClientIDs: []string{"*"}, Register: []string{"*"}},
					{Name: "user", ClientCert: uri.String(), ClientIDs: []string{"*"}, Discover: []string{"*"}, Notify: []string{"*"}},
					{Name: "dns", ClientCert: "dns.example", ClientIDs: []string{"*"}},
					{Name: "mail", ClientCert: "me@mail.example", ClientIDs: []string{"*"}},
					{Name: "ip", ClientCert: "192.0.2.1", ClientIDs: []string{"*"}},
				}
			})
			connect := func(clientID string, template *x509.Certificate) *peer {
				t.Helper()
				config := authority().trusted()
				if template != nil {
					template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
					cert, err := tls.X509KeyPair(authority().issue(template))
					if err != nil {
						t.Fatal(err)
					}
					config.Certificates = []tls.Certificate{cert}
				}
				p, _, err := secured(t, s, scheme, config)
				if err != nil {
					t.Fatal(err)
				}
				p.initialize(clientID)
				return p
			}
			owner := connect("owner", &x509.Certificate{Subject: pkix.Name{CommonName: "git.example"}})
			id := owner.register(`{"protocol":"p"}`)
			user := connect("user", &x509.Certificate{Subject: pkix.Name{CommonName: "unknown"}, URIs: []*url.URL{uri}})
			user.send(notify(id, `"method":"m"`))
			owner.expect(notified(id, from("user", "user"), `"method":"m","params":null`))
			for _, template := range []*x509.Certificate{{DNSNames: []string{"a.example", "dns.example"}}, {EmailAddresses: []string{"me@mail.example"}}, {IPAddresses: []net.IP{net.IPv4(192, 0, 2, 1)}}} {
				p := connect("other", template)
				p.send(request("1", id, `"method":"m"`))
				p.expect(failure("1", -32008, "no such service", notFound))
				_ = p.Close()
				s.until("it is gone", func(core *relay.Core) bool { return core.Peers() == 2 })
			}
			for _, template := range []*x509.Certificate{nil, {Subject: pkix.Name{CommonName: "nobody"}}} {
				p := connect("anonymous", template)
				p.send(request("1", id, `"method":"m"`))
				p.expect(failure("1", -32007, "authentication required", `{"delivered":"never",`+authRequiredData))
			}
			stranger, err := tls.X509KeyPair(newCertifier().issue(&x509.Certificate{Subject: pkix.Name{CommonName: "git.example"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}))
			if err != nil {
				t.Fatal(err)
			}
			config := authority().trusted()
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &stranger, nil }
			if p, _, err := secured(t, s, scheme, config); err == nil {
				if line, err := p.tryLine(); err == nil {
					t.Errorf("a certificate of another authority: %s", line)
				}
			}
		})
	}
}
