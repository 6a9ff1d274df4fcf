package config

import (
	"strings"
	"testing"
)

const token = `token_sha256 = "bb5a52f42f9c9261ed4361f59422a1e30036e7c32b270c8807a419feca605023"`

// TestBadFiles has one file for each thing that is refused, with the whole error.
func TestBadFiles(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"syntax", "listen = [\n", "F:1: unexpected EOF; expected value"},
		{"unknown key", "lisen = []", "F:1: unknown key lisen, the nearest known one is listen"},
		{"unknown limit", "[limits]\n\nframe_byte_max = 1", "F:3: unknown key limits.frame_byte_max, the nearest known one is limits.frame_bytes_max"},
		{"limit outside of its table", "frame_bytes_max = 1", "F:1: unknown key frame_bytes_max, the nearest known one is limits.frame_bytes_max"},
		{"unknown table", "[limit]\nx = 1", "F:1: unknown key limit, the nearest known one is limits"},
		{"unknown inside a dotted key", "auth.require = true", "F:1: unknown key auth.require, the nearest known one is auth.required"},
		{"unknown inside an inline table", "#\nlimits = { depth = 1 }", "F:2: unknown key limits.depth, the nearest known one is limits.depth_max"},
		{"two errors, in order", "x = 1\n[limits]\ndepth_max = \"8\"", "F:1: unknown key x, the nearest known one is tls\nF:3: limits.depth_max: want an integer, got the string \"8\""},
		{"table for a value", "[listen]", "F:1: listen: want a list of strings, got a table"},
		{"value for a table", "limits = 1", "F:1: limits: want a table, got the integer 1"},
		{"string for a list", "listen = \"tcp://127.0.0.1:1\"", "F:1: listen: want a list of strings, got the string \"tcp://127.0.0.1:1\""},
		{"integer in a list", "listen = [\n 1]", "F:1: listen: want a list of strings, got the integer 1 in it"},
		{"integer for a bool", "allow_anonymous_remote = 1", "F:1: allow_anonymous_remote: want true or false, got the integer 1"},
		{"float for an integer", "[limits]\ndepth_max = 8.5", "F:2: limits.depth_max: want an integer, got the float 8.5"},
		{"integer for a duration", "[limits]\nidle_timeout = 30", "F:2: limits.idle_timeout: want a duration such as \"30s\", got the integer 30"},
		{"no duration", "[limits]\nidle_timeout = \"30\"", "F:2: limits.idle_timeout: want a duration such as \"30s\", got \"30\""},
		{"integer for a mode", "unix_mode = 0o660", "F:1: unix_mode: want an octal mode such as \"0660\", got the integer 432"},
		{"no mode", "unix_mode = \"0888\"", "F:1: unix_mode: want an octal mode such as \"0660\", got \"0888\""},
		{"overload", "overload = \"Drop\"", "F:1: overload: want \"drop\" or \"disconnect\", got \"Drop\""},
		{"log_level", "log_level = \"warning\"", "F:1: log_level: want \"debug\", \"info\", \"warn\" or \"error\", got \"warning\""},
		{"log_format", "log_format = \"xml\"", "F:1: log_format: want \"auto\", \"text\" or \"json\", got \"xml\""},
		{"coalesce", "coalesce = \"2ms\"", "F:1: coalesce: 2ms, must be between 0 and 1ms"},
		{"negative coalesce", "coalesce = \"-1us\"", "F:1: coalesce: -1µs, must be between 0 and 1ms"},
		{"no listener", "listen = []", "F:1: listen: needs at least one address"},
		{"listener twice", "listen = [\"tcp://127.0.0.1:1\", \"tcp://127.0.0.1:1\"]", "F:1: listen: \"tcp://127.0.0.1:1\" is there twice"},
		{"listener without scheme", "listen = [\"127.0.0.1:1\"]", "F:1: listen: \"127.0.0.1:1\" is no URL such as tcp://127.0.0.1:7420 or unix:///run/ahprelay.sock"},
		{"listener scheme", "listen = [\"http://127.0.0.1:1\"]", "F:1: listen: \"http://127.0.0.1:1\" has the unknown scheme \"http\", must be one of tcp, unix, ws, tls, wss"},
		{"listener without port", "listen = [\"tcp://127.0.0.1\"]", "F:1: listen: \"tcp://127.0.0.1\" is no host:port: missing port in address"},
		{"listener port", "listen = [\"tcp://127.0.0.1:70000\"]", "F:1: listen: \"tcp://127.0.0.1:70000\" has the port \"70000\", must be 0 to 65535"},
		{"listener with a path", "listen = [\"tcp://127.0.0.1/x:1\"]", "F:1: listen: \"tcp://127.0.0.1/x:1\" has the host \"127.0.0.1/x\", must be a name or an address"},
		{"relative socket", "listen = [\"unix://x.sock\"]", "F:1: listen: \"unix://x.sock\" needs an absolute path: unix:///path"},
		{"origin with a path", "origins = [\"https://app.example/\"]", "F:1: origins: \"https://app.example/\" is no origin such as https://app.example or http://localhost:3000, in lower case and without a slash at the end"},
		{"origin without a scheme", "origins = [\"app.example\"]", "F:1: origins: \"app.example\" is no origin such as https://app.example or http://localhost:3000, in lower case and without a slash at the end"},
		{"any origin", "origins = [\"*\"]", "F:1: origins: \"*\" is no origin such as https://app.example or http://localhost:3000, in lower case and without a slash at the end"},
		{"tls without files", "listen = [\"tls://127.0.0.1:1\"]", "F:1: listen: \"tls://127.0.0.1:1\" needs tls.cert_file and tls.key_file"},
		{"tls without a key", "[tls]\ncert_file = \"a\"", "F:2: tls.cert_file and tls.key_file: both or neither"},
		{"admin remote", "admin = \"0.0.0.0:7421\"", "F:1: admin: \"0.0.0.0:7421\" is reachable beyond loopback; use a loopback address or a Unix socket"},
		{"admin no address", "admin = \"7421\"", "F:1: admin: \"7421\" is no host:port: missing port in address"},
		{"admin token", "admin_token_sha256 = \"beef\"", "F:1: admin_token_sha256: want the 64 hex digits of a SHA-256"},
		{"default_directory", "default_directory = \"/home\"", "F:1: default_directory: \"/home\" is no file: URI with an absolute path, such as file:///home/me"},
		{"resource", "[auth]\nresource = \"http://a\"", "F:2: auth.resource: \"http://a\" is no https URL without a fragment"},
		{"required without principals", "[auth]\nrequired = true", "F:2: auth.required is true, but no [[principal]] has a credential: nobody could do anything"},
		{"remote without principals", "listen = [\"tcp://0.0.0.0:1\"]", "F:1: listen: \"tcp://0.0.0.0:1\" is reachable beyond loopback and there is no [[principal]]: anybody could do anything; set allow_anonymous_remote = true if that is meant"},
		{"every interface", "listen = [\"tcp://:1\"]", "F:1: listen: \"tcp://:1\" is reachable beyond loopback and there is no [[principal]]: anybody could do anything; set allow_anonymous_remote = true if that is meant"},
		{"remote plaintext tokens", "listen = [\"tcp://[::]:1\"]\n[[principal]]\nname = \"a\"\n" + token, "F:1: listen: \"tcp://[::]:1\" is plaintext beyond loopback and a [[principal]] has token_sha256: tokens could be read on the way; use tls:// or wss://, or set allow_anonymous_remote = true if that network is trusted"},
	} {
		t.Run(tc.name, func(t *testing.T) { refused(t, tc.text, tc.want) })
	}
}

