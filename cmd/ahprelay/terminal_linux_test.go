package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal returns the two ends of a pseudo terminal.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("this system has no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	return master, slave
}

// onTerminal runs the program with stdout and stderr on a terminal and returns what it printed there.
func onTerminal(t *testing.T, stdin string, args ...string) (string, int) {
	t.Helper()
	master, slave := openTerminal(t)
	cmd := command(t, nil, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), slave, slave
	code := exitCode(t, cmd.Run())
	_ = slave.Close()
	var printed bytes.Buffer
	_, _ = io.Copy(&printed, master) // ends with EIO: no slave is open
	return strings.ReplaceAll(printed.String(), "\r\n", "\n"), code
}

func TestProgressOnTerminal(t *testing.T) {
	t.Parallel()
	_, url := relay(t)
	_, _ = service(t, url, `{"protocol":"log"}`, "--log")
	printed, code := onTerminal(t, "1\n2\n3\n", "notify", "--relay", url, "protocol=log", "m", "-")
	if code != 0 || !strings.HasPrefix(printed, "\r1 sent\r") || !strings.HasSuffix(printed, "\r3 sent\n") {
		t.Errorf("exit %d, %q", code, printed)
	}
}

// TestTerminalIsSafe: what a service answers cannot drive the caller's terminal.
func TestTerminalIsSafe(t *testing.T) {
	t.Parallel()
	_, url := relay(t)
	_, id := service(t, url, `{}`, "--echo")
	printed, code := onTerminal(t, "", "call", "--relay", url, id, "m", "\"\u009b31m\u202e\"")
	if code != 0 || printed != `"\u009b31m\u202e"`+"\n" {
		t.Errorf("exit %d, %q", code, printed)
	}
}

func TestLogOnTerminal(t *testing.T) {
	t.Parallel()
	_, url := relay(t)
	printed, code := onTerminal(t, "", "serve", "--listen", url)
	if code != 1 || !strings.Contains(printed, " level=INFO msg=starting ") {
		t.Errorf("exit %d, %q", code, printed)
	}
	printed, code = onTerminal(t, "", "serve", "--listen", url, "--log-format", "json")
	if code != 1 || !strings.Contains(printed, `"level":"INFO","msg":"starting"`) {
		t.Errorf("exit %d, %q", code, printed)
	}
}

// TestTop drives "top" by keys on a terminal.
func TestTop(t *testing.T) {
	t.Parallel()
	_, url, _, env := administered(t)
	_, id := service(t, url, `{"protocol":"echo"}`, "--echo")
	master, slave := openTerminal(t)
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 120}); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, append(env, "TERM=xterm-256color"), "top", "--interval", "250ms")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	shown := make(chan string)
	go func() {
		defer close(shown)
		for buffer := make([]byte, 64<<10); ; {
			n, err := master.Read(buffer)
			if err != nil {
				return
			}
			shown <- string(buffer[:n])
		}
	}()
	var all strings.Builder
	until := func(text string) {
		t.Helper()
		for !strings.Contains(all.String(), text) {
			part, ok := <-shown
			if !ok {
				t.Fatalf("%q never came:\n%q", text, all.String())
			}
			all.WriteString(part)
		}
	}
	until("owner-protocolecho")
	for _, step := range []struct{ keys, want string }{{"2", id}, {"4", "DETAIL"}, {"/", "enter keep"}} {
		if _, err := master.WriteString(step.keys); err != nil {
			t.Fatal(err)
		}
		until(step.want)
	}
	if _, err := master.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	for range shown { // until the terminal is closed
	}
	if code := exitCode(t, cmd.Wait()); code != 0 {
		t.Errorf("exit %d", code)
	}
}
