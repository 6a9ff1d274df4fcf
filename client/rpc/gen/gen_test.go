package gen_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahprelay/ahprelay/client/rpc/gen"
)

// source writes a package of one file, which is what follows its imports.
func source(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	text = "package p\n\nimport (\n\t\"context\"\n\ttm \"time\"\n\n\t\"github.com/ahprelay/ahprelay/client/rpc\"\n)\n\nvar _ tm.Time\n" + text
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestEveryForm(t *testing.T) {
	dir := source(t, `
type HTTPRoot interface {
	rpc.Remote
	common
	Call(context.Context, int, ...string) (tm.Time, error)
	Pair(ctx context.Context, x, xx *int) error
	Bare(s string) (r map[string][]tm.Time, err error)
	Ref(c context.Context) ([]Leaf, error)
	Pick(id string, n int) Leaf
	Feed(ctx context.Context, f func()) (*rpc.Subscription[rpc.None, tm.Duration], error)
}

type common interface{ Ping(ctx context.Context) error }

type Leaf interface{ rpc.Remote }
`)
	// Neither an older file nor tests are read.
	for name, text := range map[string]string{"proxy.go": gen.Header + "nonsense", "p_test.go": "nonsense"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := gen.Generate(dir, "HTTPRoot", "Leaf")
	if err != nil {
		t.Fatal(err)
	}
	want := gen.Header + `
package p

import (
	"context"
	tm "time"

	"github.com/ahprelay/ahprelay/client/rpc"
)

// Contract is what the interfaces of this package amount to, for callers.
var Contract = rpc.NewContract(
	rpc.Declare(func(p rpc.Proxy) HTTPRoot { return httpRootProxy{p} }),
	rpc.Declare(func(p rpc.Proxy) Leaf { return leafProxy{p} }),
)

// NewHTTPRoot returns the root object of the host that conn calls.
func NewHTTPRoot(conn *rpc.Conn) (HTTPRoot, error) {
	p, err := rpc.Root[HTTPRoot](conn, Contract)
	if err != nil {
		return nil, err
	}
	return httpRootProxy{p}, nil
}

type httpRootProxy struct{ rpc.Proxy }

func (x httpRootProxy) Ping(ctx context.Context) error {
	return rpc.Do(ctx, x.Proxy, "Ping")
}

func (x httpRootProxy) Call(a0 context.Context, a1 int, a2 ...string) (tm.Time, error) {
	return rpc.Invoke[tm.Time](a0, x.Proxy, "Call", a1, a2)
}

func (xxx httpRootProxy) Pair(ctx context.Context, x *int, xx *int) error {
	return rpc.Do(ctx, xxx.Proxy, "Pair", x, xx)
}

func (x httpRootProxy) Bare(s string) (map[string][]tm.Time, error) {
	return rpc.Invoke[map[string][]tm.Time](context.Background(), x.Proxy, "Bare", s)
}

func (x httpRootProxy) Ref(c context.Context) ([]Leaf, error) {
	return rpc.Invoke[[]Leaf](c, x.Proxy, "Ref")
}

func (x httpRootProxy) Pick(id string, n int) Leaf {
	return leafProxy{x.Proxy.Select("Pick", "id", id, "n", n)}
}

func (x httpRootProxy) Feed(ctx context.Context, f func()) (*rpc.Subscription[rpc.None, tm.Duration], error) {
	return rpc.Subscribe[rpc.None, tm.Duration](ctx, x.Proxy, "Feed", f)
}

type leafProxy struct{ rpc.Proxy }
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWhatCannotBeGenerated(t *testing.T) {
	for text, want := range map[string]string{
		"type Root struct{}":                               "has no interface Root",
		"type Root interface{ tm.Stringer }":               "embeds tm.Stringer, which is not of its package",
		"type Root interface{ Other }":                     "embeds Other, which is no interface of its package",
		"type Root interface{ int | string }":              "has an element that is no method",
		"type Root interface{ F() }":                       "Root.F wants to return an error",
		"type Root interface{ F(context.Context) string }": "Root.F wants to return an error",
		"type Root interface{ F() (int, int, error) }":     "Root.F wants to return an error",
		"type Root interface{ F(":                          "expected",
	} {
		if _, err := gen.Generate(source(t, text), "Root"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := gen.Generate("."); err == nil {
		t.Error("no error without names")
	}
}
