package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ahprelay/ahprelay/cmd/git-sidecar/fixture"
)

// readAll returns the objects with all their bytes.
func readAll(t *testing.T, r *Repo, oids ...OID) []Object {
	t.Helper()
	objects, err := r.Info(t.Context(), oids)
	check(t, err)
	parts := make([]Part, len(objects))
	for i, o := range objects {
		parts[i] = Part{Object: o, Length: o.Size}
	}
	objects, err = r.Read(t.Context(), parts)
	check(t, err)
	return objects
}

// paired opens f the way that a git before 2.36 needs.
func paired(t *testing.T, f *fixture.Repository) *Repo {
	r := open(t, f)
	r.batch.close()
	r.batch = newBatch(r.git, false)
	return r
}

func TestObjects(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		f := fixture.New(t, "--object-format="+format)
		text, binary, empty := blob(f, "grüße\n"), blob(f, "\x00\xff\n\x00missing\n"), blob(f, "")
		commit := commit(f, "one")
		tree := OID(f.Git("rev-parse", "HEAD^{tree}"))
		f.Git("tag", "-a", "-m", "x", "v1")
		tag := OID(f.Git("rev-parse", "v1"))
		gone := OID(strings.Repeat("0", len(text)))
		want := []Object{
			{text, "blob", 8, []byte("grüße\n")},
			{gone, "", 0, nil},
			{binary, "blob", 12, []byte("\x00\xff\n\x00missing\n")},
			{empty, "blob", 0, nil},
			{commit, "commit", int64(len(f.GitInput("", "cat-file", "commit", string(commit))) + 1), []byte(f.Git("cat-file", "commit", string(commit)) + "\n")},
			{tree, "tree", 0, nil},
			{tag, "tag", int64(len(f.Git("cat-file", "tag", string(tag))) + 1), []byte(f.Git("cat-file", "tag", string(tag)) + "\n")},
			{text, "blob", 8, []byte("grüße\n")},
		}
		var oids []OID
		for _, o := range want {
			oids = append(oids, o.OID)
		}
		for name, r := range map[string]*Repo{"buffered": open(t, f), "paired": paired(t, f)} {
			if r.Paired() != (name == "paired") {
				t.Errorf("paired: %v", r.Paired())
			}
			for i, got := range readAll(t, r, oids...) {
				if got.OID != want[i].OID || got.Type != want[i].Type || got.Size != want[i].Size || !bytes.Equal(got.Data, want[i].Data) {
					t.Errorf("%s %s object %d: %v\nwant %v", format, name, i, got, want[i])
				}
			}
		}
	}
}

func TestThousandObjectsAtOnce(t *testing.T) {
	f := fixture.New(t)
	var stream strings.Builder
	for i := range 1000 {
		text := fmt.Sprintf("blob number %d\n", i)
		fmt.Fprintf(&stream, "blob\nmark :%d\ndata %d\n%s\n", i+1, len(text), text)
	}
	marks := filepath.Join(t.TempDir(), "marks")
	f.GitInput(stream.String(), "fast-import", "--quiet", "--export-marks="+marks)
	lines, err := os.ReadFile(marks)
	check(t, err)
	oids := make([]OID, 1000)
	for line := range strings.Lines(string(lines)) {
		var n int
		var oid OID
		fmt.Sscanf(line, ":%d %s", &n, &oid)
		oids[n-1] = oid
	}
	for _, r := range []*Repo{open(t, f), paired(t, f)} {
		for i, o := range readAll(t, r, oids...) {
			if want := fmt.Sprintf("blob number %d\n", i); string(o.Data) != want || o.OID != oids[i] {
				t.Fatalf("object %d: %q", i, o.Data)
			}
		}
	}
}

func TestParts(t *testing.T) {
	f := fixture.New(t)
	big := make([]byte, StreamedBytesMin+1000)
	for i := range big {
		big[i] = byte(i * 7 >> 3)
	}
	small := big[:5000]
	r := open(t, f)
	for _, data := range [][]byte{small, big} {
		objects, err := r.Info(t.Context(), []OID{blob(f, string(data))})
		check(t, err)
		for _, c := range []struct{ offset, length int64 }{
			{0, 10}, {10, 100}, {2000, 2999}, {4999, 1}, {100, 10}, {int64(len(data)) - 5, 100}, {int64(len(data)), 1}, {1 << 40, 1}, {-3, 4}, {3, -4}, {0, 1 << 40},
		} {
			got, err := r.Read(t.Context(), []Part{{objects[0], c.offset, c.length}})
			check(t, err)
			from := min(max(c.offset, 0), int64(len(data)))
			to := min(from+max(c.length, 0), int64(len(data)))
			if !bytes.Equal(got[0].Data, data[from:to]) || got[0].Size != int64(len(data)) {
				t.Errorf("%d bytes from %d of %d: got %d bytes", c.length, c.offset, len(data), len(got[0].Data))
			}
		}
	}
}

func TestBigObjectInOrderNeedsOneStream(t *testing.T) {
	f := fixture.New(t)
	big := strings.Repeat("0123456789abcdef", (StreamedBytesMin+1<<20)/16)
	r := open(t, f)
	objects, err := r.Info(t.Context(), []OID{blob(f, big)})
	check(t, err)
	var got []byte
	var pid int
	for offset := int64(0); offset < objects[0].Size; offset += 1 << 20 {
		part, err := r.Read(t.Context(), []Part{{objects[0], offset, 1 << 20}})
		check(t, err)
		got = append(got, part[0].Data...)
		if n := len(r.streams.idle); n > 1 || n == 0 && len(got) < len(big) {
			t.Fatalf("%d streams wait at %d", n, offset)
		} else if n == 1 {
			if now := r.streams.idle[0].proc.cmd.Process.Pid; pid == 0 {
				pid = now
			} else if now != pid {
				t.Error("the stream was started again")
			}
		}
	}
	if string(got) != big || len(r.streams.idle) != 0 {
		t.Errorf("%d bytes of %d, %d streams left", len(got), len(big), len(r.streams.idle))
	}
}

