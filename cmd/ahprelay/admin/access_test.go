package admin

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAccess: health, metrics and the empty page are open, everything else takes the token.
func TestAccess(t *testing.T) {
	w := newWorld(t, nil)
	for path, open := range map[string]bool{
		"/livez": true, "/readyz": true, "/metrics": true, "/": true, "/app.js": true, "/chart.js": true, "/table.js": true, "/style.css": true, "/icon.svg": true,
		"/api/stats": false, "/api/connections": false, "/api/services": false, "/api/requests": false, "/api/closings": false, "/api/tap": false,
		"/api/nothing": false, "/debug/pprof/": false, "/debug/pprof/heap": false, "/debug/pprof/cmdline": false, "/debug/pprof/profile": false, "/debug/pprof/trace": false, "/debug/pprof/symbol": false,
	} {
		status, body, header := w.get(path)
		if want := map[bool]int{true: 200, false: 401}[open]; status != want {
			t.Errorf("%s without a token: %d, want %d", path, status, want)
		}
		if !open && (header.Get("WWW-Authenticate") == "" || !strings.Contains(body, `"error":"the admin token is missing or wrong; it is in `+w.dir)) {
			t.Errorf("%s: %s", path, body)
		}
		for _, wrong := range []string{"Bearer x", "Bearer", "Basic " + strings.Fields(w.bearer()[1])[1], ""} {
			if status, _, _ := w.get(path, "Authorization", wrong); !open && status != 401 {
				t.Errorf("%s with %q: %d", path, wrong, status)
			}
		}
		if header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Set-Cookie") != "" || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", path, header)
		}
	}
	for path, want := range map[string]int{"/api/stats": 200, "/debug/pprof/heap": 200, "/api/nothing": 404, "/nothing": 404} {
		if status, body, _ := w.get(path, w.bearer()...); status != want {
			t.Errorf("%s with the token: %d %s", path, status, body)
		}
	}
	response, err := http.Post(w.admin.URL()+"api/stats", "text/plain", strings.NewReader("x"))
	if err != nil || response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %v %v", response, err)
	}
	response.Body.Close()
}

// TestHost: a name that was made to resolve to this machine is refused everywhere.
func TestHost(t *testing.T) {
	w := newWorld(t, nil)
	for host, good := range map[string]bool{
		"localhost": true, "LOCALHOST:80": true, "127.0.0.1:9999": true, "127.1.2.3": true, "[::1]:1": true, "localhost.": true,
		"evil.example": false, "evil.example:7421": false, "localhost.evil.example": false, "10.0.0.1": false, "0.0.0.0": false, "127.0.0.1.evil.example": false,
	} {
		for _, path := range []string{"/livez", "/metrics", "/", "/api/stats"} {
			if status, _, _ := w.get(path, append(w.bearer(), "Host", host)...); (status == 200) != good {
				t.Errorf("%s of %q: %d", path, host, status)
			}
		}
	}
}

func TestConfiguredToken(t *testing.T) {
	sum := sha256.Sum256([]byte("open sesame"))
	w := newWorld(t, func(c *Config) { c.TokenSHA256 = hex.EncodeToString(sum[:]) })
	if status, _, _ := w.get("/api/stats", "Authorization", "bearer open sesame"); status != 200 {
		t.Errorf("with the token: %d", status)
	}
	if status, body, _ := w.get("/api/stats", "Authorization", "Bearer "+hex.EncodeToString(sum[:])); status != 401 || !strings.Contains(body, "admin_token_sha256") {
		t.Errorf("with the digest: %d %s", status, body)
	}
	if all, _ := os.ReadDir(w.dir); len(all) != 0 {
		t.Errorf("written: %v", all)
	}
}

