package loop

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	filesEnv = "AHPRELAY_TEST_FILES" // set in the child process
	filesMax = 64
)

// TestRelayWithFewFiles is the server side of the test below: the limit of open files counts for a whole
// process.
func TestRelayWithFewFiles(t *testing.T) {
	if os.Getenv(filesEnv) == "" {
		t.Skip("runs in a child process of TestMoreConnectionsThanFiles")
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: filesMax / 2, Max: filesMax}); err != nil {
		t.Fatal(err)
	}
	var log journal
	s := run(t, func(c *Config) { c.Logger = journalLogger(&log) })
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur != filesMax {
		t.Errorf("the limit was not raised: %d, %v", limit.Cur, err)
	}
	fmt.Println("addr", s.addr, s.config.Relay.Limits.ConnectionsMax)
	var hoard []*os.File
	for in := bufio.NewScanner(os.Stdin); in.Scan(); { // until the parent has what it wants
		if in.Text() == "calm" && strings.Contains(log.String(), "too many open files") {
			t.Errorf("the relay ran out of files:\n%s", log.String())
		}
		hoard = exhaust(in.Text() == "exhaust", hoard)
		fmt.Println("done", len(hoard) > 0)
	}
	s.empty()
	s.stop()
}

// exhaust opens files until there are no more to be had, or closes them.
func exhaust(yes bool, hoard []*os.File) []*os.File {
	for yes {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return hoard
		}
		hoard = append(hoard, f)
	}
	for _, f := range hoard {
		_ = f.Close()
	}
	return nil
}

// relayWithFewFiles starts the child and returns its address, how many connections it admits, and a
// function that tells it something.
func relayWithFewFiles(t *testing.T) (addr string, most int, tell func(word, answer string)) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestRelayWithFewFiles$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), filesEnv+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	t.Cleanup(func() {
		_ = in.Close()
		rest, _ := io.ReadAll(lines)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the child failed: %v\n%s", err, rest)
		}
	})
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(line, "addr %s %d\n", &addr, &most); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return addr, most, func(word, answer string) {
		t.Helper()
		if _, err := fmt.Fprintln(in, word); err != nil {
			t.Fatal(err)
		}
		if line, err := lines.ReadString('\n'); err != nil || line != answer+"\n" {
			t.Fatalf("the child answers %q, %v", line, err)
		}
	}
}

const (
	tooMany      = "too many connections"
	refusedFirst = `{"jsonrpc":"2.0","id":0,"error":{"code":-32052,"message":"too many connections","data":{"limit":"connections"}}}`
)

// 200 connections meet a relay that may have 64 files open: as many as fit are served, the others are
// refused or closed, none hangs, and there is room again when somebody leaves.
func TestMoreConnectionsThanFiles(t *testing.T) {
	addr, most, tell := relayWithFewFiles(t)
	if most < 8 || most >= filesMax {
		t.Fatalf("with %d files %d connections are admitted", filesMax, most)
	}
	first := hello(t, addr, "first")
	id := first.register(`{}`)

	var mu sync.Mutex
	var open []*peer
	refused, closed := 0, 0
	var all sync.WaitGroup
	for n := range 200 {
		p := dial(t, addr)
		all.Go(func() {
			err := p.trySend(initialize(fmt.Sprint("client", n)))
			line := ""
			if err == nil {
				line, err = p.tryLine()
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				closed++
			case strings.HasPrefix(line, initialized):
				open = append(open, p)
			case line == refusedFirst:
				line, _ := p.tryLine()
				if _, err := p.tryLine(); line != closing("connectionLimit", tooMany) || err != io.EOF {
					t.Errorf("client %d was refused with %s and %v", n, line, err)
				}
				_ = p.Close()
				refused++
			default:
				t.Errorf("client %d got %s", n, line)
			}
		})
	}
	all.Wait()
	t.Logf("%d admitted at most: %d served, %d refused, %d closed", most, len(open)+1, refused, closed)
	if len(open)+1 != most || refused == 0 {
		t.Errorf("%d of %d are served, %d were refused", len(open)+1, most, refused)
	}
	for i, p := range open {
		p.send(notify(id, `"method":"m"`))
		first.line()
		p.quiet()
		if i > 0 {
			_ = p.Close()
		}
	}
	first.quiet()
	// Those that left make room, though not before the relay has noticed.
	for n := 0; ; n++ {
		p := dial(t, addr)
		if p.trySend(initialize(fmt.Sprint("late", n))) != nil {
			continue
		}
		if line, err := p.tryLine(); err == nil && strings.HasPrefix(line, initialized) {
			p.quiet()
			_ = p.Close()
			break
		}
		_ = p.Close()
	}
	open[0].quiet()
	tell("calm", "done false")
}

// A relay that has no file left goes on with the connections that it has, turns new ones away, and takes
// new ones again as soon as it can.
func TestNoFilesLeft(t *testing.T) {
	addr, _, tell := relayWithFewFiles(t)
	p := hello(t, addr, "first")
	id := p.register(`{}`)
	tell("exhaust", "done true")
	for n := range 3 {
		q := dial(t, addr)
		_ = q.trySend(initialize("turned away"))
		if line, err := q.tryLine(); err == nil {
			t.Errorf("with no file left a client gets %s", line)
		}
		p.send(notify(id, fmt.Sprintf(`"method":"m","params":{"n":%d}`, n)))
		p.expect(notified(id, "first", fmt.Sprintf(`"method":"m","params":{"n":%d}`, n)))
	}
	tell("free", "done false")
	hello(t, addr, "second").quiet()
	p.quiet()
}
