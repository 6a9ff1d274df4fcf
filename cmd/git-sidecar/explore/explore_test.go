package explore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/fixture"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/reader"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/repo"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// direct is a Caller without a relay between: the reader itself.
type direct struct {
	reader *reader.Reader
	forge  func(method string, answer []byte) []byte // nil: the truth
	asked  []string                                  // params
}

func (d *direct) Call(ctx context.Context, id, method string, params, result any) error {
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	d.asked = append(d.asked, string(text))
	answer, err := d.reader.Handle(ctx, &client.Request{Method: method, Params: text})
	if err != nil {
		return err
	}
	raw, err := answer.(json.Marshaler).MarshalJSON()
	if err != nil {
		return err
	}
	if d.forge != nil {
		raw = d.forge(method, raw)
	}
	return json.Unmarshal(raw, result)
}

// serve returns a Remote of the repository, through frames of that size.
func serve(t *testing.T, f *fixture.Repository, frame int) (*Remote, *direct) {
	t.Helper()
	work, err := repo.Open(t.Context(), "work", f.Dir)
	check(t, err)
	t.Cleanup(work.Close)
	served, err := reader.New(reader.Config{Repos: []*repo.Repo{work}, FrameBytes: func() int { return frame }, Poll: time.Second, Log: slog.Default()})
	check(t, err)
	d := &direct{reader: served}
	return New(d, "s", "work", frame), d
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lsTree prints entries as git does.
func lsTree(entries []Entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%s %s %s\t%s\n", e.Mode, e.Type, e.OID, e.Path)
	}
	return strings.TrimSpace(b.String())
}

func TestWalk(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		f := fixture.New(t, "--object-format="+format)
		f.Write("readme", "hello\n")
		f.Write("a/b/c/deep", "deep\n")
		f.Write("x/b/c/deep", "deep\n")
		f.Write("a/grüße", "\xff")
		f.Git("update-index", "--add", "--cacheinfo", "160000,"+f.Commit("sub")+",module")
		f.Git("update-index", "--add", "--chmod=+x", "readme")
		f.Commit("one")
		f.Git("tag", "-a", "-m", "x", "v1")
		f.Git("tag", "-a", "-m", "x", "v2", "v1")
		r, _ := serve(t, f, 1<<20)
		want := f.Git("rev-parse", "HEAD^{tree}")
		for _, revision := range []string{"HEAD", "main", "v1", "v2", "tags/v2", "heads/main", "refs/heads/main", f.Git("rev-parse", "v2"), f.Git("rev-parse", "HEAD"), want} {
			got, err := r.Tree(t.Context(), revision)
			check(t, err)
			if got != want {
				t.Errorf("%s: tree %s, want %s", revision, got, want)
			}
		}
		for revision, problem := range map[string]string{"nope": "no revision", "mai": "no revision", f.Blob("x"): "is a blob", strings.Repeat("1", len(want)): "has no object", "a..b": "invalid params"} {
			if _, err := r.Tree(t.Context(), revision); err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("%s: %v, want %q", revision, err, problem)
			}
		}
		for path, recursive := range map[string]bool{"": true, "a": true, "a/b": false, "/a//b/": true, "./x": false} {
			entry, err := r.Lookup(t.Context(), want, path)
			check(t, err)
			entries, err := r.List(t.Context(), entry.OID, recursive)
			check(t, err)
			args := []string{"-c", "core.quotePath=false", "ls-tree"}
			if recursive {
				args = append(args, "-r")
			}
			if got, want := lsTree(entries), f.Git(append(args, entry.OID)...); got != want {
				t.Errorf("%q:\n%s\nwant\n%s", path, got, want)
			}
		}
		for path, problem := range map[string]string{"none": `no "none" in the top directory`, "a/none": `no "none" in "a"`, "readme/x": "readme is not a directory", "module/x": "module is not a directory", "a/../readme": `no ".." in "a"`} {
			if _, err := r.Lookup(t.Context(), want, path); err == nil || err.Error() != problem {
				t.Errorf("%s: %v, want %s", path, err, problem)
			}
		}
		entry, err := r.Lookup(t.Context(), want, "a/grüße")
		check(t, err)
		var out bytes.Buffer
		check(t, r.Copy(t.Context(), entry.OID, &out))
		if out.String() != "\xff" || entry.Path != "a/grüße" {
			t.Errorf("%v: %q", entry, out.String())
		}
	}
}

