package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-json"

	"github.com/ahprelay/ahprelay/client"
)

func TestPrintable(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"plain é 你", "plain é 你"}, {"\x1b[31m", `\u001b[31m`}, {"a\u009bb\x7f", `a\u009bb\u007f`}, {"\u202e\u2066", `\u202e\u2066`}, {"a\t\r\n", "a\t\r\n"},
	} {
		if got := printable(tc.in); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.in, got, tc.want)
		}
	}
	if got := cell("a\tb\nc\rd\x1b"); got != `a\tb\nc\rd\u001b` {
		t.Errorf("%q", got)
	}
	if got := metadataCell(json.RawMessage("{ \"a\":\t\"<\u0085>\" }")); got != `{"a":"<\u0085>"}` {
		t.Errorf("%q", got)
	}
}

func TestLastLine(t *testing.T) {
	for _, tc := range []struct {
		writes []string
		want   string
	}{
		{nil, ""}, {[]string{"\n \n"}, ""}, {[]string{"a\n"}, "a"}, {[]string{"a\nb"}, "b"}, {[]string{"a\nb\n\n  \n"}, "b"},
		{[]string{"a\nb", "c\n"}, "bc"}, {[]string{"a", "\n", "\n"}, "a"}, {[]string{" x\xff y "}, "x\ufffd y"},
		{[]string{strings.Repeat("x", 2000), "y\n"}, strings.Repeat("x", 1024)},
	} {
		l := &lastLine{}
		for _, w := range tc.writes {
			if n, err := l.Write([]byte(w)); n != len(w) || err != nil {
				t.Errorf("%d, %v", n, err)
			}
		}
		if got := l.text(); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.writes, got, tc.want)
		}
	}
}

func TestHead(t *testing.T) {
	h := &head{max: 3}
	for _, w := range []string{"[", "1]"} {
		if n, err := h.Write([]byte(w)); n != len(w) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if got, err := h.result(); err != nil || string(got.(json.RawMessage)) != "[1]" {
		t.Errorf("%v, %v", got, err)
	}
	if n, err := h.Write([]byte(" ")); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := h.result(); err == nil || err.Error() != "the command printed more than 3 bytes (-32603)" {
		t.Errorf("%v", err)
	}
}

// TestWatcherAfterGap: a second snapshot is printed as the changes that lead to it.
func TestWatcherAfterGap(t *testing.T) {
	var out bytes.Buffer
	w := &watcher{out: &out, known: map[string]client.ServiceInfo{}}
	info := func(id, metadata string) client.ServiceInfo {
		return client.ServiceInfo{ID: id, ClientID: "c", Metadata: json.RawMessage(metadata)}
	}
	for _, ev := range []client.CatalogEvent{
		{Kind: client.CatalogSnapshot, Services: []client.ServiceInfo{info("a", "{}"), info("b", "{}"), info("c", "{}")}},
		{Kind: client.ServiceSet, Service: info("a", "{}")},
		{Kind: client.ServiceRemoved, Service: info("x", "{}")},
		{Kind: client.CatalogSnapshot, Services: []client.ServiceInfo{info("c", `{"n":1}`), info("d", "{}")}},
		{Kind: client.ServiceSet, Service: info("d", `{"n":2}`)},
		{Kind: client.ServiceRemoved, Service: info("c", "")},
	} {
		if err := w.apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	want := "+ a c {}\n+ b c {}\n+ c c {}\n- a c {}\n- b c {}\n~ c c {\"n\":1}\n+ d c {}\n~ d c {\"n\":2}\n- c c {\"n\":1}\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	if len(w.known) != 1 || len(w.order) != 1 {
		t.Errorf("%v, %v", w.known, w.order)
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 64 << 20: "64.0 MiB", 1 << 50: "1024.0 TiB"} {
		if got := size(bytes); got != want {
			t.Errorf("%d: %s, want %s", bytes, got, want)
		}
	}
}

func TestAnswered(t *testing.T) {
	before := time.Now()
	ctx, cancel := answered(context.Background(), time.Hour)
	told, _ := ctx.Deadline()
	ends, _ := ctx.(patient).Context.Deadline()
	if told.Before(before.Add(time.Hour)) || ends.Sub(told) != 2*time.Second {
		t.Errorf("%v, %v", told, ends)
	}
	cancel()
	if ctx.Err() != context.Canceled {
		t.Error(ctx.Err())
	}
}
