package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Schemes lists the schemes of listeners that a configuration may name.
var Schemes = []string{"tcp", "unix", "ws", "tls", "wss"}

// socketPathBytesMax is what the shortest sockaddr_un of the supported systems holds, NUL excluded.
const socketPathBytesMax = 103

// Address is a listener's URL, taken apart.
type Address struct {
	Scheme string
	Host   string // "" for every interface
	Port   int
	Path   string // of a Unix socket
}

// ParseAddress reads a URL of "listen". Errors complete the sentence "listen: "URL" …".
func ParseAddress(text string) (Address, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return Address{}, errors.New("is no URL such as tcp://127.0.0.1:7420 or unix:///run/ahprelay.sock")
	}
	if !slices.Contains(Schemes, scheme) {
		return Address{}, fmt.Errorf("has the unknown scheme %q, must be one of %s", scheme, strings.Join(Schemes, ", "))
	}
	if scheme == "unix" {
		if !strings.HasPrefix(rest, "/") {
			return Address{}, errors.New("needs an absolute path: unix:///path")
		}
		if len(rest) > socketPathBytesMax || strings.ContainsRune(rest, 0) {
			return Address{}, fmt.Errorf("has a path of more than %d bytes, which no socket address holds", socketPathBytesMax)
		}
		return Address{Scheme: scheme, Path: rest}, nil
	}
	host, port, err := splitHostPort(strings.TrimSuffix(rest, "/"))
	return Address{Scheme: scheme, Host: host, Port: port}, err
}

func splitHostPort(text string) (string, int, error) {
	host, digits, err := net.SplitHostPort(text)
	if err != nil {
		var at *net.AddrError
		if errors.As(err, &at) {
			return "", 0, fmt.Errorf("is no host:port: %s", at.Err)
		}
		return "", 0, fmt.Errorf("is no host:port: %w", err)
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("has the port %q, must be 0 to 65535", digits)
	}
	if strings.ContainsAny(host, "/?#@ ") {
		return "", 0, fmt.Errorf("has the host %q, must be a name or an address", host)
	}
	return host, int(port), nil
}

// Loopback reports whether only this machine can connect to a: a name other than localhost counts as
// remote, whatever it resolves to today.
func (a Address) Loopback() bool {
	if a.Scheme == "unix" || strings.EqualFold(a.Host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(a.Host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Plaintext reports whether others on the way can read what passes through a.
func (a Address) Plaintext() bool { return a.Scheme == "tcp" || a.Scheme == "ws" }

// ParseAdmin reads "admin": a loopback host:port, or unix:///path. Errors complete the sentence
// "admin: "TEXT" …".
func ParseAdmin(text string) (Address, error) {
	if strings.HasPrefix(text, "unix:") {
		return ParseAddress(text)
	}
	host, port, err := splitHostPort(text)
	if err != nil {
		return Address{}, err
	}
	a := Address{Scheme: "tcp", Host: host, Port: port}
	if !a.Loopback() {
		return Address{}, errors.New("is reachable beyond loopback; use a loopback address or a Unix socket")
	}
	return a, nil
}

// checkOrigin reports what is wrong with an origin: it is compared with what browsers send.
func checkOrigin(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || text != u.Scheme+"://"+strings.ToLower(u.Host) {
		return errors.New("is no origin such as https://app.example or http://localhost:3000, in lower case and without a slash at the end")
	}
	return nil
}

// checkFileURI reports what is wrong with a file: URI.
func checkFileURI(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("is no URI")
	}
	if u.Scheme != "file" || u.Opaque != "" || !strings.HasPrefix(u.Path, "/") || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("is no file: URI with an absolute path, such as file:///home/me")
	}
	return nil
}

// checkResource reports what is wrong with an RFC 9728 resource identifier.
func checkResource(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.Fragment != "" || strings.HasSuffix(text, "#") || u.User != nil {
		return errors.New("is no https URL without a fragment")
	}
	return nil
}
