package reader

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/fixture"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/repo"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a Reader of one repository, "work", without a relay.
type bench struct {
	*Reader
	t      testing.TB
	frame  int
	notes  chan string       // serviceIds that were notified
	newest map[string]string // serviceId → clientId
}

func newBench(t testing.TB, f *fixture.Repository) *bench {
	t.Helper()
	work, err := repo.Open(t.Context(), "work", f.Dir)
	check(t, err)
	t.Cleanup(work.Close)
	b := &bench{t: t, frame: 1 << 20, notes: make(chan string, 100), newest: map[string]string{}}
	b.Reader, err = New(Config{
		Repos:      []*repo.Repo{work},
		FrameBytes: func() int { return b.frame },
		Notify: func(id, method string, params any) error {
			text, err := json.Marshal(params)
			b.notes <- fmt.Sprint(id, " ", method, " ", string(text))
			return err
		},
		Lookup: func(id string) (client.ServiceInfo, bool) {
			owner, ok := b.newest[id]
			return client.ServiceInfo{ID: id, ClientID: owner}, ok
		},
		Poll: 5 * time.Millisecond,
		Log:  slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 1})),
	})
	check(t, err)
	return b
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ask returns the result as text, or "code data" of the error. A result is never longer than a frame allows.
func (b *bench) ask(ctx context.Context, sender, method, params string) string {
	b.t.Helper()
	result, err := b.Handle(ctx, &client.Request{Method: method, Params: []byte(params), Sender: sender})
	if err != nil {
		var failure *client.Error
		if !errors.As(err, &failure) {
			b.t.Fatalf("%s %s: %v is no *client.Error", method, params, err)
		}
		return fmt.Sprint(int(failure.Code), " ", string(failure.Data))
	}
	text, err := json.Marshal(result)
	check(b.t, err)
	if bytes, ok := result.(interface{ MarshalJSON() ([]byte, error) }); ok {
		text, err = bytes.MarshalJSON()
		check(b.t, err)
	}
	if len(text)+envelopeBytes > b.frame {
		b.t.Errorf("%s: %d bytes for a frame of %d", method, len(text), b.frame)
	}
	if !json.Valid(text) {
		b.t.Errorf("%s: not JSON: %.200s", method, text)
	}
	return string(text)
}

func (b *bench) expect(method, params, want string) {
	b.t.Helper()
	if got := b.ask(b.t.Context(), "me", method, params); got != want {
		b.t.Errorf("%s %s:\n got %s\nwant %s", method, params, got, want)
	}
}

// objects asks getObjects and decodes the answer.
func (b *bench) objects(params ObjectsParams) ObjectsAnswer {
	b.t.Helper()
	params.Repo = "work"
	text, err := json.Marshal(params)
	check(b.t, err)
	var answer ObjectsAnswer
	if got := b.ask(b.t.Context(), "me", "getObjects", string(text)); json.Unmarshal([]byte(got), &answer) != nil {
		b.t.Fatalf("getObjects: %.300s", got)
	}
	return answer
}

// bytes decodes an entry's data.
func (o Object) bytes(t testing.TB) string {
	t.Helper()
	if o.Encoding == "utf-8" {
		return o.Data
	}
	data, err := base64.StdEncoding.DecodeString(o.Data)
	check(t, err)
	return string(data)
}

