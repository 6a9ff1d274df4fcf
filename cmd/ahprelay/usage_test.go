package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestWrongUsage: wrong usage prints what is wrong and a hint on stderr, nothing on stdout, and exits 2.
func TestWrongUsage(t *testing.T) {
	for _, tc := range []struct {
		args, err, hint string
	}{
		{"", "a command is missing: bench, call, completion, config, health, help, limits, notify, register, serve, services, tap, top, version", "ahprelay"},
		{"serv", `unknown command "serv", the nearest known one is "serve"`, "ahprelay"},
		{"config", "a command is missing: check, show", "ahprelay config"},
		{"config chek", `unknown command "chek", the nearest known one is "check"`, "ahprelay config"},
		{"config check", "want one file, got 0 argument(s)", "ahprelay config check"},
		{"help nothing", `no help for "nothing"`, "ahprelay help"},
		{"serve --lisen x", "unknown flag --lisen, the nearest known one is --listen", "ahprelay serve"},
		{"serve --frame-byte-max 1", "unknown flag --frame-byte-max, the nearest known one is --frame-bytes-max", "ahprelay serve"},
		{"serve --frame-bytes-max many", `invalid argument "many" for "--frame-bytes-max" flag: want an integer, got "many"`, "ahprelay serve"},
		{"serve x", `unexpected argument "x"`, "ahprelay serve"},
		{"services --jsn", "unknown flag --jsn, the nearest known one is --json", "ahprelay services"},
		{"services -x", "unknown shorthand flag: 'x' in -x", "ahprelay services"},
		{"services --relay http://127.0.0.1:1", `--relay: "http://127.0.0.1:1" has the unknown scheme "http", must be one of tcp, unix, ws, tls, wss`, "ahprelay services"},
		{"call x", "want SERVICE METHOD [PARAMS], got 1 argument(s)", "ahprelay call"},
		{"call x m {bad", "PARAMS: no JSON value", "ahprelay call"},
		{"call =x m", `SERVICE "=x": want a service id or key=value`, "ahprelay call"},
		{"call x m --timeout 5", `invalid argument "5" for "--timeout" flag: time: missing unit in duration "5"`, "ahprelay call"},
		{"call x m --timeout -5s", "--timeout: -5s is negative", "ahprelay call"},
		{"notify x", "want SERVICE METHOD [PARAMS|-], got 1 argument(s)", "ahprelay notify"},
		{"notify x m [", "PARAMS: no JSON value", "ahprelay notify"},
		{"register --metadata {}", "want exactly one of --echo, --log and --exec", "ahprelay register"},
		{"register --metadata {} --echo --exec x", "want exactly one of --echo, --log and --exec", "ahprelay register"},
		{"register --metadata {} --exec=", "--exec: the command is empty", "ahprelay register"},
		{"register --metadata {} --exec x --jobs 0", "--jobs: 0, must be between 1 and 4096", "ahprelay register"},
		{"register --echo", `--metadata is missing: a JSON object such as '{"protocol":"echo"}'`, "ahprelay register"},
		{"register --metadata [] --echo", "--metadata: want a JSON object", "ahprelay register"},
		{"register --metadata { --echo", "--metadata: no JSON value", "ahprelay register"},
		{"version x", `unexpected argument "x"`, "ahprelay version"},
		{"top", "top needs a terminal; use --once or --json", "ahprelay top"},
		{"top --once --interval 1ms", "--interval: 1ms, must be at least 250ms", "ahprelay top"},
		{"top --once --admin 10.0.0.1:1", `--admin: "10.0.0.1:1" is reachable beyond loopback; use a loopback address or a Unix socket`, "ahprelay top"},
		{"tap --kind action", `--kind: "action", must be one of notification, request, answer, dropped, refused`, "ahprelay tap"},
		{"tap --count -1", "--count: -1 is negative", "ahprelay tap"},
		{"tap --admin x", `--admin: "x" is no host:port: missing port in address`, "ahprelay tap"},
		{"health --admin unix:x", `--admin: "unix:x" is no URL such as tcp://127.0.0.1:7420 or unix:///run/ahprelay.sock`, "ahprelay health"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			t.Parallel()
			run(t, "", nil, strings.Fields(tc.args)...).is(t, result{
				err:  "ahprelay: " + tc.err + "\nRun \"" + tc.hint + " --help\" for usage and an example.\n",
				code: 2,
			})
		})
	}
}