// TestContradictions are the relations that the operations guide lists as refused at start.
func TestContradictions(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"metadata", "metadata_bytes_max = 2000\nframe_bytes_max = 3000", "F:2: limits: metadata_bytes_max 2000 + 1024 exceeds frame_bytes_max 3000"},
		{"queues", "queue_bytes_soft = 67108865", "F:2: limits: queue_bytes_soft 67108865 exceeds queue_bytes_hard 67108864"},
		{"snapshot", "\ncatalog_bytes_max = 66060289", "F:3: limits: catalog_bytes_max 66060289 + frame_bytes_max 1048576 exceeds queue_bytes_hard 67108864: a snapshot must fit"},
		{"timeouts", "request_timeout = \"11m\"", "F:2: limits: request_timeout 11m0s exceeds request_timeout_max 10m0s"},
		{"in flight", "slots_max = 1023", "F:2: limits: inflight_per_connection_max 1024 exceeds slots_max 1023"},
		{"services", "services_max = 63", "F:2: limits: services_per_connection_max 64 exceeds services_max 63"},
		{"out of range", "depth_max = 1", "F:2: limits: depth_max is 1, must be between 2 and 65536"},
		{"negative", "idle_timeout = \"-1s\"", "F:2: limits: idle_timeout is -1s, must be positive and at most 24h"},
	} {
		t.Run(tc.name, func(t *testing.T) { refused(t, "[limits]\n"+tc.text, tc.want) })
	}
}