func TestMalformedParams(t *testing.T) {
	f := fixture.New(t)
	oid := f.Blob("x")
	b := newBench(t, f)
	bad := func(member, problem string) string {
		text, _ := json.Marshal(problem)
		return `-32602 {"member":"` + member + `","problem":` + string(text) + `}`
	}
	const (
		hexOnly  = "is not an object id: an object id is lower-case hex digits only"
		lengthOf = "is not an object id: an object id is 40 or 64 hex digits"
		natural  = "must be an integer, 0 or more"
		chars    = "is not a name: a repository's name is letters, digits, '.', '_' and '-', beginning with a letter or digit"
	)
	for _, c := range []struct{ method, params, want string }{
		{"getRefs", `null`, bad("params", "must be an object")},
		{"getRefs", `[]`, bad("params", "must be an object")},
		{"getRefs", `{}`, bad("repo", "must be a string")},
		{"getRefs", `{"repo":null}`, bad("repo", "must be a string")},
		{"getRefs", `{"repo":7}`, bad("repo", "must be a string")},
		{"getRefs", `{"repo":"work","repo":"work"}`, bad("repo", "is there twice")},
		{"getRefs", `{"repo":"\ud800"}`, bad("repo", "must be a string of Unicode text")},
		{"getRefs", `{"repo":"` + strings.Repeat("a", 5000) + `"}`, bad("repo", "is longer than 4096 bytes")},
		{"getRefs", `{"repo":"other"}`, `-32008 {"repo":"other","repos":["work"]}`},
		{"getRefs", `{"repo":"Work"}`, `-32008 {"repo":"Work","repos":["work"]}`},
		{"getRefs", `{"repo":"../work"}`, bad("repo", chars)},
		{"getRefs", `{"repo":"/etc/passwd"}`, bad("repo", chars)},
		{"getRefs", `{"repo":"work\n"}`, bad("repo", chars)},
		{"getRefs", `{"repo":"w..k"}`, bad("repo", "is not a name: a repository's name has no '..'")},
		{"getRefs", `{"repo":"work","prefix":7}`, bad("prefix", "must be a string")},
		{"getRefs", `{"repo":"work","prefix":null}`, bad("prefix", "must be a string")},
		{"getRefs", `{"repo":"work","prefix":"refs/../../x"}`, bad("prefix", "cannot begin a ref's name: has '..', '//' or '@{'")},
		{"getRefs", `{"repo":"work","prefix":"--all"}`, bad("prefix", "cannot begin a ref's name: begins with '/' or '-'")},
		{"getRefs", `{"repo":"work","prefix":"refs/\u0000"}`, bad("prefix", "cannot begin a ref's name: has a control character")},
		{"getRefs", `{"repo":"work","after":{}}`, bad("after", "must be a string")},
		{"getObjects", `{"repo":"work"}`, bad("oids", "must be an array of object ids")},
		{"getObjects", `{"repo":"work","oids":"` + oid + `"}`, bad("oids", "must be an array of object ids")},
		{"getObjects", `{"repo":"work","oids":["` + oid + `",3]}`, bad("oids[1]", "must be a string")},
		{"getObjects", `{"repo":"work","oids":["HEAD"]}`, bad("oids[0]", lengthOf)},
		{"getObjects", `{"repo":"work","oids":["` + oid[:39] + `\n"]}`, bad("oids[0]", hexOnly)},
		{"getObjects", `{"repo":"work","oids":["` + oid + `\n"]}`, bad("oids[0]", lengthOf)},
		{"getObjects", `{"repo":"work","oids":["` + oid + `\ninfo ` + oid[:18] + `"]}`, bad("oids[0]", hexOnly)},
		{"getObjects", `{"repo":"work","oids":["` + strings.ToUpper("abcdef") + oid[6:] + `"]}`, bad("oids[0]", hexOnly)},
		{"getObjects", `{"repo":"work","oids":["` + strings.Repeat("0", 64) + `"]}`, bad("oids[0]", "is not an object id: 64 hex digits in a sha1 repository")},
		{"getObjects", `{"repo":"work","oids":["../../../../../../../../../../etc/passwd"]}`, bad("oids[0]", hexOnly)},
		{"getObjects", `{"repo":"work","oids":[],"maxBytes":-1}`, bad("maxBytes", natural)},
		{"getObjects", `{"repo":"work","oids":[],"maxBytes":1.5}`, bad("maxBytes", natural)},
		{"getObjects", `{"repo":"work","oids":[],"maxBytes":"9"}`, bad("maxBytes", natural)},
		{"getObjects", `{"repo":"work","oids":[],"ranges":[]}`, bad("ranges", "must be an object, from object id to {offset, length}")},
		{"getObjects", `{"repo":"work","oids":[],"ranges":{"x":{}}}`, bad("ranges", lengthOf)},
		{"getObjects", `{"repo":"work","oids":[],"ranges":{"` + oid + `":{}}}`, bad("ranges."+oid, "is there twice, or not among the oids")},
		{"getObjects", `{"repo":"work","oids":["` + oid + `"],"ranges":{"` + oid + `":7}}`, bad("ranges."+oid, "must be an object")},
		{"getObjects", `{"repo":"work","oids":["` + oid + `"],"ranges":{"` + oid + `":{"offset":-1}}}`, bad("ranges."+oid+".offset", natural)},
		{"getObjects", `{"repo":"work","oids":["` + oid + `"],"ranges":{"` + oid + `":{"length":1e99}}}`, bad("ranges."+oid+".length", natural)},
		{"watchRefs", `{"repo":"work"}`, bad("serviceId", "must be a string")},
		{"watchRefs", `{"repo":"nope","serviceId":"s"}`, `-32008 {"repo":"nope","repos":["work"]}`},
		{"getTrees", `{}`, `-32601 {"method":"getTrees","methods":["getObjects","getRefs","unwatchRefs","watchRefs"]}`},
	} {
		b.expect(c.method, c.params, c.want)
	}
	many := `{"repo":"work","oids":["` + strings.Repeat(oid+`","`, 2000) + oid + `"]}`
	b.expect("getObjects", many, `-32602 {"member":"oids","problem":"has more than 2000 entries","max":2000}`)
}

