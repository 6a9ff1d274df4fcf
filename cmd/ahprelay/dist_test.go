package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPackagedConfiguration: what is packaged is valid, and starts in the directory that systemd makes.
func TestPackagedConfiguration(t *testing.T) {
	t.Parallel()
	run(t, "", nil, "config", "check", "dist/ahprelay.toml").is(t, result{out: "dist/ahprelay.toml: ok\n"})
	text, err := os.ReadFile("dist/ahprelay.toml")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "ahp") // short: socket addresses are
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	here := strings.NewReplacer("/run/ahprelay", dir, ":7420", ":0", ":7421", ":0").Replace(string(text))
	p := startWith(t, []string{"RUNTIME_DIRECTORY=" + dir}, "serve", "--config", file(t, here))
	if e := parseEntry(t, p.err.until(t, "admin listening")); filepath.Dir(e.TokenFile) != dir {
		t.Errorf("the token is in %s", e.TokenFile)
	}
	if info, err := os.Stat(dir + "/relay.sock"); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("%v %v", info, err)
	}
	run(t, "", nil, "services", "--relay", "unix://"+dir+"/relay.sock", "--json").is(t, result{out: "[]\n"})
}

// directives are the values of each key of a unit file.
func directives(t *testing.T, path string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			all[key] = append(all[key], value)
		}
	}
	return all
}

// TestUnit: systemd takes the unit as it is, and finds little to complain of.
func TestUnit(t *testing.T) {
	t.Parallel()
	unit := directives(t, "dist/ahprelay.service")
	if !slices.Equal(unit["Type"], []string{"notify"}) || !slices.Equal(unit["RuntimeDirectory"], []string{"ahprelay"}) || !slices.Equal(unit["User"], []string{"ahprelay"}) {
		t.Errorf("%v", unit)
	}
	command := strings.Fields(unit["ExecStart"][0])
	if command[0] != "/usr/bin/ahprelay" || run(t, "", nil, append(slices.Clone(command[1:]), "--help")...).code != 0 {
		t.Errorf("%q", command)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze to judge the unit")
	}
	out, err := exec.Command(analyze, "verify", "--man=no", "dist/ahprelay.service").CombinedOutput()
	if text := strings.TrimSpace(string(out)); text != "" && !strings.HasSuffix(text, "Command /usr/bin/ahprelay is not executable: No such file or directory") {
		t.Errorf("%v %s", err, out)
	}
	out, err = exec.Command(analyze, "security", "--offline=yes", "--threshold=20", "dist/ahprelay.service").CombinedOutput()
	if err != nil {
		t.Errorf("more exposed than 2.0: %v\n%s", err, out)
	}
}

// TestContainerfile: the commands in it are commands of this program.
func TestContainerfile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("dist/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	arguments := func(pattern string) []string {
		t.Helper()
		match := regexp.MustCompile(pattern).FindStringSubmatch(string(text))
		if match == nil {
			t.Fatalf("nothing matches %s", pattern)
		}
		return strings.Split(strings.ReplaceAll(match[1], `"`, ""), ", ")
	}
	command := append(arguments(`\nENTRYPOINT \[(.*)\]`), arguments(`\nCMD \[(.*)\]`)...)
	if run(t, "", nil, append(slices.Clone(command[1:]), "--help")...).code != 0 {
		t.Errorf("%q", command)
	}
	run(t, "", []string{"AHPRELAY_ADMIN=unix:///nonexistent/admin.sock"}, arguments(`\nHEALTHCHECK .* CMD \["/usr/bin/ahprelay", (.*)\]`)...).
		is(t, result{code: 1, err: "ahprelay: no admin server answers at unix:///nonexistent/admin.sock: dial unix /nonexistent/admin.sock: connect: no such file or directory\n"})
	if !strings.Contains(string(text), "\nUSER 65532:65532\n") || !strings.Contains(string(text), "\nFROM scratch\n") {
		t.Error("it is not what it says")
	}
}