func TestBadPrincipals(t *testing.T) {
	a := "[[principal]]\nname = \"a\"\n"
	b := "[[principal]]\nname = \"b\"\n"
	for _, tc := range []struct{ name, text, want string }{
		{"no array", "[principal]\nname = \"a\"", "F:1: principal: want an array of tables, [[principal]], got a table"},
		{"no tables", "principal = [1]", "F:1: principal: want tables, got the integer 1"},
		{"unknown key", a + token + "\nrealms = \"x\"", "F:4: unknown key principal.realms, the nearest known one is principal.realm"},
		{"type", a + "uid = \"1000\"", "F:3: principal.uid: want an integer, got the string \"1000\""},
		{"uid range", a + "uid = -1", "F:3: principal.uid: -1 is out of range"},
		{"no name", "[[principal]]\n" + token, "F:1: principal 1: name is missing"},
		{"slash", "[[principal]]\nname = \"a/b\"\nuid = 1", "F:2: principal \"a/b\": name must be free of / * ? and control characters, which owner/protocol globs could not match"},
		{"no credential", a, "F:2: principal \"a\": has no credential: set one of token_sha256, uid, client_cert"},
		{"two credentials", a + "uid = 1\n" + token, "F:3: principal \"a\": has more than one credential: token_sha256 and uid; give each a [[principal]] of its own"},
		{"anonymous with a credential", "[[principal]]\nname = \"anonymous\"\nuid = 1", "F:3: principal \"anonymous\": is who did not authenticate and can have no uid"},
		{"short hash", a + "token_sha256 = \"abc\"", "F:3: principal \"a\": token_sha256: want the 64 hex digits of a SHA-256"},
		{"no hex", a + "token_sha256 = \"" + strings.Repeat("g", 64) + "\"", "F:3: principal \"a\": token_sha256: want the 64 hex digits of a SHA-256"},
		{"empty glob", a + "uid = 1\nregister = [\"\"]", "F:4: principal \"a\": register: an empty glob matches nothing"},
		{"negative quota", a + "uid = 1\nservices = -1", "F:4: principal \"a\": services: -1, must be between 0 and 2147483647"},
		{"name twice", a + "uid = 1\n" + a + "uid = 2", "F:5: principal \"a\": name is there twice"},
		{"token twice", a + token + "\n" + b + strings.ToUpper(token[:12]) + token[12:], "F:6: unknown key principal.TOKEN_SHA256, the nearest known one is principal.token_sha256"},
		{"same token", a + token + "\n" + b + strings.Replace(token, "bb5a", "BB5A", 1), "F:6: principal \"b\": token_sha256 is that of principal \"a\" too"},
		{"same uid", a + "uid = 1\n" + b + "uid = 1", "F:6: principal \"b\": uid 1 is that of principal \"a\" too"},
		{"same certificate", a + "client_cert = \"x\"\n" + b + "client_cert = \"x\"", "F:6: principal \"b\": client_cert \"x\" is that of principal \"a\" too"},
	} {
		t.Run(tc.name, func(t *testing.T) { refused(t, tc.text, tc.want) })
	}
}

