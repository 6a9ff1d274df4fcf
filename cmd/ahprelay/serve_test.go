package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestServeRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"unknown key", "[limits]\nqueue_soft = 1\n", "F:2: unknown key limits.queue_soft, the nearest known one is limits.queue_bytes_soft"},
		{"metadata", "limits.metadata_bytes_max = 1048000\n", "F:1: limits: metadata_bytes_max 1048000 + 1024 exceeds frame_bytes_max 1048576"},
		{"queues", "limits.queue_bytes_soft = 67108865\n", "F:1: limits: queue_bytes_soft 67108865 exceeds queue_bytes_hard 67108864"},
		{"remote", "listen = [\"tcp://0.0.0.0:0\"]\n", "F:1: listen: \"tcp://0.0.0.0:0\" is reachable beyond loopback and there is no [[principal]]: anybody could do anything; set allow_anonymous_remote = true if that is meant"},
		{"no certificate", "listen = [\"wss://127.0.0.1:0\"]\n", "F:1: listen: \"wss://127.0.0.1:0\" needs tls.cert_file and tls.key_file"},
		{"missing certificate", "listen = [\"wss://127.0.0.1:0\"]\ntls.cert_file = \"/nowhere/cert.pem\"\ntls.key_file = \"/nowhere/key.pem\"\n", "tls: reading the TLS certificate: open /nowhere/cert.pem: no such file or directory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			path := file(t, tc.text)
			run(t, "", nil, "serve", "--config", path).is(t, result{code: 2, err: "ahprelay: " + strings.Replace(tc.want, "F:", path+":", 1) + "\n"})
		})
	}
	r := run(t, "", nil, "serve", "--memory-bytes-max", "1000000000000000")
	if r.code != 2 || r.out != "" || !strings.HasPrefix(r.err, "ahprelay: limits.memory_bytes_max is 1000000000000000, but the ") {
		t.Errorf("%+v", r)
	}
}

func TestTakenPort(t *testing.T) {
	t.Parallel()
	_, url := relay(t)
	r := run(t, "", nil, "serve", "--listen", url, "--log-format", "text")
	if r.code != 1 || !strings.Contains(r.err, url) || !strings.HasSuffix(r.err, "address already in use\n") || !strings.Contains(r.err, "ahprelay: starting the relay: listen ") {
		t.Errorf("%+v", r)
	}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p, _ := relay(t)
		p.signal(s)
		p.err.until(t, `"stopped"`)
		if code := p.wait(); code != 0 {
			t.Errorf("%v: exit %d", s, code)
		}
	}
}

// TestSecondSignal: a request in flight keeps the drain going, the second signal ends it.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	p, url := relay(t)
	service := start(t, "register", "--relay", url, "--metadata", `{"protocol":"p"}`, "--exec", "echo running >&2; exec sleep 60")
	service.out.next(t)
	caller := start(t, "call", "--relay", url, "protocol=p", "m")
	service.err.until(t, "running")
	p.signal(syscall.SIGTERM)
	p.err.until(t, `"draining"`)
	p.signal(syscall.SIGTERM)
	if line := p.err.until(t, "second"); line != "ahprelay: stopped by a second terminated while draining" {
		t.Error(line)
	}
	if code := p.wait(); code != 1 {
		t.Errorf("exit %d", code)
	}
	if code := caller.wait(); code != 1 {
		t.Errorf("caller: exit %d", code)
	}
	service.signal(syscall.SIGTERM)
	if code := service.wait(); code != 0 {
		t.Errorf("service: exit %d", code)
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	path := file(t, "")
	p, url := relay(t, "--config", path)
	rewrite := func(text string) entry {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p.signal(syscall.SIGHUP)
		return parseEntry(t, p.err.next(t))
	}
	e := rewrite("overlod = 1\n")
	if e.Level != "ERROR" || e.Msg != "reload failed, the old configuration stays" || e.Error != path+":1: unknown key overlod, the nearest known one is overload" {
		t.Errorf("%+v", e)
	}
	if r := run(t, "", nil, "services", "--relay", url, "--json"); r.out != "[]\n" {
		t.Errorf("after a failed reload: %+v", r)
	}
	e = rewrite("[auth]\nrequired = true\n[[principal]]\nname = \"a\"\ntoken_sha256 = \"" + tokenHash + "\"\nclient_ids = [\"*\"]\nregister = [\"*\"]\ndiscover = [\"*\"]\n")
	if e.Level != "INFO" || e.Msg != "reloaded" {
		t.Errorf("%+v", e)
	}
	r := run(t, "", nil, "services", "--relay", url)
	if r.code != 1 || r.out != "" || !strings.Contains(r.err, "-32007") {
		t.Errorf("without a token: %+v", r)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "", []string{"AHPRELAY_RELAY=" + url, "AHPRELAY_TOKEN_FILE=" + token}, "services", "--json").is(t, result{out: "[]\n"})
	e = rewrite("log_level = \"warn\"\nlimits.slots_max = 2000\n")
	if e.Level != "WARN" || e.Msg != "changes that need a restart were ignored" || e.Keys != "limits.slots_max" {
		t.Errorf("%+v", e)
	}
	run(t, "", nil, "services", "--relay", url, "--json").is(t, result{out: "[]\n"})
}

// TestReloadEveryLimit: all limits that need no restart change while the relay runs.
func TestReloadEveryLimit(t *testing.T) {
	t.Parallel()
	path := file(t, "")
	p, url := relay(t, "--config", path)
	text := `overload = "disconnect"
[limits]
frame_bytes_max = 1000000
depth_max = 100
client_id_bytes_max = 100
method_bytes_max = 100
metadata_bytes_max = 10000
protocol_errors_max = 10
memory_bytes_max = 100000000
services_per_connection_max = 10
catalog_bytes_max = 1000000
subscriptions_per_connection_max = 10
catalog_changes_per_second_max = 10
inflight_per_connection_max = 10
inflight_per_service_max = 10
request_timeout = "200ms"
request_timeout_max = "300ms"
handshake_timeout = "3s"
idle_timeout = "4s"
stall_timeout = "5s"
drain_timeout = "6s"
queue_bytes_soft = 1000000
queue_bytes_hard = 10000000
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGHUP)
	if e := parseEntry(t, p.err.next(t)); e.Level != "INFO" || e.Msg != "reloaded" {
		t.Errorf("%+v", e)
	}
	_, id := service(t, url, `{}`, "--exec", "sleep 60")
	r := run(t, "", nil, "call", "--relay", url, id, "m", "--timeout", "1m")
	r.is(t, result{code: 1, err: "ahprelay: error -32051: request timed out\ndata: {\"delivered\":\"maybe\"}\n"})
}

// tokenHash is the SHA-256 of "secret".
const tokenHash = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"

func TestReloadWithoutFile(t *testing.T) {
	t.Parallel()
	p, _ := relay(t)
	p.signal(syscall.SIGHUP)
	if e := parseEntry(t, p.err.next(t)); e.Level != "WARN" || e.Msg != "nothing to reload: there is no --config" {
		t.Errorf("%+v", e)
	}
}

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "ahp") // short: socket addresses are
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	url := "unix://" + dir + "/s"
	p := start(t, "serve", "--listen", url, "--unix-mode", "0660", "--admin=", "--log-format", "text")
	p.err.until(t, "msg=listening url="+url)
	info, err := os.Stat(dir + "/s")
	if err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("%v, %v", info, err)
	}
	run(t, "", nil, "services", "--relay", url, "--json").is(t, result{out: "[]\n"})
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
}