func TestRefsAnswer(t *testing.T) {
	f := fixture.New(t)
	b := newBench(t, f)
	b.expect("getRefs", `{"repo":"work"}`, `{"refs":[],"head":{"ref":"refs/heads/main"}}`)
	commit := f.Commit("one")
	f.Git("tag", "-a", "-m", "x", "v1")
	tag := f.Git("rev-parse", "v1")
	main := `{"name":"refs/heads/main","oid":"` + commit + `"}`
	v1 := `{"name":"refs/tags/v1","oid":"` + tag + `","peeled":"` + commit + `"}`
	b.expect("getRefs", `{"repo":"work","unknown":[1]}`, `{"refs":[`+main+`,`+v1+`],"head":{"ref":"refs/heads/main","oid":"`+commit+`"}}`)
	b.expect("getRefs", `{"repo":"work","prefix":"refs/tags/"}`, `{"refs":[`+v1+`],"head":{"ref":"refs/heads/main","oid":"`+commit+`"}}`)
	f.Git("checkout", "-q", "--detach")
	b.expect("getRefs", `{"repo":"work","after":"refs/heads/main"}`, `{"refs":[`+v1+`],"head":{"oid":"`+commit+`"}}`)
}

func TestRefsPages(t *testing.T) {
	f := fixture.New(t)
	commit := f.Commit("one")
	var script strings.Builder
	want := []string{"refs/heads/main"}
	for i := range 120 {
		name := fmt.Sprintf("refs/many/%s-%03d-%s", "\"<ü", i, strings.Repeat("n", i%50))
		want = append(want, name)
		fmt.Fprintf(&script, "create %s %s\n", name, commit)
	}
	f.GitInput(script.String(), "update-ref", "--stdin")
	slices.Sort(want)
	b := newBench(t, f)
	for _, frame := range []int{1 << 20, 20_000, 4096, 1024} {
		b.frame = frame
		var got []string
		pages, after := 0, ""
		for more := true; more; pages++ {
			text, _ := json.Marshal(RefsParams{Repo: "work", After: after})
			var page RefsAnswer
			check(t, json.Unmarshal([]byte(b.ask(t.Context(), "me", "getRefs", string(text))), &page))
			for _, ref := range page.Refs {
				got = append(got, ref.Name)
			}
			more, after = page.Next != "", page.Next
		}
		if !slices.Equal(got, want) {
			t.Errorf("frame %d: %d refs in %d pages, want %d", frame, len(got), pages, len(want))
		}
		if frame == 1<<20 && pages != 1 || frame == 4096 && pages < 5 {
			t.Errorf("frame %d: %d pages", frame, pages)
		}
	}
}

func TestRequestWhoseContextHasEnded(t *testing.T) {
	f := fixture.New(t)
	oid := f.Blob("x")
	b := newBench(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for method, params := range map[string]string{"getRefs": `{"repo":"work"}`, "getObjects": `{"repo":"work","oids":["` + oid + `"]}`} {
		if got := b.ask(ctx, "me", method, params); got != `-32800 {"repo":"work"}` {
			t.Errorf("%s: %s", method, got)
		}
	}
	b.expect("getObjects", `{"repo":"work","oids":["`+oid+`"]}`,
		`{"objects":[{"oid":"`+oid+`","type":"blob","size":1,"encoding":"utf-8","data":"x"}],"missing":[],"truncated":[]}`)
}

func TestGitFailureHidesItsReason(t *testing.T) {
	f := fixture.New(t)
	b := newBench(t, f)
	check(t, os.RemoveAll(f.Dir))
	b.expect("getRefs", `{"repo":"work"}`, `-32603 {"repo":"work"}`)
}
