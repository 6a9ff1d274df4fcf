package remote_test

import (
	"bufio"
	"os"
	"os/exec"
	"testing"

	"github.com/ahprelay/ahprelay/client/rpc/relaytest"
)

// TestTwoProcesses runs the host and the user of a harness as processes of their own, over a relay that is a
// third.
func TestTwoProcesses(t *testing.T) {
	url, kill, err := relaytest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer kill()
	demo, err := relaytest.Build("client/rpc/harness/demo")
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(demo, "host", url)
	host.Stderr = os.Stderr
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	defer host.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "offered\n" {
		t.Fatal(line, err)
	}
	got, err := exec.CommandContext(relaytest.Context(t), demo, "user", url).CombinedOutput()
	want := `reply: IS ANYBODY THERE?
event: 1 laneCreated 
event: 2 asked is anybody there?
event: 3 answered IS ANYBODY THERE?
messages: 2
snapshot: 1 note
change: 2 second below n1
session: s1 demo
`
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	if err := host.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := host.Wait(); err != nil { // it says so if anything was left
		t.Error(err)
	}
}
