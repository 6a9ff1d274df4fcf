package admin

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// outer checks what every request must fulfil and sets what every answer carries.
func (s *Server) outer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		if !s.unix && !ownHost(r.Host) {
			// A page of another site whose name was made to resolve to this machine.
			fail(w, http.StatusMisdirectedRequest, "the Host header names another machine; use localhost or a loopback address")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownHost reports whether a Host header can only mean this machine. The port may differ: it may have been
// forwarded.
func ownHost(header string) bool {
	host := header
	if h, _, err := net.SplitHostPort(header); err == nil {
		host = h
	}
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback()
}

// guard lets those in who bear the token, and everybody who could open the Unix socket. The token is a
// header and never a cookie: a browser would send a cookie to whatever else listens on this machine.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.unix {
			next.ServeHTTP(w, r)
			return
		}
		scheme, presented, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") || !s.token.admits(strings.TrimSpace(presented)) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="ahprelay admin"`)
			fail(w, http.StatusUnauthorized, s.token.hint())
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hint says where to get the token.
func (t *token) hint() string {
	switch {
	case t.file != "":
		return "the admin token is missing or wrong; it is in " + t.file
	case t.err != nil:
		return "there is no admin token: " + t.err.Error()
	}
	return "the admin token is missing or wrong; its SHA-256 is admin_token_sha256 of the configuration"
}