func TestStreamsAreBounded(t *testing.T) {
	f := fixture.New(t)
	r := open(t, f)
	var parts []Part
	for i := range streamsMax + 2 {
		objects, err := r.Info(t.Context(), []OID{blob(f, fmt.Sprint(i)+strings.Repeat("x", StreamedBytesMin))})
		check(t, err)
		parts = append(parts, Part{objects[0], 0, 1})
	}
	var group sync.WaitGroup
	for range 3 {
		for i, p := range parts {
			group.Go(func() {
				got, err := r.Read(t.Context(), []Part{p})
				if err != nil || string(got[0].Data) != fmt.Sprint(i) {
					t.Errorf("%v %v", got, err)
				}
			})
		}
	}
	group.Wait()
	if n := len(r.streams.idle); n > streamsMax {
		t.Errorf("%d streams wait", n)
	}
}

func TestReadRefusesMoreThanItsBound(t *testing.T) {
	r := open(t, fixture.New(t))
	huge := Object{OID: OID(strings.Repeat("1", 40)), Type: "blob", Size: 1 << 40}
	if _, err := r.Read(t.Context(), []Part{{huge, 0, 40 << 20}, {huge, 0, 40 << 20}}); err == nil {
		t.Error("80 MiB at once were accepted")
	}
}

func TestKilledGitIsStartedAgain(t *testing.T) {
	f := fixture.New(t)
	oid := blob(f, "still here")
	for _, r := range []*Repo{open(t, f), paired(t, f)} {
		for range 3 {
			if got := readAll(t, r, oid); string(got[0].Data) != "still here" {
				t.Fatalf("%q", got[0].Data)
			}
			r.batch.kill()
		}
	}
}

func TestRepackedObjectsAreStillFound(t *testing.T) {
	f := fixture.New(t)
	f.Write("file", "contents")
	commit(f, "one")
	oid := OID(f.Git("rev-parse", "HEAD:file"))
	r := open(t, f)
	for range 2 {
		if got := readAll(t, r, oid); string(got[0].Data) != "contents" {
			t.Fatalf("%v", got)
		}
		f.Git("repack", "-q", "-a", "-d", "-f")
		f.Git("prune-packed", "-q")
	}
	later := blob(f, "later")
	if got := readAll(t, r, oid, later); string(got[0].Data) != "contents" || string(got[1].Data) != "later" {
		t.Errorf("%v", got)
	}
	if r.batch.starts != 1 {
		t.Errorf("git was started %d times", r.batch.starts)
	}
}

func TestCorruptObjectFailsAloneAndAfterTwoTries(t *testing.T) {
	f := fixture.New(t)
	good, bad := blob(f, "good"), blob(f, strings.Repeat("bad", 1000))
	path := filepath.Join(f.Dir, ".git", "objects", string(bad[:2]), string(bad[2:]))
	check(t, os.Chmod(path, 0o644))
	data, err := os.ReadFile(path)
	check(t, err)
	check(t, os.WriteFile(path, data[:len(data)/2], 0o644))
	r := open(t, f)
	_, err = r.Read(t.Context(), []Part{{Object{bad, "blob", 3000, nil}, 0, 3000}})
	if err == nil {
		t.Fatal("a corrupt object was read")
	}
	if got := readAll(t, r, good); string(got[0].Data) != "good" {
		t.Errorf("%q", got[0].Data)
	}
}

func TestEndedContextsDoNotDesynchronise(t *testing.T) {
	f := fixture.New(t)
	var oids []OID
	for i := range 20 {
		oids = append(oids, blob(f, strings.Repeat(fmt.Sprint(i%10), 50_000)))
	}
	r := open(t, f)
	objects, err := r.Info(t.Context(), oids)
	check(t, err)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 25 {
				at := (worker*5 + i) % len(oids)
				ctx, cancel := context.WithCancel(t.Context())
				if i%2 == 0 {
					go cancel()
				}
				got, err := r.Read(ctx, []Part{{objects[at], 0, 50_000}})
				cancelled := ctx.Err() != nil
				cancel()
				if cancelled && errors.Is(err, context.Canceled) {
					continue
				}
				if err != nil || string(got[0].Data) != strings.Repeat(fmt.Sprint(at%10), 50_000) {
					t.Errorf("object %d: %v", at, err)
				}
			}
		})
	}
	group.Wait()
	if r.batch.starts != 1 {
		t.Errorf("git was started %d times", r.batch.starts)
	}
}

func TestEndedContextOfAStreamEndsIt(t *testing.T) {
	f := fixture.New(t)
	big := strings.Repeat("x", StreamedBytesMin+1)
	r := open(t, f)
	objects, err := r.Info(t.Context(), []OID{blob(f, big)})
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Read(ctx, []Part{{objects[0], 5, 5}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if got := readAll(t, r, objects[0].OID); string(got[0].Data) != big {
		t.Error("the stream is out of step")
	}
}

func TestCloseFailsWhatComesAfter(t *testing.T) {
	f := fixture.New(t)
	oid := blob(f, "x")
	r := open(t, f)
	readAll(t, r, oid)
	r.Close()
	r.Close()
	if _, err := r.Info(t.Context(), []OID{oid}); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v", err)
	}
}
