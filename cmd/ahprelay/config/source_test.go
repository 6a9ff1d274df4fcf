package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/ahprelay/ahprelay/relay"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ahprelay.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func commandLine(t *testing.T, args ...string) *Flags {
	t.Helper()
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f := AddFlags(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestPrecedence(t *testing.T) {
	path := write(t, "log_level = \"error\"\n[limits]\ndepth_max = 10\nid_bytes_max = 20\nclient_id_bytes_max = 30\n")
	l, err := Load(Source{
		File:  path,
		Env:   []string{"AHPRELAY_LIMITS_ID_BYTES_MAX=21", "AHPRELAY_LIMITS_CLIENT_ID_BYTES_MAX=31", "PATH=/bin"},
		Flags: commandLine(t, "--client-id-bytes-max", "32"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		key       string
		got, want int
		origin    string
	}{
		{"limits.frame_bytes_max", l.Limits.FrameBytesMax, 1 << 20, "default"},
		{"limits.depth_max", l.Limits.DepthMax, 10, "file " + path + ":3"},
		{"limits.id_bytes_max", l.Limits.IDBytesMax, 21, "env AHPRELAY_LIMITS_ID_BYTES_MAX"},
		{"limits.client_id_bytes_max", l.Limits.ClientIDBytesMax, 32, "flag --client-id-bytes-max"},
	} {
		if tc.got != tc.want || l.Origin(tc.key).String() != tc.origin {
			t.Errorf("%s: %d from %s, want %d from %s", tc.key, tc.got, l.Origin(tc.key), tc.want, tc.origin)
		}
	}
}

// TestEverySourceSetsEveryKey sets each key to something legal that is not its default.
func TestEverySourceSetsEveryKey(t *testing.T) {
	special := map[string]string{
		"listen": "unix:///a,tcp://127.0.0.1:1", "unix_mode": "0660", "origins": "https://a.example,http://localhost:3000", "admin": "127.0.0.1:9", "admin_token_sha256": strings.Repeat("a", 64),
		"default_directory": "file:///x", "overload": "disconnect", "coalesce": "50us", "log_level": "debug", "log_format": "json",
		"allow_anonymous_remote": "true", "auth.resource": "https://x.example", "auth.resource_name": "x",
		"tls.cert_file": "c", "tls.key_file": "k", "tls.client_ca_file": "a",
		"limits.memory_bytes_max": "1000000000", "limits.queue_bytes_hard": "134217728",
	}
	initial := Default()
	for _, k := range Keys() {
		text, ok := special[k.Name]
		if !ok {
			switch p := k.field(&initial).(type) {
			case *int:
				text = literal(new(*p - *p/10))
				if *p == 0 {
					text = "12345"
				}
			case *time.Duration:
				text = (*p + time.Second).String()
			case *bool:
				continue // auth.required needs a principal
			default:
				t.Fatalf("no value for %s", k.Name)
			}
		}
		if k.Name == "limits.services_max" || k.Name == "limits.slots_max" {
			text = "70000"
		}
		var env, flag, file Config
		env, flag, file = Default(), Default(), Default()
		le, lf := &Loaded{Config: env, origins: map[string]Origin{}}, &Loaded{Config: flag, origins: map[string]Origin{}}
		if errs := le.readEnv([]string{k.Env() + "=" + text}); errs != nil {
			t.Error(errs)
		}
		if errs := lf.readFlags(commandLine(t, "--"+k.Flag()+"="+text)); errs != nil {
			t.Error(errs)
		}
		if reflect.DeepEqual(le.Config, initial) {
			t.Errorf("%s=%s changes nothing", k.Env(), text)
		}
		if !reflect.DeepEqual(le.Config, lf.Config) {
			t.Errorf("%s: the environment makes %s, the flag %s", k.Name, k.literal(&le.Config), k.literal(&lf.Config))
		}
		ll := &Loaded{Config: file, origins: map[string]Origin{}}
		if errs := ll.readFile("F", k.Name+" = "+k.literal(&le.Config)); errs != nil {
			t.Error(errs)
		}
		if !reflect.DeepEqual(le.Config, ll.Config) {
			t.Errorf("%s: the environment makes %s, the file %s", k.Name, k.literal(&le.Config), k.literal(&ll.Config))
		}
	}
}

func TestBadEnvironment(t *testing.T) {
	for _, tc := range []struct{ env, want string }{
		{"AHPRELAY_LISTN=x", "unknown environment variable AHPRELAY_LISTN, the nearest known one is AHPRELAY_LISTEN"},
		{"AHPRELAY_FRAME_BYTES_MAX=1", "unknown environment variable AHPRELAY_FRAME_BYTES_MAX, the nearest known one is AHPRELAY_LIMITS_FRAME_BYTES_MAX"},
		{"AHPRELAY_ALLOW_ANONYMOUS=x", "unknown environment variable AHPRELAY_ALLOW_ANONYMOUS, the nearest known one is AHPRELAY_ALLOW_ANONYMOUS_REMOTE"},
		{"AHPRELAY_LIMITS_DEPTH_MAX=many", "AHPRELAY_LIMITS_DEPTH_MAX: want an integer, got \"many\""},
		{"AHPRELAY_LIMITS_DEPTH_MAX=99999999999999999999", "AHPRELAY_LIMITS_DEPTH_MAX: 99999999999999999999 is out of range"},
		{"AHPRELAY_AUTH_REQUIRED=yes", "AHPRELAY_AUTH_REQUIRED: want true or false, got \"yes\""},
		{"AHPRELAY_OVERLOAD=", "AHPRELAY_OVERLOAD: want \"drop\" or \"disconnect\", got \"\""},
		{"AHPRELAY_LISTEN=", "AHPRELAY_LISTEN: listen: needs at least one address"},
		{"AHPRELAY_LIMITS_SLOTS_MAX=5", "AHPRELAY_LIMITS_SLOTS_MAX: limits: inflight_per_connection_max 1024 exceeds slots_max 5"},
	} {
		_, err := Load(Source{Env: []string{tc.env}})
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s:\ngot  %v\nwant %s", tc.env, err, tc.want)
		}
	}
}

func TestForeignEnvironment(t *testing.T) {
	l, err := Load(Source{Env: []string{
		"AHPRELAY_RELAY=tcp://x:1", "AHPRELAY_TOKEN_FILE=t", "AHPRELAY_CLIENT_ID=c", "AHPRELAY_CONFIG=f", "AHPRELAYX=1", "ahprelay_listen=1", "=x", "",
		"AHPRELAY_PORT=tcp://10.0.0.1:7420", "AHPRELAY_PORT_7420_TCP=x", "AHPRELAY_PORT_7420_TCP_ADDR=x", "AHPRELAY_SERVICE_HOST=x", "AHPRELAY_SERVICE_PORT_RELAY=x",
	}})
	if err != nil || !reflect.DeepEqual(l.Config, Default()) {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestFlags(t *testing.T) {
	l, err := Load(Source{Flags: commandLine(t, "--listen", "tcp://127.0.0.1:1", "--listen=unix:///a", "--allow-anonymous-remote", "--limits.depth_max=9", "--id_bytes_max=17")})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(l.Listen, []string{"tcp://127.0.0.1:1", "unix:///a"}) || !l.AllowAnonymousRemote || l.Limits.DepthMax != 9 || l.Limits.IDBytesMax != 17 {
		t.Errorf("%+v", l.Config)
	}
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(set)
	err = set.Parse([]string{"--depth-max", "x"})
	if want := `invalid argument "x" for "--depth-max" flag: want an integer, got "x"`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestShowReadsBack(t *testing.T) {
	path := write(t, "default_directory = \"file:///a%20b\"\n[limits]\nidle_timeout = \"90s\"\n[[principal]]\nname = \"q\\\"\\u0001\\\\é\"\nuid = 0\nclient_ids = [\"a\", \"b*\"]\ninflight = 3\n")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	good := strings.Replace(string(text), `\u0001`, "", 1)
	l, err := Parse("a.toml", good)
	if err != nil {
		t.Fatal(err)
	}
	shown := l.Show()
	for _, want := range []string{
		"default_directory = \"file:///a%20b\" # from file a.toml:1\n", "idle_timeout = \"1m30s\" # from file a.toml:3\n", "depth_max = 128 # from default\n",
		"[[principal]] # from file a.toml:4\nname = \"q\\\"\\\\é\" # from file a.toml:5\nuid = 0 # from file a.toml:6\nclient_ids = [\"a\", \"b*\"] # from file a.toml:7\ninflight = 3 # from file a.toml:8\n",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	again, err := Parse("b.toml", shown)
	if err != nil || !reflect.DeepEqual(again.Config, l.Config) {
		t.Errorf("%v\n%+v\n%+v", err, again, l)
	}
}

func TestLoadFile(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.toml")
	_, err := Load(Source{File: missing})
	if want := "reading the configuration: open " + missing + ": no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err = Load(Source{File: "/dev/zero"}); err == nil || err.Error() != "reading the configuration: /dev/zero is longer than 4194304 bytes" {
		t.Error(err)
	}
}

func TestReload(t *testing.T) {
	running, err := Parse("a", "[limits]\nservices_max = 100\n")
	if err != nil {
		t.Fatal(err)
	}
	next, err := Parse("a", "listen = [\"tcp://127.0.0.1:9\"]\noverload = \"disconnect\"\nlimits.depth_max = 9\nlimits.services_max = 200\n")
	if err != nil {
		t.Fatal(err)
	}
	merged, kept, err := running.Reload(next)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(kept, []string{"listen", "limits.services_max"}) {
		t.Errorf("kept %v", kept)
	}
	if merged.Limits.ServicesMax != 100 || merged.Limits.DepthMax != 9 || merged.Overload != relay.OverloadDisconnect || merged.Listen[0] != "tcp://127.0.0.1:7420" {
		t.Errorf("%+v", merged.Config)
	}
	if next.Limits.ServicesMax != 200 || next.Listen[0] != "tcp://127.0.0.1:9" {
		t.Error("next was changed")
	}
	if merged.Origin("listen").Kind != FromDefault || merged.Origin("limits.services_max").Line != 2 || merged.Origin("limits.depth_max").Line != 3 {
		t.Error("wrong origins")
	}
}

// TestReloadContradiction: what is legal alone may not be legal with what only a restart changes.
func TestReloadContradiction(t *testing.T) {
	running, err := Parse("a", "allow_anonymous_remote = true\nlisten = [\"tcp://0.0.0.0:1\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	next, err := Parse("a", "limits.services_per_connection_max = 70000\nlimits.services_max = 70000\n")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = running.Reload(next)
	want := "together with what needs a restart (listen, limits.services_max): a:1: limits: services_per_connection_max 70000 exceeds services_max 65536\n" +
		"a:2: listen: \"tcp://0.0.0.0:1\" is reachable beyond loopback and there is no [[principal]]: anybody could do anything; set allow_anonymous_remote = true if that is meant"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}
