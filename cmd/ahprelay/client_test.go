package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// unused is an address where nobody listens: ports below 1024 are not handed out.
const unused = "tcp://127.0.0.1:9"

func TestUnreachableRelay(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"services", "services --watch", "call x m", "notify x m", "register --metadata {} --echo"} {
		r := run(t, "", []string{"AHPRELAY_RELAY=" + unused}, strings.Fields(args)...)
		if r.code != 1 || r.out != "" || !strings.HasPrefix(r.err, "ahprelay: no relay answers at "+unused+": ") || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

func TestTokenFile(t *testing.T) {
	t.Parallel()
	empty := file(t, " \n")
	run(t, "", nil, "services", "--relay", unused, "--token-file", empty).is(t, result{code: 1, err: "ahprelay: reading the token: " + empty + " is empty\n"})
	run(t, "", nil, "services", "--relay", unused, "--token-file", "/nonexistent/t").is(t, result{code: 1, err: "ahprelay: reading the token: open /nonexistent/t: no such file or directory\n"})
}

// service starts a service and returns it with its id.
func service(t *testing.T, url, metadata string, args ...string) (*process, string) {
	t.Helper()
	p := start(t, append([]string{"register", "--relay", url, "--client-id", "owner-" + strings.Trim(regexp.MustCompile(`[^a-z0-9]`).ReplaceAllString(metadata, ""), " "), "--metadata", metadata}, args...)...)
	return p, p.out.next(t)
}

func TestEcho(t *testing.T) {
	t.Parallel()
	_, url := relay(t)
	env := []string{"AHPRELAY_RELAY=" + url}
	p, id := service(t, url, `{"protocol":"echo","n":1}`, "--echo")
	params := `{"b":1.0,"a":"\u0041","b":[9007199254740993]}`
	run(t, "", env, "call", id, "m", params).is(t, result{out: params + "\n"})
	run(t, "", env, "call", "protocol=echo", "m").is(t, result{out: "null\n"})
	run(t, " \n"+params+"\n", env, "call", "n=1", "m", "-").is(t, result{out: params + "\n"})
	run(t, "x", env, "call", "n=1", "m", "-").is(t, result{code: 1, err: "ahprelay: PARAMS on standard input: no JSON value\n"})
	run(t, "", env, "call", "nobody", "m").is(t, result{code: 1, err: "ahprelay: error -32008: no such service\ndata: {\"delivered\":\"never\"}\n"})
	run(t, "", env, "call", "protocol=x", "m").is(t, result{code: 1, err: "ahprelay: no service matches protocol=x\n"})
	run(t, "", env, "notify", "nobody", "m").is(t, result{code: 1, err: "ahprelay: no service matches nobody\n"})

	_, second := service(t, url, `{"protocol":"echo","n":2}`, "--echo")
	run(t, "", env, "call", "protocol=echo", "m").is(t, result{code: 1, err: "ahprelay: 2 services match protocol=echo, use an id: " + id + " " + second + "\n"})
	run(t, "", env, "services", "--json").is(t, result{out: `[{"serviceId":"` + id + `","clientId":"owner-protocolechon1","metadata":{"protocol":"echo","n":1}},` +
		`{"serviceId":"` + second + `","clientId":"owner-protocolechon2","metadata":{"protocol":"echo","n":2}}]` + "\n"})
	run(t, "", env, "services").is(t, result{out: fmt.Sprintf("%-*s  %-20s  METADATA\n%s  %s  {\"protocol\":\"echo\",\"n\":1}\n%s  %s  {\"protocol\":\"echo\",\"n\":2}\n",
		len(id), "SERVICE", "CLIENT", id, "owner-protocolechon1", second, "owner-protocolechon2")})
	p.signal(syscall.SIGINT)
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
	run(t, "", env, "call", "protocol=echo", "m", "3").is(t, result{out: "3\n"})
}

func TestExec(t *testing.T) {
	t.Parallel()
	_, url := relay(t)
	env := []string{"AHPRELAY_RELAY=" + url}
	script := `read -r p
case $AHP_METHOD in
ok) printf '{ "params": %s,\n"sender": "%s" }\n' "$p" "$AHP_SENDER";;
text) echo text;;
nothing) ;;
two) echo '1 2';;
large) head -c 2000000 /dev/zero;;
fail) echo first >&2; echo ' last words ' >&2; echo >&2; exit 3;;
silent) exit 4;;
esac`
	service(t, url, `{}`, "--exec", script)
	list := run(t, "", env, "services", "--json")
	var all []struct{ ServiceID string }
	if err := json.Unmarshal([]byte(list.out), &all); err != nil || len(all) != 1 {
		t.Fatalf("%v: %+v", err, list)
	}
	id := all[0].ServiceID
	run(t, "", env, "call", "--client-id", "me", id, "ok", `[1,2]`).is(t, result{out: `{ "params": [1,2], "sender": "me" }` + "\n"})
	for _, tc := range []struct{ method, want string }{
		{"text", "ahprelay: error -32603: what the command printed is no JSON value\n"},
		{"nothing", "ahprelay: error -32603: what the command printed is no JSON value\n"},
		{"two", "ahprelay: error -32603: what the command printed is no JSON value\n"},
		{"large", "ahprelay: error -32603: the command printed more than 1048576 bytes\n"},
		{"fail", "ahprelay: error -32000: last words\ndata: {\"exitCode\":3}\n"},
		{"silent", "ahprelay: error -32000: the command failed: exit status 4\ndata: {\"exitCode\":4}\n"},
	} {
		run(t, "", env, "call", id, tc.method).is(t, result{code: 1, err: tc.want})
	}
}

// alive reports whether the process whose id a script wrote to path still runs.
func alive(t *testing.T, path string) bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil && !strings.Contains(err.Error(), "no such")
	}
	return !strings.Contains(string(stat), ") Z ")
}

