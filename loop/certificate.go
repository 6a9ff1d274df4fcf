package loop

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"
)

// Certificates are what tls:// and wss:// listeners prove to clients, and demand from them.
type Certificates struct {
	own     tls.Certificate
	clients *x509.CertPool         // nil: clients are not asked for a certificate
	config  map[string]*tls.Config // by scheme
}

// LoadCertificates reads a certificate chain (leaf first), its private key and, unless clientCAFile is
// empty, the authorities of client certificates, all PEM. An error names the file.
func LoadCertificates(certFile, keyFile, clientCAFile string) (*Certificates, error) {
	cert, err := os.ReadFile(certFile)
	if err != nil {
		return nil, fmt.Errorf("reading the TLS certificate: %w", err)
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, fmt.Errorf("reading the TLS key: %w", err)
	}
	c := &Certificates{}
	if c.own, err = tls.X509KeyPair(cert, key); err != nil {
		return nil, fmt.Errorf("using the TLS certificate of %s with the key of %s: %w", certFile, keyFile, err)
	}
	if clientCAFile == "" {
		c.configure()
		return c, nil
	}
	authorities, err := os.ReadFile(clientCAFile)
	if err != nil {
		return nil, fmt.Errorf("reading the authorities of client certificates: %w", err)
	}
	c.clients = x509.NewCertPool()
	if !c.clients.AppendCertsFromPEM(authorities) {
		return nil, fmt.Errorf("reading the authorities of client certificates: %s holds no PEM certificate", clientCAFile)
	}
	c.configure()
	return c, nil
}

// NotAfter is when the certificate expires.
func (c *Certificates) NotAfter() time.Time { return c.own.Leaf.NotAfter }

// configure makes what connections are served with. They last, so none is resumed, and a certificate
// that was withdrawn counts no longer than the connection.
func (c *Certificates) configure() {
	config := &tls.Config{
		Certificates:                []tls.Certificate{c.own},
		MinVersion:                  tls.VersionTLS13,
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true,
	}
	if c.clients != nil {
		config.ClientAuth, config.ClientCAs = tls.VerifyClientCertIfGiven, c.clients
	}
	socket := config.Clone()
	socket.NextProtos = []string{"http/1.1"}
	c.config = map[string]*tls.Config{"tls": config, "wss": socket}
}

// certNames returns the names that a client's certificate proves: its common name and every subject
// alternative name, as text.
func certNames(state tls.ConnectionState) []string {
	if len(state.VerifiedChains) == 0 {
		return nil
	}
	leaf := state.PeerCertificates[0]
	var names []string
	add := func(name string) {
		if name != "" {
			names = append(names, name)
		}
	}
	add(leaf.Subject.CommonName)
	for _, name := range leaf.DNSNames {
		add(name)
	}
	for _, name := range leaf.EmailAddresses {
		add(name)
	}
	for _, ip := range leaf.IPAddresses {
		add(ip.String())
	}
	for _, uri := range leaf.URIs {
		add(uri.String())
	}
	return names
}

// UseCertificates has connections from now on served with c; those that there are keep what they have.
func (s *Server) UseCertificates(c *Certificates) error {
	if c == nil && s.secure() {
		return errors.New("tls:// and wss:// listeners need a certificate")
	}
	if s.certificates.Swap(c); c != nil {
		s.log.Info("serving with the certificate", "subject", c.own.Leaf.Subject.String(), "notAfter", c.NotAfter())
		if time.Now().After(c.NotAfter()) {
			s.log.Warn("the certificate has expired", "notAfter", c.NotAfter())
		}
	}
	return nil
}

func (s *Server) secure() bool {
	for _, l := range s.listeners {
		if l.secure() {
			return true
		}
	}
	return false
}