func TestHelp(t *testing.T) {
	for _, name := range []string{
		"", "serve", "services", "call", "notify", "register", "config", "config check", "config show", "limits", "version", "help", "bench", "top", "tap", "health",
		"completion", "completion bash", "completion zsh", "completion fish",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, "", nil, append(strings.Fields(name), "--help")...)
			if r.code != 0 || r.err != "" || !strings.Contains(r.out, "Examples:\n") || !strings.Contains(r.out, "Usage:\n") {
				t.Errorf("%+v", r)
			}
			if name != "help" {
				run(t, "", nil, append([]string{"help"}, strings.Fields(name)...)...).is(t, r)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	r := run(t, "", nil, "version", "--json")
	var v struct {
		Version, Commit, Go string
		Protocols           []string
	}
	if err := json.Unmarshal([]byte(r.out), &v); err != nil || r.code != 0 || r.err != "" {
		t.Fatalf("%v: %+v", err, r)
	}
	ranges := "^0.3.0, ^0.4.0, ^0.5.0, ^0.6.0, ^0.7.0, ^0.8.0, ^0.9.0, ^1.0.0"
	if v.Version == "" || v.Commit == "" || v.Go != runtime.Version() || strings.Join(v.Protocols, ", ") != ranges {
		t.Errorf("%+v", v)
	}
	run(t, "", nil, "version").is(t, result{out: "version   " + v.Version + "\ncommit    " + v.Commit + "\ngo        " + v.Go + " " + runtime.GOOS + "/" + runtime.GOARCH + "\nprotocol  " + ranges + "\n"})
	run(t, "", nil, "--version").is(t, result{out: "ahprelay " + v.Version + "\n"})
}

func TestCompletion(t *testing.T) {
	r := run(t, "", nil, "completion", "bash")
	if r.code != 0 || !strings.Contains(r.out, "__start_ahprelay") || r.err != "" {
		t.Errorf("%d, %d bytes, %q", r.code, len(r.out), r.err)
	}
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ahprelay.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	good := file(t, "log_level = \"warn\"\n")
	run(t, "", nil, "config", "check", good).is(t, result{out: good + ": ok\n"})
	odd := file(t, "[[principal]]\nname = \"a\"\nuid = 1\n")
	run(t, "", nil, "config", "check", odd).is(t, result{out: odd + ": ok\n", err: "ahprelay: warning: " + odd + ":3: principal \"a\": uid: no unix:// listener could tell it\n"})
	bad := file(t, "log_level = 1\n\nlisten_on = []\n")
	run(t, "", nil, "config", "check", bad).is(t, result{code: 2, err: "ahprelay: " + bad + ":1: log_level: want \"debug\", \"info\", \"warn\" or \"error\", got the integer 1\n" +
		"ahprelay: " + bad + ":3: unknown key listen_on, the nearest known one is listen\n"})
	run(t, "", nil, "config", "check", "/nonexistent/f").is(t, result{code: 2, err: "ahprelay: reading the configuration: open /nonexistent/f: no such file or directory\n"})
}

func TestConfigShow(t *testing.T) {
	t.Parallel()
	shipped, err := os.ReadFile("../../ahprelay.toml")
	if err != nil {
		t.Fatal(err)
	}
	run(t, "", nil, "config", "show", "--defaults").is(t, result{out: string(shipped)})

	path := file(t, "overload = \"disconnect\"\n")
	r := run(t, "", []string{"AHPRELAY_LOG_LEVEL=debug", "AHPRELAY_CONFIG=" + path}, "config", "show", "--depth-max=64")
	for _, want := range []string{
		"overload = \"disconnect\" # from file " + path + ":1\n", "log_level = \"debug\" # from env AHPRELAY_LOG_LEVEL\n",
		"depth_max = 64 # from flag --depth-max\n", "id_bytes_max = 128 # from default\n",
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
	if r.code != 0 || r.err != "" {
		t.Errorf("%+v", r)
	}
	run(t, "", []string{"AHPRELAY_LOG_LVEL=debug"}, "config", "show").is(t, result{code: 2, err: "ahprelay: unknown environment variable AHPRELAY_LOG_LVEL, the nearest known one is AHPRELAY_LOG_LEVEL\n"})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	r := run(t, "", nil, "limits", "--json", "--memory-bytes-max", "100000000", "--connections-max=10")
	var b struct {
		MemoryBytesMax, PooledBytes, BesideBytes, TotalBytes int64
		Connections                                          int
		Items                                                []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(r.out), &b); err != nil || r.code != 0 || r.err != "" {
		t.Fatalf("%v: %+v", err, r)
	}
	if b.MemoryBytesMax != 1e8 || b.PooledBytes != 1e8 || b.TotalBytes != b.PooledBytes+b.BesideBytes || b.Connections != 10 || len(b.Items) != 9 {
		t.Errorf("%+v", b)
	}
	r = run(t, "", nil, "limits")
	if r.code != 0 || !strings.HasPrefix(r.out, "WHAT ") || !strings.Contains(r.out, "half of the smaller of cgroup and machine\n") {
		t.Errorf("%+v", r)
	}
	r = run(t, "", nil, "limits", "--memory-bytes-max", "1000000000000000")
	if r.code != 1 || r.out == "" || !strings.HasPrefix(r.err, "ahprelay: limits.memory_bytes_max is 1000000000000000, but the ") {
		t.Errorf("%+v", r)
	}
}
