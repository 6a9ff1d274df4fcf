package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/fixture"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/reader"
)

// sample is a repository with a bit of everything.
func sample(t *testing.T, initArgs ...string) (*fixture.Repository, string) {
	t.Helper()
	f := fixture.New(t, initArgs...)
	big := make([]byte, 0, 3<<20)
	for i := 0; len(big) < 3<<20; i++ {
		sum := sha256.Sum256([]byte(fmt.Sprint(i)))
		big = append(big, sum[:]...)
	}
	f.Write("readme", "grüße \"<&>\"\n")
	f.Write("dir/sub/deep", "deep\n")
	f.Write("dir/big", string(big))
	f.Commit("one")
	f.Git("tag", "-a", "-m", "x", "v1")
	f.Write("readme", "second\n")
	f.Commit("two")
	f.Git("branch", "topic", "HEAD^")
	return f, string(big)
}

func TestExploreShowsWhatGitShows(t *testing.T) {
	_, url := startRelay(t, "127.0.0.1:0")
	one, big := sample(t)
	two, _ := sample(t, "--object-format=sha256")
	sidecar, _ := startSidecar(t, url, "--repo", "one="+one.Dir, "--repo", "two="+filepath.Join(two.Dir, ".git"))
	for name, f := range map[string]*fixture.Repository{"one": one, "two": two} {
		for _, c := range []struct {
			args []string
			want string
		}{
			{[]string{name}, f.Git("ls-remote", "--symref", ".")},
			{[]string{name, "--prefix", "refs/tags/"}, f.Git("ls-remote", "--tags", ".")},
			{[]string{name, "."}, f.Git("ls-tree", "HEAD")},
			{[]string{name, "/"}, f.Git("ls-tree", "HEAD")},
			{[]string{name, "dir/"}, f.Git("ls-tree", "HEAD:dir")},
			{[]string{name, ".", "--recursive", "--rev", "v1"}, f.Git("ls-tree", "-r", "v1")},
			{[]string{name, "readme"}, "second"},
			{[]string{name, "readme", "--rev", "topic"}, "grüße \"<&>\""},
			{[]string{name, "./dir//sub/deep", "--rev", f.Git("rev-parse", "v1")}, "deep"},
		} {
			if got := strings.TrimSpace(explore(t, url, c.args...)); got != c.want {
				t.Errorf("explore %v:\n%s\nwant\n%s", c.args, got, c.want)
			}
		}
		if got := explore(t, url, name, "dir/big"); got != big {
			t.Errorf("%s: the big file has %d bytes, want %d", name, len(got), len(big))
		}
	}
	var refs reader.RefsAnswer
	check(t, json.Unmarshal([]byte(explore(t, url, "one", "--json")), &refs))
	if len(refs.Refs) != 3 || refs.Head.Ref != "refs/heads/main" || refs.Refs[2].Peeled != one.Git("rev-parse", "v1^{}") {
		t.Errorf("refs %+v", refs)
	}
	want := `{"mode":"100644","type":"blob","oid":"` + one.Git("rev-parse", "topic:readme") + `","path":"readme","size":14,"encoding":"utf-8","data":"grüße \"<&>\"\n"}`
	if got := strings.TrimSpace(explore(t, url, "one", "readme", "--json", "--rev", "topic")); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if code := sidecar.end(os.Interrupt); code != 0 {
		t.Errorf("exit %d after SIGINT: %s", code, sidecar.other.String())
	}
	if got := sidecar.other.String(); got != "" {
		t.Errorf("the sidecar said %s", got)
	}
}

