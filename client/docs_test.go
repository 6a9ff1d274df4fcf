package client

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shown are the files that docs/sdk.md shows snippets of. They are compiled, and the examples run, by their
// own packages' tests.
var shown = []string{
	"example_test.go",
	"rpc/harness/remote/example_test.go", "rpc/harness/remote/contract.go", "rpc/harness/remote/adapter.go",
}

// TestDocs keeps docs/sdk.md honest: its whole programs are built and run against a relay, its snippets
// stand in what is compiled and run as well.
func TestDocs(t *testing.T) {
	doc, err := os.ReadFile("../docs/sdk.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := ""
	for _, name := range shown {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		examples += regexp.MustCompile(`(?m)^\t+`).ReplaceAllString(string(source), "")
	}
	var programs []string
	for _, block := range regexp.MustCompile("(?ms)^```go\n(.*?)^```").FindAllStringSubmatch(string(doc), -1) {
		code := block[1]
		if strings.HasPrefix(code, "package main\n") {
			programs = append(programs, code)
			continue
		}
		if !strings.Contains(examples, regexp.MustCompile(`(?m)^\t+`).ReplaceAllString(code, "")) {
			t.Errorf("no example contains this snippet:\n%s", code)
		}
	}
	if len(programs) != 2 {
		t.Fatalf("%d programs", len(programs))
	}
	r := relayed(t)
	greeter := exec.Command(build(t, programs[0]), r.url)
	if err := greeter.Start(); err != nil {
		t.Fatal(err)
	}
	defer greeter.Process.Kill()
	out, err := exec.CommandContext(deadline(t), build(t, programs[1]), r.url).CombinedOutput()
	if err != nil || string(out) != "Hello, world\n" {
		t.Errorf("%v %s", err, out)
	}
	greeter.Process.Signal(os.Interrupt)
	if err := greeter.Wait(); err != nil {
		t.Error(err)
	}
}

// build compiles a program of one file.
func build(t *testing.T, code string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	if out, err := exec.Command("go", "build", "-o", program, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}