func TestRefsComeFromAllPages(t *testing.T) {
	f := fixture.New(t)
	commit := f.Commit("one")
	var script strings.Builder
	for i := range 40 {
		fmt.Fprintf(&script, "create refs/many/%03d %s\n", i, commit)
	}
	f.GitInput(script.String(), "update-ref", "--stdin")
	r, _ := serve(t, f, 2048)
	refs, head, err := r.Refs(t.Context(), "")
	check(t, err)
	if len(refs) != 41 || refs[40] != (reader.Ref{Name: "refs/many/039", OID: commit}) || head != (reader.Head{Ref: "refs/heads/main", OID: commit}) || r.Stats().Requests < 3 {
		t.Errorf("%d refs, head %v, %d requests", len(refs), head, r.Stats().Requests)
	}
}

func TestBatchesAndCache(t *testing.T) {
	f := fixture.New(t)
	for i := range 30 {
		f.Write(fmt.Sprintf("d%02d/same", i%3), "same\n")
		f.Write(fmt.Sprintf("e%02d/file", i), fmt.Sprint(i))
	}
	f.Commit("one")
	r, d := serve(t, f, 1<<20)
	tree, err := r.Tree(t.Context(), "HEAD")
	check(t, err)
	for range 2 {
		entries, err := r.List(t.Context(), tree, true)
		check(t, err)
		if len(entries) != 33 {
			t.Errorf("%d entries", len(entries))
		}
		if want := (Stats{Requests: 4, Objects: 33}); r.stats.Requests != want.Requests || r.stats.Objects != want.Objects {
			t.Errorf("%+v, want %+v: %v", r.stats, want, d.asked)
		}
	}
	if r.stats.CacheHits != 2+1+1+33 { // the two equal trees; the second time everything
		t.Errorf("%d cache hits", r.stats.CacheHits)
	}
}