func TestSmallFrames(t *testing.T) {
	_, url := startRelay(t, "127.0.0.1:0", "--frame-bytes-max", "8192", "--metadata-bytes-max", "2048")
	f, _ := sample(t)
	commit := f.Git("rev-parse", "HEAD")
	var script strings.Builder
	for i := range 200 {
		fmt.Fprintf(&script, "create refs/many/%04d %s\n", i, commit)
	}
	f.GitInput(script.String(), "update-ref", "--stdin")
	f.Write("middle", strings.Repeat("\x01\xff", 20_000))
	f.Commit("three")
	startSidecar(t, url, "--repo", "work="+f.Dir)
	if got, want := strings.TrimSpace(explore(t, url, "work")), f.Git("ls-remote", "--symref", "."); got != want {
		t.Errorf("refs differ: %d bytes, want %d", len(got), len(want))
	}
	if got := explore(t, url, "work", "middle"); got != strings.Repeat("\x01\xff", 20_000) {
		t.Errorf("middle has %d bytes", len(got))
	}
}

func TestWrongUse(t *testing.T) {
	f := fixture.New(t)
	_, url := startRelay(t, "127.0.0.1:0")
	startSidecar(t, url, "--repo", "work="+f.Dir)
	token := filepath.Join(t.TempDir(), "token")
	check(t, os.WriteFile(token, []byte("\n"), 0o600))
	for _, c := range []struct {
		code int
		err  string
		args []string
	}{
		{2, `unknown flag --rela, the nearest known one is --relay`, []string{"--rela", url}},
		{2, `unknown command "explor", the nearest known one is "explore"`, []string{"explor"}},
		{2, `no repository: --repo NAME=PATH`, nil},
		{2, `want NAME=PATH`, []string{"--repo", "work"}},
		{2, `want NAME=PATH`, []string{"--repo", "../work=" + f.Dir}},
		{2, `two repositories have this name`, []string{"--repo", "a=" + f.Dir, "--repo", "a=" + f.Dir}},
		{2, `--poll: 0s is shorter than 10ms`, []string{"--repo", "a=" + f.Dir, "--poll", "0"}},
		{2, `--relay: "nowhere" is no URL`, []string{"--repo", "a=" + f.Dir, "--relay", "nowhere"}},
		{2, `invalid argument "soon" for "--poll"`, []string{"--poll", "soon"}},
		{1, `not a git repository`, []string{"--repo", "a=" + t.TempDir()}},
		{1, `connection refused`, []string{"--repo", "a=" + f.Dir, "--relay", "tcp://127.0.0.1:1"}},
		{1, `is empty`, []string{"--repo", "a=" + f.Dir, "--relay", url, "--token-file", token}},
		{2, `want REPO [PATH], got 0 arguments`, []string{"explore"}},
		{2, `the nearest known one is --recursive`, []string{"explore", "work", ".", "--recursiv"}},
		{2, `cannot have ..`, []string{"explore", "work", "a/../b"}},
		{2, `--rev says nothing without PATH`, []string{"explore", "work", "--rev", "v1"}},
		{2, `--watch says nothing with PATH`, []string{"explore", "work", ".", "--watch"}},
		{1, `no service serves other (waited 50ms)`, []string{"explore", "--relay", url, "--timeout", "50ms", "other"}},
		{1, `no service AAAA serves work (waited 50ms)`, []string{"explore", "--relay", url, "--timeout", "50ms", "work", "--service", "AAAA"}},
		{1, `HEAD, refs/heads/main, has no commit yet`, []string{"explore", "--relay", url, "work", "."}},
		{1, `(-32602) {"member":"prefix"`, []string{"explore", "--relay", url, "work", "--prefix", "refs/../x"}},
	} {
		r := run(t, c.args...)
		if r.code != c.code || !strings.Contains(r.err, c.err) || r.out != "" {
			t.Errorf("%v: exit %d, stderr %q, stdout %q; want exit %d and %q", c.args, r.code, r.err, r.out, c.code, c.err)
		}
	}
	startSidecar(t, url, "--repo", "work="+f.Dir, "--label", "second")
	r := run(t, "explore", "--relay", url, "work")
	if r.code != 1 || !strings.Contains(r.err, "2 services serve work, choose one with --service: ") || !strings.Contains(r.err, "(second)") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	for _, args := range [][]string{{"--help"}, {"explore", "--help"}, {"help", "explore"}, {"help", "help"}} {
		if r := run(t, args...); r.code != 0 || !strings.Contains(r.out, "Examples:\n  git-sidecar ") || r.err != "" {
			t.Errorf("%v: exit %d, %q", args, r.code, r.err)
		}
	}
}

