package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// administered starts a relay with an admin server on a free port, which keeps its token below a
// directory of its own. env lets commands find both.
func administered(t *testing.T, args ...string) (p *process, url, admin string, env []string) {
	t.Helper()
	dir := t.TempDir()
	p = startWith(t, []string{"XDG_RUNTIME_DIR=" + dir}, append([]string{"serve", "--listen", "tcp://127.0.0.1:0", "--admin", "127.0.0.1:0"}, args...)...)
	for url == "" || admin == "" {
		line := p.err.until(t, "listening")
		if e := parseEntry(t, line); e.Msg == "admin listening" {
			admin = e.URL
			if e.TokenFile != "" && !strings.HasPrefix(e.TokenFile, dir+"/ahprelay/admin-127.0.0.1_") {
				t.Errorf("the token is in %s", e.TokenFile)
			}
		} else {
			url = e.URL
		}
	}
	addr := strings.TrimSuffix(strings.TrimPrefix(admin, "http://"), "/")
	return p, url, admin, []string{"XDG_RUNTIME_DIR=" + dir, "AHPRELAY_ADMIN=" + addr, "AHPRELAY_RELAY=" + url}
}

func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: deadline}
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestAdminRoutes(t *testing.T) {
	t.Parallel()
	p, _, admin, _ := administered(t)
	for path, want := range map[string]string{"livez": "live\n", "readyz": "ready\n", "metrics": "\nahprelay_connections 0\n", "": "<title>ahprelay</title>"} {
		if status, body := fetch(t, admin+path); status != 200 || !strings.Contains(body, want) {
			t.Errorf("/%s: %d %s", path, status, body)
		}
	}
	if status, body := fetch(t, admin+"api/connections"); status != 401 || !strings.Contains(body, "the admin token is missing or wrong; it is in /") {
		t.Errorf("%d %s", status, body)
	}
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestReadyWhileDraining: not ready from the first moment of a drain, alive to the last.
func TestReadyWhileDraining(t *testing.T) {
	t.Parallel()
	p, url, admin, env := administered(t)
	service := start(t, "register", "--relay", url, "--metadata", `{"protocol":"p"}`, "--exec", "echo running >&2; exec sleep 60")
	service.out.next(t)
	caller := start(t, "call", "--relay", url, "protocol=p", "m")
	service.err.until(t, "running")
	run(t, "", env, "health").is(t, result{out: "ready\n"})
	p.signal(syscall.SIGTERM)
	p.err.until(t, `"draining"`)
	if status, body := fetch(t, admin+"readyz"); status != 503 || body != "draining\n" {
		t.Errorf("%d %s", status, body)
	}
	if status, body := fetch(t, admin+"livez"); status != 200 || body != "live\n" {
		t.Errorf("%d %s", status, body)
	}
	addr := strings.TrimPrefix(env[1], "AHPRELAY_ADMIN=")
	run(t, "", env, "health").is(t, result{code: 1, err: "ahprelay: the admin server at " + addr + " answers 503 Service Unavailable: draining\n"})
	p.signal(syscall.SIGTERM)
	p.wait()
	caller.wait()
	run(t, "", env, "health").is(t, result{code: 1, err: "ahprelay: no admin server answers at " + addr + ": dial tcp " + addr + ": connect: connection refused\n"})
}

// TestTakenAdminAddress: what was asked for is had or refused; the default one may be missing.
func TestTakenAdminAddress(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr := l.Addr().String()
	r := run(t, "", nil, "serve", "--listen", "tcp://127.0.0.1:0", "--admin", addr)
	if want := "ahprelay: starting the admin server: listen " + addr + ": listen tcp " + addr + ": bind: address already in use; choose another address with --admin, or --admin \"\" for none\n"; r.code != 1 || r.out != "" || !strings.HasSuffix(r.err, "\n"+want) {
		t.Errorf("%+v", r)
	}
	if l, err := net.Listen("tcp", "127.0.0.1:7421"); err == nil { // if not, somebody else has it
		defer l.Close()
	}
	p := start(t, "serve", "--listen", "tcp://127.0.0.1:0")
	if e := parseEntry(t, p.err.until(t, "no admin server")); e.Level != "WARN" || !strings.Contains(e.Msg, `--admin "" for none`) {
		t.Errorf("%+v", e)
	}
	p.err.until(t, `"listening"`)
}

func TestAdminOverUnixSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "ahp") // short: socket addresses are
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := start(t, "serve", "--listen", "tcp://127.0.0.1:0", "--admin", "unix://"+dir+"/admin")
	p.err.until(t, "admin listening")
	run(t, "", nil, "health", "--admin", "unix://"+dir+"/admin").is(t, result{out: "ready\n"})
	r := run(t, "", nil, "top", "--once", "--json", "--admin", "unix://"+dir+"/admin")
	var v struct{ Stats struct{ Ready bool } }
	if err := json.Unmarshal([]byte(r.out), &v); err != nil || r.code != 0 || !v.Stats.Ready {
		t.Errorf("%v %+v", err, r)
	}
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if _, err := os.Lstat(dir + "/admin"); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
	run(t, "", nil, "health", "--admin", "unix://"+dir+"/admin").is(t, result{code: 1, err: "ahprelay: no admin server answers at unix://" + dir + "/admin: dial unix " + dir + "/admin: connect: no such file or directory\n"})
}

