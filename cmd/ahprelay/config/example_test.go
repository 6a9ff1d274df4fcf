package config

import (
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ahprelay/ahprelay/relay"
)

var rewrite = flag.Bool("rewrite", false, "rewrite ahprelay.toml")

const shipped = "../../../ahprelay.toml"

func TestShippedFileIsTheExample(t *testing.T) {
	if *rewrite {
		if err := os.WriteFile(shipped, []byte(Example()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != Example() {
		t.Error("ahprelay.toml is out of date; run this test with -rewrite")
	}
	l, err := Parse("ahprelay.toml", string(text))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(l.Config, Default()) {
		t.Errorf("the example sets\n%+v\nthe defaults are\n%+v", l.Config, Default())
	}
	for _, k := range Keys() {
		if l.Origin(k.Name).Kind != FromFile {
			t.Errorf("the example does not set %s", k.Name)
		}
	}
}

func TestExamplePrincipal(t *testing.T) {
	_, commented, found := strings.Cut(Example(), "# [[principal]]\n")
	if !found {
		t.Fatal("no [[principal]] in the example")
	}
	l, err := Parse("x.toml", "[[principal]]\n"+strings.ReplaceAll("\n"+commented, "\n# ", "\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []relay.Principal{{
		Name: "git", TokenSHA256: "bb5a52f42f9c9261ed4361f59422a1e30036e7c32b270c8807a419feca605023",
		ClientIDs: []string{"git-*"}, Realm: "default", Register: []string{"git-*"},
		Discover: []string{"*"}, Notify: []string{"*"}, Request: []string{"*"},
	}}
	if !reflect.DeepEqual(l.Principals, want) {
		t.Errorf("got %+v, want %+v", l.Principals, want)
	}
}

// TestKeysCoverTheCore fails when relay gets a setting that the program cannot set.
func TestKeysCoverTheCore(t *testing.T) {
	known := names(func(k Key) string { return k.Name })
	for table, of := range map[string]reflect.Type{"limits.": reflect.TypeFor[relay.Limits](), "auth.": reflect.TypeFor[relay.Auth]()} {
		for i := range of.NumField() {
			if name := table + of.Field(i).Tag.Get("toml"); !slices.Contains(known, name) {
				t.Errorf("no key %s", name)
			}
		}
	}
	for i := range reflect.TypeFor[relay.Principal]().NumField() {
		name := reflect.TypeFor[relay.Principal]().Field(i).Tag.Get("toml")
		if !slices.Contains(principalKeys(), name) {
			t.Errorf("no key principal.%s", name)
		}
	}
	for _, name := range fixed {
		if !slices.Contains(known, name) {
			t.Errorf("fixed names no key: %s", name)
		}
	}
	seen := map[any]string{}
	c := Default()
	for _, k := range Keys() {
		if k.Doc == "" {
			t.Errorf("%s has no doc", k.Name)
		}
		if other, twice := seen[k.field(&c)]; twice {
			t.Errorf("%s and %s are the same value", k.Name, other)
		}
		seen[k.field(&c)] = k.Name
	}
}

func TestNames(t *testing.T) {
	for _, tc := range []struct{ key, env, flag string }{
		{"listen", "AHPRELAY_LISTEN", "listen"},
		{"limits.frame_bytes_max", "AHPRELAY_LIMITS_FRAME_BYTES_MAX", "frame-bytes-max"},
		{"auth.required", "AHPRELAY_AUTH_REQUIRED", "auth-required"},
		{"tls.cert_file", "AHPRELAY_TLS_CERT_FILE", "tls-cert-file"},
	} {
		k, ok := byName(tc.key)
		if !ok || k.Env() != tc.env || k.Flag() != tc.flag {
			t.Errorf("%s: %v, %s, %s", tc.key, ok, k.Env(), k.Flag())
		}
	}
	for _, of := range []func(Key) string{Key.Env, Key.Flag} {
		all := names(of)
		slices.Sort(all)
		if len(slices.Compact(all)) != len(keys) {
			t.Error("two keys have one name")
		}
	}
}