func TestWatchedRefs(t *testing.T) {
	_, url := startRelay(t, "127.0.0.1:0")
	f := fixture.New(t)
	_, id := startSidecar(t, url, "--repo", "work="+f.Dir)
	me, other := dial(t, url), dial(t, url)
	heard := make(chan string, 10)
	mine, err := me.Register(t.Context(), nil, nil, client.OnNotify(func(_ context.Context, n *client.Notification) {
		heard <- n.Method + " " + string(n.Params)
	}))
	check(t, err)
	params := reader.WatchParams{Repo: "work", ServiceID: mine.ID()}
	if got, want := failure(t, other.Call(t.Context(), id, "watchRefs", params, nil)), `-32009 {"serviceId":"`+mine.ID()+`"}`; got != want {
		t.Errorf("another client's service: %s, want %s", got, want)
	}
	if got, want := failure(t, me.Call(t.Context(), id, "watchRefs", reader.WatchParams{Repo: "work", ServiceID: "none"}, nil)), `-32008 {"serviceId":"none"}`; got != want {
		t.Errorf("no service: %s, want %s", got, want)
	}
	for range 2 {
		check(t, me.Call(t.Context(), id, "watchRefs", params, nil))
	}
	f.Commit("one")
	if got := <-heard; got != `refsChanged {"repo":"work"}` {
		t.Errorf("heard %s", got)
	}
	check(t, mine.Unregister(t.Context()))
	if got, want := failure(t, me.Call(t.Context(), id, "watchRefs", params, nil)), `-32008 {"serviceId":"`+mine.ID()+`"}`; got != want {
		t.Errorf("a service that is gone: %s, want %s", got, want)
	}
	if len(heard) != 0 {
		t.Errorf("heard %s too", <-heard)
	}
}

func TestExploreWatchFollowsThroughRestarts(t *testing.T) {
	relay, url := startRelay(t, "127.0.0.1:0")
	f := fixture.New(t)
	one := f.Commit("one")
	sidecar, first := startSidecar(t, url, "--repo", "work="+f.Dir)
	watch := start(t, "git-sidecar", "explore", "work", "--watch", "--relay", url, "--timeout", patience.String())
	expect := func(want ...string) {
		t.Helper()
		for _, w := range want {
			if got := watch.line(""); got != w {
				t.Errorf("watch printed %q, want %q", got, w)
			}
		}
	}
	expect("+ "+one+"\tHEAD", "+ "+one+"\trefs/heads/main")
	f.Git("tag", "light")
	expect("+ " + one + "\trefs/tags/light")

	// The relay restarts: everybody connects and registers again, under new ids.
	address := strings.TrimPrefix(url, "tcp://")
	if code := relay.end(syscall.SIGTERM); code != 0 {
		t.Errorf("the relay's exit code is %d", code)
	}
	startRelay(t, address)
	if second := strings.TrimPrefix(sidecar.line("registered "), "registered "); second == first {
		t.Error("the service has its old id after a restart of the relay")
	}
	two := f.Commit("two")
	expect("~ "+two+"\tHEAD", "~ "+two+"\trefs/heads/main")

	// The sidecar restarts: the watcher finds the new one.
	if code := sidecar.end(syscall.SIGTERM); code != 0 {
		t.Errorf("the sidecar's exit code is %d", code)
	}
	f.Git("tag", "-d", "light")
	sidecar, _ = startSidecar(t, url, "--repo", "work="+f.Dir)
	expect("- refs/tags/light")
	if got := strings.TrimSpace(explore(t, url, "work", "--prefix", "refs/heads/")); got != two+"\trefs/heads/main" {
		t.Errorf("refs %s", got)
	}
	for name, p := range map[string]*program{"watch": watch, "sidecar": sidecar} {
		if code := p.end(os.Interrupt); code != 0 {
			t.Errorf("%s: exit %d: %s", name, code, p.other.String())
		}
	}
}