// dies waits until the process whose id is in path is gone.
func dies(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(deadline); alive(t, path); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the process of %s lives on", filepath.Base(path))
		}
	}
}

// TestExecIsKilled: whatever ends a request ends the whole process group of its command.
func TestExecIsKilled(t *testing.T) {
	t.Parallel()
	_, url := relay(t)
	dir := t.TempDir()
	// The child in the background is in the group, too.
	script := `sleep 60 & echo $! > ` + dir + `/$AHP_METHOD; echo started >&2; wait`
	p, id := service(t, url, `{}`, "--exec", script, "--jobs", "2")

	r := run(t, "", nil, "call", "--relay", url, id, "timeout", "--timeout", "300ms")
	r.is(t, result{code: 1, err: "ahprelay: error -32051: request timed out\ndata: {\"delivered\":\"maybe\"}\n"})
	dies(t, dir+"/timeout")

	p.err.until(t, "started")
	caller := start(t, "call", "--relay", url, id, "cancel")
	p.err.until(t, "started")
	caller.signal(syscall.SIGINT)
	if line := caller.err.next(t); line != "ahprelay: interrupted; the service was told to stop" {
		t.Error(line)
	}
	if code := caller.wait(); code != 1 {
		t.Errorf("exit %d", code)
	}
	dies(t, dir+"/cancel")

	caller = start(t, "call", "--relay", url, id, "end")
	p.err.until(t, "started")
	p.signal(syscall.SIGTERM) // waits for the command
	p.signal(syscall.SIGTERM) // does not
	for end := time.Now().Add(deadline); alive(t, dir+"/end"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the command lives on")
		}
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // two at once may have counted as one
	}
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if code := caller.wait(); code != 1 {
		t.Errorf("caller: exit %d", code)
	}
}

// TestRegisterAgain: a service outlives its relay, under a new id.
func TestRegisterAgain(t *testing.T) {
	t.Parallel()
	first, url := relay(t)
	p, old := service(t, url, `{"protocol":"echo"}`, "--echo")
	first.signal(syscall.SIGKILL)
	first.wait()
	p.err.until(t, "disconnected, connecting again")
	start(t, "serve", "--listen", url, "--admin=").err.until(t, `"listening"`)
	id := p.out.next(t)
	p.err.until(t, "connected again")
	if id == old {
		t.Error("the id is the old one")
	}
	run(t, "", nil, "call", "--relay", url, id, "m", "1").is(t, result{out: "1\n"})
}