func TestBigBlobsComeByRanges(t *testing.T) {
	f := fixture.New(t)
	const whole = 1 << 20
	for _, size := range []int{0, 100, 300_000, whole, whole + 1, repo.StreamedBytesMin + 1} {
		want := []byte(strings.Repeat("0123456789abcde\n", size/16+1)[:size])
		oid := f.Blob(string(want))
		r, _ := serve(t, f, 1<<20)
		r.whole = whole
		var out bytes.Buffer
		check(t, r.Copy(t.Context(), oid, &out))
		if !bytes.Equal(out.Bytes(), want) || r.stats.Objects != 1 || r.stats.Bytes != int64(size) {
			t.Errorf("%d bytes of %d, %+v", out.Len(), size, r.stats)
		}
		requests := r.stats.Requests
		out.Reset()
		check(t, r.Copy(t.Context(), oid, &out))
		if cached := r.stats.Requests == requests; cached != (size <= whole) || out.Len() != size {
			t.Errorf("%d bytes: cached %v", size, cached)
		}
		if _, err := r.Get(t.Context(), oid); (err == nil) != (size <= whole) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestTinyFrames(t *testing.T) {
	f := fixture.New(t)
	for i := range 20 {
		f.Write(fmt.Sprintf("dir%d/file", i), strings.Repeat(fmt.Sprint(i), 500))
	}
	f.Commit("one")
	r, _ := serve(t, f, 2048)
	tree, err := r.Tree(t.Context(), "HEAD")
	check(t, err)
	entries, err := r.List(t.Context(), tree, true)
	check(t, err)
	if got, want := lsTree(entries), f.Git("ls-tree", "-r", tree); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	var oids []string
	for _, e := range entries {
		oids = append(oids, e.OID)
	}
	objects, err := r.Get(t.Context(), oids...)
	check(t, err)
	if len(objects) != 20 || string(objects[0].Data) != strings.Repeat("0", 500) {
		t.Errorf("%d objects", len(objects))
	}
}

func TestForgedAnswersAreRefused(t *testing.T) {
	f := fixture.New(t)
	f.Write("file", "true contents")
	f.Commit("one")
	oid := f.Git("rev-parse", "HEAD:file")
	other := f.Blob("other")
	replace := func(old, new string) func(string, []byte) []byte {
		return func(_ string, answer []byte) []byte { return bytes.ReplaceAll(answer, []byte(old), []byte(new)) }
	}
	for name, c := range map[string]struct {
		forge func(string, []byte) []byte
		want  string
	}{
		"contents":    {replace("true", "fake"), "is not what its name says"},
		"type":        {replace(`"blob"`, `"tree"`), "is not what its name says"},
		"no type":     {replace(`"blob"`, `""`), "another part"},
		"size":        {replace(`"size":13`, `"size":12`), "another part"},
		"bigger size": {replace(`"size":13`, `"size":15`), "nothing of"},
		"huge size":   {replace(`"size":13`, `"size":9223372036854775807`), "too many to be held"},
		"negative":    {replace(`"size":13`, `"size":-1`), "another part"},
		"other":       {replace(oid, other), "nobody asked for"},
		"encoding":    {replace("utf-8", "latin1"), "unknown encoding"},
		"base64":      {replace("utf-8", "base64"), "malformed base64"},
		"nothing":     {func(string, []byte) []byte { return []byte(`{}`) }, "nothing of"},
		"null":        {func(string, []byte) []byte { return []byte(`null`) }, "nothing of"},
	} {
		r, d := serve(t, f, 1<<20)
		d.forge = c.forge
		if _, err := r.Get(t.Context(), oid); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Get: %v, want %q", name, err, c.want)
		}
		var out bytes.Buffer
		if err := r.Copy(t.Context(), oid, &out); err == nil || !strings.Contains(err.Error(), c.want) && name != "huge size" {
			t.Errorf("%s: Copy: %v, want %q", name, err, c.want)
		}
		if len(r.cache) != 0 {
			t.Errorf("%s: a forged object is in the cache", name)
		}
	}
	for answer, want := range map[string]string{
		`{"refs":[{"name":"refs/a","oid":"x"}]}`:                                   "malformed object id",
		`{"refs":[],"head":{"oid":"` + strings.Repeat("g", 40) + `"}}`:             "malformed object id",
		`{"refs":[],"head":{},"next":"refs/a"}`:                                    "leads nowhere",
		`{"refs":[{"name":"refs/a","oid":"` + oid + `","peeled":"--"}],"head":{}}`: "malformed object id",
	} {
		r, d := serve(t, f, 1<<20)
		d.forge = func(string, []byte) []byte { return []byte(answer) }
		if _, _, err := r.Refs(t.Context(), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

func TestMalformedTrees(t *testing.T) {
	id := strings.Repeat("\x01", 20)
	for data, want := range map[string]string{
		"100644 a\x00" + id[1:]:   "cut short",
		"100644 a":                "cut short",
		"100644\x00" + id:         "cut short",
		"9 a\x00" + id:            `the mode "9"`,
		"7777777777 a\x00" + id:   "the mode",
		"100644 a/b\x00" + id:     `the name "a/b"`,
		"100644 ..\x00" + id:      `the name ".."`,
		"100644 \x00" + id:        `the name ""`,
		"40000 .\x00" + id + "12": `the name "."`,
	} {
		if _, err := parseTree(&Object{OID: strings.Repeat("a", 40), Type: "tree", Data: []byte(data)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", data, err, want)
		}
	}
}