func TestManyClientsAtOnce(t *testing.T) {
	_, url := startRelay(t, "127.0.0.1:0")
	f := fixture.New(t)
	var oids []string
	for i := range 50 {
		oids = append(oids, f.Blob(strings.Repeat(fmt.Sprint(i), 1000)))
	}
	_, id := startSidecar(t, url, "--repo", "work="+f.Dir)
	var group sync.WaitGroup
	for range 4 {
		c := dial(t, url)
		for worker := range 10 {
			group.Go(func() {
				for i := range 20 {
					ctx, cancel := context.WithCancel(t.Context())
					if i%4 == 3 {
						go cancel()
					}
					var answer reader.ObjectsAnswer
					err := c.Call(ctx, id, "getObjects", reader.ObjectsParams{Repo: "work", OIDs: oids[worker : worker+30]}, &answer)
					if i%4 == 3 && err != nil {
						cancel()
						continue
					}
					if err != nil || len(answer.Objects) != 30 {
						t.Errorf("%d objects, %v", len(answer.Objects), err)
					}
					for n, o := range answer.Objects {
						if o.OID != oids[worker+n] || o.Data != strings.Repeat(fmt.Sprint(worker+n), 1000) {
							t.Errorf("object %d is %s", worker+n, o.OID)
						}
					}
					cancel()
				}
			})
		}
	}
	group.Wait()
}

func TestToken(t *testing.T) {
	const secret = "a-secret-token"
	dir := t.TempDir()
	token, config := filepath.Join(dir, "token"), filepath.Join(dir, "relay.toml")
	check(t, os.WriteFile(token, []byte(secret+"\n"), 0o600))
	check(t, os.WriteFile(config, fmt.Appendf(nil, `
[auth]
required = true
resource = "https://relay.example.org"
[[principal]]
name = "git"
token_sha256 = "%x"
client_ids = ["git-*"]
register = ["git-*"]
discover = ["git-*"]
notify = ["git-*"]
request = ["git-*"]
`, sha256.Sum256([]byte(secret))), 0o600))
	_, url := startRelay(t, "127.0.0.1:0", "--config", config)
	f, _ := sample(t)
	startSidecar(t, url, "--repo", "work="+f.Dir, "--token-file", token)
	r := run(t, "explore", "--relay", url, "--token-file", token, "--trace", "work", "readme")
	if r.code != 0 || r.out != "second\n" || !strings.Contains(r.err, `"method":"authenticate"`) || strings.Contains(r.err, secret) {
		t.Errorf("exit %d, %q: %s", r.code, r.out, r.err)
	}
	r = run(t, "explore", "--relay", url, "work", "readme")
	if r.code != 1 || !strings.Contains(r.err, "-32007") {
		t.Errorf("without a token: exit %d: %s", r.code, r.err)
	}
	watch := start(t, "git-sidecar", "explore", "work", "--watch", "--relay", url, "--token-file", token, "--prefix", "refs/heads/")
	watch.line("+ ")
	watch.line("+ ")
	three := f.Commit("three")
	if got, want := watch.line("~ "), "~ "+three+"\trefs/heads/main"; got != want {
		t.Errorf("watch printed %q, want %q", got, want)
	}
}

func TestTraceAndVerbose(t *testing.T) {
	_, url := startRelay(t, "127.0.0.1:0")
	f := fixture.New(t)
	f.Write("file", "contents")
	f.Commit("one")
	startSidecar(t, url, "--repo", "work="+f.Dir)
	r := run(t, "explore", "--relay", url, "work", "file", "--trace", "--verbose")
	if r.code != 0 || r.out != "contents" {
		t.Errorf("exit %d, %q", r.code, r.out)
	}
	for _, want := range []string{
		`> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://",`,
		`< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1.0.0",`,
		`"method":"getRefs","params":{"repo":"work","prefix":"HEAD"}}}` + "\n",
		`git-sidecar: 4 requests, 3 objects of `,
	} {
		if !strings.Contains(r.err, want) {
			t.Errorf("no %s in\n%s", want, r.err)
		}
	}
	for line := range strings.Lines(r.err) {
		if len(line) > 260 {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
	}
}
