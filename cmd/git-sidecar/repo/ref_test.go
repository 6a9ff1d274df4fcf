package repo

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ahprelay/ahprelay/cmd/git-sidecar/fixture"
)

func refs(t *testing.T, r *Repo, prefix, after string) []Ref {
	t.Helper()
	got, err := r.Refs(t.Context(), prefix, after)
	check(t, err)
	check(t, r.Peel(t.Context(), got))
	return got
}

func TestRefsArePeeledThroughTags(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		f := fixture.New(t, "--object-format="+format)
		commit := commit(f, "one")
		f.Git("tag", "light")
		f.Git("tag", "-a", "-m", "outer", "v1")
		f.Git("tag", "-a", "-m", "outer", "v1-again", "v1")
		f.Git("tag", "-a", "-m", "outer", "v1-thrice", "v1-again")
		f.Git("branch", "topic")
		id := func(name string) OID { return OID(f.Git("rev-parse", name)) }
		r := open(t, f)
		if r.Format() != format {
			t.Errorf("format %s, want %s", r.Format(), format)
		}
		all := []Ref{
			{"refs/heads/main", commit, ""},
			{"refs/heads/topic", commit, ""},
			{"refs/tags/light", commit, ""},
			{"refs/tags/v1", id("v1"), commit},
			{"refs/tags/v1-again", id("v1-again"), commit},
			{"refs/tags/v1-thrice", id("v1-thrice"), commit},
		}
		for range 2 { // the second time from memory
			for _, c := range []struct {
				prefix, after string
				want          []Ref
			}{
				{"", "", all}, {"refs/", "", all}, {"ref", "", all},
				{"refs/heads/", "", all[:2]}, {"refs/tags/v1", "", all[3:]}, {"refs/tags/v1-", "", all[4:]},
				{"", "refs/heads/main", all[1:]}, {"", "refs/heads/maim", all}, {"refs/tags/", "refs/tags/v1", all[4:]},
				{"refs/heads/x", "", []Ref{}}, {"heads/", "", []Ref{}}, {"", "refs/tags/v1-thrice", []Ref{}},
			} {
				if got := refs(t, r, c.prefix, c.after); !reflect.DeepEqual(got, c.want) {
					t.Errorf("%s, prefix %q, after %q: %v\nwant %v", format, c.prefix, c.after, got, c.want)
				}
			}
		}
	}
}

func TestTagsOfTreesAndBrokenRefs(t *testing.T) {
	f := fixture.New(t)
	commit := commit(f, "one")
	tree := OID(f.Git("rev-parse", "HEAD^{tree}"))
	f.Git("tag", "-a", "-m", "a tree", "tree", string(tree))
	tag := OID(f.Git("rev-parse", "tree"))
	gone := strings.Repeat("12", 20)
	lost := OID(f.GitInput("object "+gone+"\ntype commit\ntag lost\ntagger A <a@example.org> 1 +0000\n\nlost\n",
		"hash-object", "-w", "-t", "tag", "--literally", "--stdin"))
	for name, oid := range map[string]string{"refs/heads/broken": gone, "refs/tags/lost": string(lost)} {
		check(t, os.WriteFile(filepath.Join(f.Dir, ".git", name), []byte(oid+"\n"), 0o644))
	}
	want := []Ref{
		{"refs/heads/broken", OID(gone), ""},
		{"refs/heads/main", commit, ""},
		{"refs/tags/lost", lost, ""},
		{"refs/tags/tree", tag, tree},
	}
	if got := refs(t, open(t, f), "", ""); !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

func TestHead(t *testing.T) {
	f := fixture.New(t)
	r := open(t, f)
	expect := func(want Head) {
		t.Helper()
		got, err := r.Head(t.Context())
		check(t, err)
		if got != want {
			t.Errorf("head %v, want %v", got, want)
		}
	}
	expect(Head{"refs/heads/main", ""}) // unborn
	if got := refs(t, r, "", ""); len(got) != 0 {
		t.Errorf("refs of an empty repository: %v", got)
	}
	one := commit(f, "one")
	expect(Head{"refs/heads/main", one})
	f.Git("checkout", "-q", "--detach")
	expect(Head{"", one})
	f.Git("checkout", "-q", "--orphan", "other")
	expect(Head{"refs/heads/other", ""})
}

func TestManyRefs(t *testing.T) {
	f := fixture.New(t)
	commit := commit(f, "one")
	var script strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&script, "create refs/many/%04d %s\n", i, commit)
	}
	f.GitInput(script.String(), "update-ref", "--stdin")
	f.Git("pack-refs", "--all")
	got := refs(t, open(t, f), "refs/many/", "refs/many/0999")
	if len(got) != 2000 || got[0].Name != "refs/many/1000" || got[1999].Name != "refs/many/2999" {
		t.Errorf("%d refs", len(got))
	}
}

func TestRefNamesThatAreNotUTF8AreLeftOut(t *testing.T) {
	f := fixture.New(t)
	commit := commit(f, "one")
	f.GitInput("create refs/heads/b\xff "+string(commit)+"\ncreate refs/heads/ü \""+string(commit)+"\"\n", "update-ref", "--stdin")
	want := []Ref{{"refs/heads/main", commit, ""}, {"refs/heads/ü", commit, ""}}
	if got := refs(t, open(t, f), "", ""); !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}