// TestJobs: with --jobs 1 no command starts before the one before it has ended.
func TestJobs(t *testing.T) {
	t.Parallel()
	_, url := relay(t)
	lock := t.TempDir() + "/lock"
	_, id := service(t, url, `{}`, "--jobs", "1", "--exec", "mkdir "+lock+" || exit 1; sleep 0.02; rmdir "+lock+"; echo 1")
	var callers []*process
	for range 5 {
		callers = append(callers, start(t, "call", "--relay", url, id, "m"))
	}
	for _, c := range callers {
		if code := c.wait(); code != 0 {
			t.Errorf("exit %d", code)
		}
	}
}

func TestNotifyAndLog(t *testing.T) {
	t.Parallel()
	_, url := relay(t)
	env := []string{"AHPRELAY_RELAY=" + url, "AHPRELAY_CLIENT_ID=me"}
	p, announced := service(t, url, `{"protocol":"log"}`, "--log")
	var first struct{ Kind, ServiceID string }
	if err := json.Unmarshal([]byte(announced), &first); err != nil || first.Kind != "registered" {
		t.Fatalf("%v: %s", err, announced)
	}
	expect := func(kind, method, params string) {
		t.Helper()
		want := `{"kind":"` + kind + `","serviceId":"` + first.ServiceID + `","sender":"me","method":"` + method + `","params":` + params + `}`
		if line := p.out.next(t); line != want {
			t.Errorf("\ngot  %s\nwant %s", line, want)
		}
	}
	run(t, "", env, "notify", first.ServiceID, "one", `{"a":1}`).is(t, result{})
	expect("notification", "one", `{"a":1}`)
	run(t, "", env, "notify", "protocol=log", "none").is(t, result{})
	expect("notification", "none", "null")
	run(t, "1\n\n \"two\" \r\n[3]", env, "notify", "protocol=log", "lines", "-").is(t, result{})
	expect("notification", "lines", "1")
	expect("notification", "lines", `"two"`)
	expect("notification", "lines", "[3]")
	run(t, "1\n\n{\n2\n", env, "notify", "protocol=log", "lines", "-").is(t, result{code: 1, err: "ahprelay: notifying: line 3 of standard input: no JSON value\n"})
	expect("notification", "lines", "1")
	run(t, "", env, "call", "protocol=log", "asked", "7").is(t, result{out: "null\n"})
	expect("request", "asked", "7")
	long := `"` + strings.Repeat("x", 1<<20) + `"`
	run(t, long+"\n", env, "notify", "protocol=log", "lines", "-").is(t, result{code: 1, err: "ahprelay: notifying: line 1 of standard input is longer than the relay's frameBytes 1048576\n"})
}

func TestWatch(t *testing.T) {
	t.Parallel()
	_, url := relay(t)
	p, id := service(t, url, `{"protocol":"a"}`, "--echo")
	text := start(t, "services", "--relay", url, "--watch")
	line := id + ` owner-protocola {"protocol":"a"}`
	if got := text.out.next(t); got != "+ "+line {
		t.Error(got)
	}
	lines := start(t, "services", "--relay", url, "--watch", "--json")
	object := `{"serviceId":"` + id + `","clientId":"owner-protocola","metadata":{"protocol":"a"}}`
	if got := lines.out.next(t); got != `{"type":"set","service":`+object+`}` {
		t.Error(got)
	}
	p.signal(syscall.SIGTERM)
	if got := text.out.next(t); got != "- "+line {
		t.Error(got)
	}
	if got := lines.out.next(t); got != `{"type":"removed","service":`+object+`}` {
		t.Error(got)
	}
	text.signal(syscall.SIGINT)
	lines.signal(syscall.SIGTERM)
	if a, b := text.wait(), lines.wait(); a != 0 || b != 0 {
		t.Errorf("exit %d and %d", a, b)
	}
}
