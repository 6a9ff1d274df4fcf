package loop

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahprelay/ahprelay/relay"
)

// refusal is the error with which Listen refuses a configuration.
func refusal(t *testing.T, listen ...string) string {
	t.Helper()
	s, err := Listen(Config{Listen: listen, Relay: relay.DefaultConfig()})
	if err == nil {
		_ = s.closeAll()
		t.Fatalf("listening on %v was not refused", listen)
	}
	return err.Error()
}

// closeAll ends a server that was never served.
func (s *Server) closeAll() error {
	s.Stop()
	return s.Serve()
}

func TestTakenPortIsRefused(t *testing.T) {
	s := run(t, nil)
	want := fmt.Sprintf(`listen "tcp://%s": listen tcp %[1]s: bind: address already in use`, s.addr)
	if got := refusal(t, "tcp://"+s.addr); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// What was bound before the one that failed is given back.
	free := freeAddr(t)
	if got := refusal(t, "tcp://"+free, "tcp://"+s.addr); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	l, err := net.Listen("tcp", free)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	hello(t, s.addr, "still served").quiet()
}

func TestListenersThatAreNone(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"ftp://127.0.0.1:0", `listen "ftp://127.0.0.1:0": scheme must be tcp, unix, ws, tls or wss`},
		{"tcp://127.0.0.1:99999", `listen "tcp://127.0.0.1:99999": listen tcp: address 99999: invalid port`},
	} {
		if got := refusal(t, c.url); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if got := refusal(t); got != "no listener is configured" {
		t.Error(got)
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// A relay that is stopped while clients are connected leaves their ends of the connections in TIME_WAIT;
// its successor gets the port at once.
func TestRestartOnTheSamePort(t *testing.T) {
	addr := freeAddr(t)
	for range 3 {
		s := run(t, func(c *Config) { c.Listen = []string{"tcp://" + addr} })
		a, b := hello(t, addr, "a"), hello(t, addr, "b")
		a.quiet()
		s.stop()
		a.eof()
		b.eof()
	}
}

func TestUnixSocketBesideTCP(t *testing.T) {
	path := filepath.Join(t.TempDir(), "relay.sock")
	s := run(t, func(c *Config) { c.Listen = append(c.Listen, "unix://"+path) })
	if got := s.Addrs()[1].String(); got != path {
		t.Errorf("address %s", got)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket is %v, %v", info.Mode(), err)
	}
	owner, caller := dialWith(t, "unix", path, 0), hello(t, s.addr, "caller")
	owner.initialize("owner")
	id := owner.register(`{}`)
	caller.send(request("1", id, `"method":"m"`))
	owner.send(result(owner.asked(id, "caller", asked), `1`))
	caller.expect(result("1", `1`))

	want := fmt.Sprintf(`listen "unix://%s": address already in use`, path)
	if got := refusal(t, "unix://"+path); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	owner.quiet()
	_, _ = owner.Close(), caller.Close()
	s.empty()
	s.stop()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left behind: %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestUnixMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "relay.sock")
	run(t, func(c *Config) { c.Listen, c.UnixMode = append(c.Listen, "unix://"+path), 0o660 })
	if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeSocket|0o660 {
		t.Errorf("the socket is %v, %v", info.Mode(), err)
	}
}

func TestStaleUnixSocketIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "relay.sock")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	_ = old.Close()
	run(t, func(c *Config) { c.Listen = append(c.Listen, "unix://"+path) })
	dialWith(t, "unix", path, 0).initialize("a")
}

// A socket that another relay has put in the place of ours stays when we end.
func TestUnixSocketOfASuccessorIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "relay.sock")
	first := run(t, func(c *Config) { c.Listen = []string{"unix://" + path} })
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	run(t, func(c *Config) { c.Listen = []string{"unix://" + path} })
	first.stop()
	dialWith(t, "unix", path, 0).initialize("a")
}

// Whatever else lies at the path stays as it is.
func TestAnythingElseAtAUnixPathIsRefused(t *testing.T) {
	dir := t.TempDir()
	file, tree, link := filepath.Join(dir, "file"), filepath.Join(dir, "tree"), filepath.Join(dir, "link")
	target := filepath.Join(tree, "kept")
	for _, err := range []error{os.WriteFile(file, []byte("kept"), 0o644), os.Mkdir(tree, 0o755), os.WriteFile(target, []byte("kept"), 0o644), os.Symlink(target, link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{file, tree, link} {
		want := fmt.Sprintf(`listen "unix://%s": %[1]s exists and is not a socket`, path)
		if got := refusal(t, "unix://"+path); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	for _, path := range []string{file, target, link} {
		if b, err := os.ReadFile(path); err != nil || string(b) != "kept" {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
	missing := filepath.Join(dir, "missing", "relay.sock")
	if got := refusal(t, "unix://"+missing); !strings.HasPrefix(got, fmt.Sprintf(`listen "unix://%s": `, missing)) || !strings.HasSuffix(got, "no such file or directory") {
		t.Error(got)
	}
}