func TestFailedReloadIsCounted(t *testing.T) {
	t.Parallel()
	path := file(t, "")
	p, _, admin, _ := administered(t, "--config", path)
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGHUP)
	p.err.until(t, "reload failed")
	if _, body := fetch(t, admin+"metrics"); !strings.Contains(body, "\nahprelay_reloads_total{result=\"failed\"} 1\n") {
		t.Errorf("%s", body)
	}
}

// TestSupervisor: what systemd is told, in order.
func TestSupervisor(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "ahp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: dir + "/notify", Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	path := file(t, "")
	p := startWith(t, []string{"NOTIFY_SOCKET=" + dir + "/notify"}, "serve", "--listen", "tcp://127.0.0.1:0", "--admin=", "--config", path)
	expect := func(want string) {
		t.Helper()
		_ = l.SetReadDeadline(time.Now().Add(deadline))
		var message [256]byte
		n, err := l.Read(message[:])
		if got := string(message[:n]); err != nil || got != want && !(strings.HasSuffix(want, "=") && strings.HasPrefix(got, want)) {
			t.Errorf("%v %q, want %q", err, got, want)
		}
	}
	expect("READY=1")
	p.signal(syscall.SIGHUP)
	expect("RELOADING=1\nMONOTONIC_USEC=")
	expect("READY=1")
	p.signal(syscall.SIGTERM)
	expect("STOPPING=1")
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

func TestTopOnce(t *testing.T) {
	t.Parallel()
	_, url, _, env := administered(t)
	_, id := service(t, url, `{"protocol":"echo"}`, "--echo")
	run(t, "", env, "call", id, "m", "1").is(t, result{out: "1\n"})
	r := run(t, "", env, "top", "--once", "--interval", "250ms")
	if r.code != 0 || r.err != "" {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"ahprelay ", "  ready  up ", "connections 1  services 1  following 0  in flight 0 ", "\na second: in ", "\nconnections: 1\nCLIENT ",
		"\nowner-protocolecho  anonymous  tcp 127.0.0.1:", "\nservices: 1\nPROTOCOL ", "\necho      owner-protocolecho  " + id + "         0          1     0  {\"protocol\":\"echo\"}\n", "\nrequests: 0\n", "\nclosings: 0\n"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is missing in\n%s", want, r.out)
		}
	}
	r = run(t, "", env, "top", "--once", "--json", "--interval", "250ms")
	var v struct {
		Stats struct {
			Services          int
			RequestsCompleted map[string]int
		}
		Rates       struct{ Seconds float64 }
		Connections struct{ Items []struct{ ClientID string } }
	}
	if err := json.Unmarshal([]byte(r.out), &v); err != nil || r.code != 0 || strings.Count(r.out, "\n") != 1 || v.Stats.Services != 1 || v.Stats.RequestsCompleted["result"] != 1 ||
		v.Rates.Seconds <= 0 || len(v.Connections.Items) != 1 || v.Connections.Items[0].ClientID != "owner-protocolecho" {
		t.Errorf("%v %+v", err, r)
	}
}

