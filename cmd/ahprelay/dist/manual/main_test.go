package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrite: a page for each command, completions for each shell, the same bytes each time.
func TestWrite(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if err := write(dir, "1.2.3"); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"man1/ahprelay.1", "man1/ahprelay-serve.1", "man1/ahprelay-config-show.1", "man1/ahprelay-top.1", "man1/ahprelay-tap.1", "man1/ahprelay-health.1",
		"completions/ahprelay.bash", "completions/_ahprelay", "completions/ahprelay.fish"} {
		a, err := os.ReadFile(filepath.Join(first, name))
		if err != nil {
			t.Error(err)
			continue
		}
		b, err := os.ReadFile(filepath.Join(second, name))
		if err != nil || string(a) != string(b) {
			t.Errorf("%s differs from itself: %v", name, err)
		}
		if strings.HasPrefix(name, "man1/") && (!strings.Contains(string(a), "ahprelay 1.2.3") || !strings.Contains(string(a), ".SH SYNOPSIS")) {
			t.Errorf("%s:\n%s", name, a)
		}
	}
}