// TestTokenFile: the file is the user's alone, and goes with the server.
func TestTokenFile(t *testing.T) {
	w := newWorld(t, nil)
	path := w.admin.token.file
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
	w.admin.Close()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestTokenDirectory: nothing is written where others could swap it, and then nobody is let in.
func TestTokenDirectory(t *testing.T) {
	base := t.TempDir()
	shared := filepath.Join(base, "shared")
	if err := os.Mkdir(shared, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{shared, link, filepath.Join(base, "absent", "deep")} {
		k := newToken("", "127.0.0.1:1", getenv(dir))
		if k.err == nil || k.file != "" || k.admits("") {
			t.Errorf("%s: %+v", dir, k)
		}
		if all, _ := os.ReadDir(dir); len(all) != 0 {
			t.Errorf("%s: %v", dir, all)
		}
		if _, err := ReadToken(filepath.Join(dir, "x"), true); err == nil {
			t.Errorf("%s: read", dir)
		}
	}
	w := newWorld(t, func(c *Config) { c.Getenv = getenv(shared) })
	if status, body, _ := w.get("/api/stats", "Authorization", "Bearer "); status != 401 || !strings.Contains(body, "there is no admin token: "+shared) {
		t.Errorf("%d %s", status, body)
	}
}

func TestTokenPlaces(t *testing.T) {
	dir := t.TempDir()
	env := func(pairs map[string]string) func(string) string { return func(n string) string { return pairs[n] } }
	for _, tc := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"RUNTIME_DIRECTORY": "/run/ahprelay:/run/other", "XDG_RUNTIME_DIR": dir}, "/run/ahprelay/admin-127.0.0.1_7421.token"},
		{map[string]string{"XDG_RUNTIME_DIR": dir}, dir + "/ahprelay/admin-127.0.0.1_7421.token"},
		{map[string]string{"XDG_RUNTIME_DIR": dir + "/absent"}, os.TempDir() + "/ahprelay-" + itoa(os.Getuid()) + "/admin-127.0.0.1_7421.token"},
	} {
		if got := TokenFile("127.0.0.1:7421", env(tc.env)); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.env, got, tc.want)
		}
	}
	if got := tokenName("[::1]:7421"); got != "admin-__1_7421.token" {
		t.Error(got)
	}
}

// TestUnixSocket: who can open the socket is let in.
func TestUnixSocket(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "ahp") // short: socket addresses are
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "admin")
	w := newWorld(t, func(c *Config) { c.Addr = "unix://" + path })
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Errorf("%v %v", info, err)
	}
	if w.admin.URL() != "unix://"+path {
		t.Error(w.admin.URL())
	}
	s, err := w.operator().Stats(t.Context())
	if err != nil || s.Version != "1.2.3" || !s.Ready {
		t.Errorf("%+v %v", s, err)
	}
	if all, _ := os.ReadDir(w.dir); len(all) != 0 {
		t.Errorf("written: %v", all)
	}
	w.admin.Close()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestTakenAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr := l.Addr().String()
	_, err = Listen(Config{Addr: addr, Getenv: getenv(t.TempDir())}, nil)
	if want := "listen " + addr + ": listen tcp " + addr + ": bind: address already in use"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	for _, bad := range []string{"0.0.0.0:7421", "x", "10.0.0.1:1", "unix://relative"} {
		if _, err := Listen(Config{Addr: bad}, nil); err == nil {
			t.Errorf("%s: bound", bad)
		}
	}
}

// TestConnectionsAreCapped: a flood of connections takes no more descriptors than allowed.
func TestConnectionsAreCapped(t *testing.T) {
	w := newWorld(t, nil)
	addr := w.admin.listener.Addr().String()
	var open []net.Conn
	for range connectionsMax {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open = append(open, c)
	}
	until(t, "all to be taken", func() bool { return w.admin.listener.(*capped).open.Load() == connectionsMax })
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil || isTimeout(err) {
		t.Errorf("the surplus connection stays: %d %v", n, err)
	}
	open[0].Close()
	until(t, "one to be given back", func() bool { return w.admin.listener.(*capped).open.Load() < connectionsMax })
	if status, _, _ := w.get("/livez"); status != 200 {
		t.Errorf("afterwards: %d", status)
	}
}

func isTimeout(err error) bool {
	n, ok := err.(net.Error)
	return ok && n.Timeout() && err != syscall.ECONNRESET
}