// TestTopJSON: a line each round until it is interrupted.
func TestTopJSON(t *testing.T) {
	t.Parallel()
	_, _, _, env := administered(t)
	p := startWith(t, env, "top", "--json", "--interval", "250ms")
	for range 2 {
		if line := p.out.next(t); !json.Valid([]byte(line)) {
			t.Error(line)
		}
	}
	p.signal(syscall.SIGINT)
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

func TestOperatorNeedsTheToken(t *testing.T) {
	t.Parallel()
	_, _, admin, env := administered(t)
	addr := strings.TrimSuffix(strings.TrimPrefix(admin, "http://"), "/")
	found, err := filepath.Glob(strings.TrimPrefix(env[0], "XDG_RUNTIME_DIR=") + "/ahprelay/*.token")
	if err != nil || len(found) != 1 {
		t.Fatalf("%v %v", found, err)
	}
	for _, command := range [][]string{{"top", "--once"}, {"tap"}} {
		stranger := []string{"XDG_RUNTIME_DIR=" + t.TempDir(), env[1]}
		refused := result{code: 1, err: "ahprelay: the admin server at " + addr + " answers 401 Unauthorized: the admin token is missing or wrong; it is in " + found[0] + "\n"}
		run(t, "", stranger, command...).is(t, refused)
		run(t, "", stranger, append(command, "--admin-token-file", file(t, "wrong\n"))...).is(t, refused)
		r := run(t, "", stranger, append(command, "--admin-token-file", "/nonexistent/t")...)
		r.is(t, result{code: 1, err: "ahprelay: reading the admin token: open /nonexistent/t: no such file or directory\n"})
	}
	run(t, "", []string{env[1]}, "top", "--once", "--json", "--admin-token-file", found[0]).exits(t, 0)
	configured := file(t, "admin_token_sha256 = \""+tokenHash+"\"\n")
	_, _, _, env = administered(t, "--config", configured)
	run(t, "", []string{env[1], "AHPRELAY_ADMIN_TOKEN_FILE=" + file(t, "secret\n")}, "top", "--once").exits(t, 0)
}

func (r result) exits(t *testing.T, code int) {
	t.Helper()
	if r.code != code {
		t.Errorf("%+v", r)
	}
}

func TestTap(t *testing.T) {
	t.Parallel()
	relay, url, admin, env := administered(t)
	_, id := service(t, url, `{"protocol":"echo"}`, "--echo")
	taps := func(n string) {
		t.Helper()
		for end := time.Now().Add(deadline); ; time.Sleep(20 * time.Millisecond) {
			if _, body := fetch(t, admin+"metrics"); strings.Contains(body, "\nahprelay_taps "+n+"\n") {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("never %s taps", n)
			}
		}
	}
	text := startWith(t, env, "tap", "--count", "4")
	lines := startWith(t, env, "tap", "--json", "--payload", "--service", "protocol=echo", "--method", "m", "--client", "me", "--kind", "request,answer")
	taps("2")
	call := append(env, "AHPRELAY_CLIENT_ID=me")
	run(t, "", call, "call", id, "m", `{"secret": 1}`).is(t, result{out: "{\"secret\": 1}\n"})
	run(t, "", call, "notify", id, "n").is(t, result{})
	run(t, "", call, "call", "nobody", "m").exits(t, 1)
	for _, want := range []string{"  request       me → owner-protocolecho  echo  " + id + "  m  #", "  answer        me ← owner-protocolecho  echo  " + id + "  m  result  #",
		"  notification  me → owner-protocolecho  echo  " + id + "  n  ", "  refused       me → –  error -32008  "} {
		if line := text.out.next(t); !strings.Contains(line, want) || strings.Contains(line, "secret") {
			t.Errorf("%q, want %q", line, want)
		}
	}
	if code := text.wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
	for _, kind := range []string{"request", "answer"} {
		var e struct {
			Kind, Sender, Method string
			Bytes                int
			Payload              json.RawMessage
		}
		line := lines.out.next(t)
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Kind != kind || e.Sender != "me" || e.Method != "m" || e.Bytes != 13 || string(e.Payload) != `{"secret": 1}` {
			t.Errorf("%v %s", err, line)
		}
	}
	taps("1")
	relay.signal(syscall.SIGTERM)
	relay.wait()
	if line := lines.err.next(t); line != "ahprelay: the relay has ended the tap" {
		t.Error(line)
	}
	if code := lines.wait(); code != 1 {
		t.Errorf("exit %d", code)
	}
}