func refused(t *testing.T, text, want string) {
	t.Helper()
	l, err := Parse("F", text)
	if err == nil {
		t.Fatalf("accepted: %+v", l.Config)
	}
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

func TestAccepted(t *testing.T) {
	for _, tc := range []struct{ name, text, warning string }{
		{"empty", "", ""},
		{"loopback by name", `listen = ["tcp://localhost:1", "tcp://[::1]:1", "tcp://127.8.9.1:0", "unix:///run/a.sock"]`, ""},
		{"remote, told", "listen = [\"tcp://0.0.0.0:1\"]\nallow_anonymous_remote = true", ""},
		{"remote tokens over tls", "listen = [\"tls://0.0.0.0:1\"]\ntls.cert_file = \"a\"\ntls.key_file = \"b\"\n[[principal]]\nname = \"a\"\n" + token, ""},
		{"remote plaintext, told", "allow_anonymous_remote = true\nlisten = [\"tcp://0.0.0.0:1\"]\n[[principal]]\nname = \"a\"\n" + token, ""},
		{"local tokens", "[[principal]]\nname = \"a\"\n" + token, ""},
		{"anonymous", "[[principal]]\nname = \"anonymous\"\ndiscover = [\"*\"]", ""},
		{"admin socket", "admin = \"unix:///run/admin.sock\"", ""},
		{"admin off", "admin = \"\"", ""},
		{"directory", "default_directory = \"file:///home/me\"", ""},
		{"dotted and inline", "limits.depth_max = 8\nauth = { required = false }\nprincipal = [{ name = \"anonymous\" }]", ""},
		{"uid without a socket", "[[principal]]\nname = \"a\"\nuid = 1", "F:3: principal \"a\": uid: no unix:// listener could tell it"},
		{"overlapping claims", "[[principal]]\nname = \"a\"\n" + token + "\nclient_ids = [\"x\", \"git-*\"]\n[[principal]]\nname = \"anonymous\"\nclient_ids = [\"*-sidecar\"]",
			"F:7: principal \"anonymous\": client_ids: \"*-sidecar\" overlaps with \"git-*\" of principal \"a\": either can take the other's clientId while it is free"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, err := Parse("F", tc.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(l.Warnings, "\n"); got != tc.warning {
				t.Errorf("warnings: got %q, want %q", got, tc.warning)
			}
		})
	}
}

func TestMeet(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"a", "a", true}, {"a", "b", false}, {"*", "", true}, {"*", "anything", true}, {"a*", "*b", true}, {"a*", "b*", false},
		{"?", "a", true}, {"?", "", false}, {"?", "ab", false}, {"a?c", "ab?", true}, {"a?c", "a?d", false}, {"git-*", "git-x", true},
		{"*x*", "*y*", true}, {"a*b", "a*c", false}, {"**", "?", true}, {"?", "é", true}, {"??", "é", false},
	} {
		if meet(tc.a, tc.b) != tc.want || meet(tc.b, tc.a) != tc.want {
			t.Errorf("meet(%q, %q) is not %v", tc.a, tc.b, tc.want)
		}
	}
}

func TestLines(t *testing.T) {
	text := "\ufeff# c\na = 'x # y' # z\nb = [ # [\n 1,\n]\n\"q.r\" = \"\"\"\n]x = 1\n\\\"\"\"\"\"\n[t] # ]\r\nc.d = { e = 1 }\n  [[u]]\nf = '''\n'''\n[[ u ]]\nf = \"\\\"\"\n"
	got := locate(text)
	for name, line := range map[string]int{"a": 2, "b": 3, "q.r": 6, "t": 9, "t.c.d": 10, "u.0": 11, "u.0.f": 12, "u.1": 14, "u.1.f": 15} {
		if got[name] != line {
			t.Errorf("%s: line %d, want %d", name, got[name], line)
		}
	}
	if got.of("t.c.d.e") != 10 || got.of("nowhere") != 0 || len(got) != 9 {
		t.Errorf("%v", got)
	}
}
