// Command mutate breaks the core in named ways, one at a time, in a scratch copy of the module, and checks
// that the tests notice each: first the simulation and what compares the core with itself (TestAlike), then the
// tests of the packages themselves.
//
//	go run ./fuzz/mutate            all of them, with a table in the end
//	go run ./fuzz/mutate -only cancel   those whose name contains the word
//	go run ./fuzz/mutate -check         only check that every mutation still applies
//	go run ./fuzz/mutate -both          also run the packages' tests on what the simulation has noticed
//
// It exits with 1 when a mutation survives both layers, and with 2 when one does not apply or compile any
// more: then the mutation has to follow the code.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	only := flag.String("only", "", "try only the mutations whose name contains this")
	check := flag.Bool("check", false, "only check that every mutation applies")
	both := flag.Bool("both", false, "run both layers, even when the first has noticed")
	runs := flag.Int("runs", 10000, "how many runs the simulation gets to notice")
	flag.Parse()
	survivors, err := run(*only, *check, *both, *runs)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if survivors > 0 {
		os.Exit(1)
	}
}

// run tries the mutations and returns how many of them survived.
func run(only string, check, both bool, runs int) (survivors int, err error) {
	root, err := moduleRoot()
	if err != nil {
		return 0, err
	}
	var stale []error
	for _, m := range mutations {
		if _, err := m.apply(root); err != nil {
			stale = append(stale, err)
		}
	}
	if check || len(stale) > 0 {
		return 0, errors.Join(stale...)
	}
	scratch, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return 0, fmt.Errorf("making a scratch directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	if err := copyModule(root, scratch); err != nil {
		return 0, err
	}
	b := bench{scratch: scratch, runs: runs, both: both}
	if err := b.sound(); err != nil {
		return 0, err
	}
	tried, simulated := 0, 0
	for _, m := range mutations {
		if !strings.Contains(m.name, only) {
			continue
		}
		v, err := b.try(m)
		if err != nil {
			stale = append(stale, err)
			continue
		}
		tried++
		if v.simulation {
			simulated++
		}
		if !v.simulation && !v.tests {
			survivors++
		}
		fmt.Printf("%-62s %s  %s\n", m.name, v, v.reason)
	}
	fmt.Printf("%d of %d mutations were noticed, %d of them by the simulation\n", tried-survivors, tried, simulated)
	return survivors, errors.Join(stale...)
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("looking for the module: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// copied are the parts of the module that the core and its tests need.
var copied = []string{"go.mod", "go.sum", "codec", "table", "relay", "fuzz"}

func copyModule(root, scratch string) error {
	for _, part := range copied {
		err := filepath.WalkDir(filepath.Join(root, part), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			if d.IsDir() {
				return os.MkdirAll(filepath.Join(scratch, rel), 0o755)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(scratch, rel), text, 0o644)
		})
		if err != nil {
			return fmt.Errorf("copying %s: %w", part, err)
		}
	}
	return nil
}

// verdict says which layer noticed a mutation.
type verdict struct {
	simulation, tests bool
	reason            string // the first complaint
	took              time.Duration
}

func (v verdict) String() string {
	by := "SURVIVES"
	switch {
	case v.simulation && v.tests:
		by = "simulation, tests"
	case v.simulation:
		by = "simulation"
	case v.tests:
		by = "tests"
	}
	return fmt.Sprintf("%-17s %5.1fs", by, v.took.Seconds())
}

// bench is the scratch copy.
type bench struct {
	scratch string
	runs    int
	both    bool
}

// sound checks that nothing complains about the core as it is.
func (b *bench) sound() error {
	var v verdict
	as := mutation{name: "the core as it is"}
	var err error
	if v.simulation, v.reason, err = b.simulate(as); err == nil && !v.simulation {
		v.tests, v.reason, err = b.test(as)
	}
	if err == nil && (v.simulation || v.tests) {
		err = fmt.Errorf("the tests fail without a mutation: %s", v.reason)
	}
	return err
}

func (b *bench) simulate(m mutation) (bool, string, error) {
	return b.notices(m, "./fuzz", "-run", "^(TestSim|TestAlike.*)$", "-runs", fmt.Sprint(b.runs))
}

func (b *bench) test(m mutation) (bool, string, error) {
	return b.notices(m, "./codec", "./table", "./relay", "-run", "^Test")
}

// try applies a mutation, runs the layers and takes it back.
func (b *bench) try(m mutation) (v verdict, err error) {
	start := time.Now()
	path := filepath.Join(b.scratch, m.file)
	before, err := os.ReadFile(path)
	if err != nil {
		return v, fmt.Errorf("%s: %w", m.name, err)
	}
	after, err := m.apply(b.scratch)
	if err != nil {
		return v, err
	}
	if err := os.WriteFile(path, after, 0o644); err != nil {
		return v, fmt.Errorf("%s: %w", m.name, err)
	}
	defer func() { err = errors.Join(err, os.WriteFile(path, before, 0o644)) }()
	if v.simulation, v.reason, err = b.simulate(m); err != nil {
		return v, err
	}
	if v.simulation && !b.both {
		v.took = time.Since(start)
		return v, nil
	}
	reason := v.reason
	if v.tests, v.reason, err = b.test(m); reason != "" {
		v.reason = reason
	}
	v.took = time.Since(start)
	return v, err
}

// notices runs tests and reports whether they fail, and the first complaint. A mutation that does not compile
// is none.
func (b *bench) notices(m mutation, args ...string) (bool, string, error) {
	cmd := exec.Command("go", append([]string{"test", "-p", "1", "-count", "1", "-failfast", "-timeout", "120s"}, args...)...)
	cmd.Dir = b.scratch
	out, err := cmd.CombinedOutput()
	if bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")) {
		return false, "", fmt.Errorf("%s does not compile:\n%s", m.name, out)
	}
	if err == nil {
		return false, "", nil
	}
	for _, line := range strings.Split(string(out), "\n") {
		if strings.Contains(line, "_test.go:") || strings.HasPrefix(line, "panic") {
			return true, line[:min(len(line), 160)], nil
		}
	}
	return true, string(out[:min(len(out), 160)]), nil
}
