package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/client/rpc"
	"github.com/ahprelay/ahprelay/client/rpc/relaytest"
	"github.com/ahprelay/ahprelay/codec"
	"github.com/goccy/go-json"
)

func TestMain(m *testing.M) { relaytest.Main(m) }

// lab is an object with everything that the tests of this package need.
type lab struct {
	shelf   *shelf
	waits   chan string // what Wait was called with
	ended   chan error  // why a Wait ended
	calls   counter
	slow    bool // a subscription to Ticks takes until its context ends
	emitter emitter
}

type shelf struct {
	lab  *lab
	name string
}

// box has objects inside.
type box struct {
	Label  string            `json:"label"`
	First  *shelf            `json:"first"`
	Others []*shelf          `json:"others"`
	Named  map[string]*shelf `json:"named"`
}

type item struct {
	Name  string    `json:"name"`
	Sizes []float64 `json:"sizes,omitempty"`
	Next  *item     `json:"next,omitempty"`
}

// Lab is the contract of a lab.
type Lab interface {
	rpc.Remote
	Add(ctx context.Context, a, b int) (int, error)
	Join(ctx context.Context, text string, times *int, more ...string) (string, error)
	Echo(ctx context.Context, v any) (any, error)
	Items(ctx context.Context, items []item) (int, error)
	Fail(ctx context.Context, how string) error
	Bad(ctx context.Context, how string) (any, error)
	Wait(ctx context.Context, name string) error
	Bare(text string) (string, error)
	Title(ctx context.Context, text string) (string, error)
	Shelf(ctx context.Context) (Shelf, error)
	Fresh(ctx context.Context) (Shelf, error)
	NoShelf(ctx context.Context) (Shelf, error)
	Box(ctx context.Context) (Box, error)
	Names(ctx context.Context, shelves []Shelf) ([]string, error)
	Room(floor int, name string) Shelf
	Ticks(ctx context.Context, filter *tickFilter) (*rpc.Subscription[int, tick], error)
	Strict(ctx context.Context) (*rpc.Subscription[rpc.None, tick], error)
}

// Shelf is the contract of a shelf.
type Shelf interface {
	rpc.Remote
	Name(ctx context.Context) (string, error)
	Lab(ctx context.Context) (Shelf, error)
}

// Box is a box as callers see it.
type Box struct {
	Label  string           `json:"label"`
	First  Shelf            `json:"first"`
	Others []Shelf          `json:"others"`
	Named  map[string]Shelf `json:"named"`
}

type tickFilter struct {
	Odd bool `json:"odd"`
}

type tick struct {
	N int     `json:"n"`
	F float64 `json:"f,omitempty"`
	S string  `json:"s,omitempty"`
}

var contract = rpc.NewContract(
	rpc.Declare(func(p rpc.Proxy) Lab { return labProxy{p} }),
	rpc.Declare(func(p rpc.Proxy) Shelf { return shelfProxy{p} }),
)

type labProxy struct{ rpc.Proxy }
type shelfProxy struct{ rpc.Proxy }

func (x labProxy) Add(ctx context.Context, a, b int) (int, error) {
	return rpc.Invoke[int](ctx, x.Proxy, "Add", a, b)
}
func (x labProxy) Join(ctx context.Context, text string, times *int, more ...string) (string, error) {
	return rpc.Invoke[string](ctx, x.Proxy, "Join", text, times, more)
}
func (x labProxy) Echo(ctx context.Context, v any) (any, error) {
	return rpc.Invoke[any](ctx, x.Proxy, "Echo", v)
}
func (x labProxy) Items(ctx context.Context, items []item) (int, error) {
	return rpc.Invoke[int](ctx, x.Proxy, "Items", items)
}
func (x labProxy) Fail(ctx context.Context, how string) error {
	return rpc.Do(ctx, x.Proxy, "Fail", how)
}
func (x labProxy) Bad(ctx context.Context, how string) (any, error) {
	return rpc.Invoke[any](ctx, x.Proxy, "Bad", how)
}
func (x labProxy) Wait(ctx context.Context, name string) error {
	return rpc.Do(ctx, x.Proxy, "Wait", name)
}
func (x labProxy) Bare(text string) (string, error) {
	return rpc.Invoke[string](context.Background(), x.Proxy, "Bare", text)
}
func (x labProxy) Title(ctx context.Context, text string) (string, error) {
	return rpc.Invoke[string](ctx, x.Proxy, "Title", text)
}
func (x labProxy) Shelf(ctx context.Context) (Shelf, error) {
	return rpc.Invoke[Shelf](ctx, x.Proxy, "Shelf")
}
func (x labProxy) Fresh(ctx context.Context) (Shelf, error) {
	return rpc.Invoke[Shelf](ctx, x.Proxy, "Fresh")
}
func (x labProxy) NoShelf(ctx context.Context) (Shelf, error) {
	return rpc.Invoke[Shelf](ctx, x.Proxy, "NoShelf")
}
func (x labProxy) Box(ctx context.Context) (Box, error) {
	return rpc.Invoke[Box](ctx, x.Proxy, "Box")
}
func (x labProxy) Names(ctx context.Context, shelves []Shelf) ([]string, error) {
	return rpc.Invoke[[]string](ctx, x.Proxy, "Names", shelves)
}
func (x labProxy) Room(floor int, name string) Shelf {
	return shelfProxy{x.Select("Room", "floor", floor, "name", name)}
}
func (x labProxy) Ticks(ctx context.Context, filter *tickFilter) (*rpc.Subscription[int, tick], error) {
	return rpc.Subscribe[int, tick](ctx, x.Proxy, "Ticks", filter)
}
func (x labProxy) Strict(ctx context.Context) (*rpc.Subscription[rpc.None, tick], error) {
	return rpc.Subscribe[rpc.None, tick](ctx, x.Proxy, "Strict")
}
func (x shelfProxy) Name(ctx context.Context) (string, error) {
	return rpc.Invoke[string](ctx, x.Proxy, "Name")
}
func (x shelfProxy) Lab(ctx context.Context) (Shelf, error) {
	return rpc.Invoke[Shelf](ctx, x.Proxy, "Lab")
}

func newLab() *lab {
	l := &lab{waits: make(chan string, 64), ended: make(chan error, 64)}
	l.shelf = &shelf{lab: l, name: "upper"}
	return l
}

func (l *lab) Add(_ context.Context, a, b int) (int, error) { l.calls.add(); return a + b, nil }

func (l *lab) Join(_ context.Context, text string, times *int, more ...string) (string, error) {
	n := 1
	if times != nil {
		n = *times
	}
	return strings.Repeat(text, n) + strings.Join(more, ""), nil
}

func (l *lab) Echo(_ context.Context, v any) (any, error) { l.calls.add(); return v, nil }

func (l *lab) Items(_ context.Context, items []item) (int, error) { return len(items), nil }

func (l *lab) Fail(_ context.Context, how string) error {
	switch how {
	case "coded":
		return &client.Error{Code: 17, Message: "no luck", Data: json.RawMessage(`{"tries":3}`)}
	case "forged":
		return &client.Error{Code: codec.CodeNotFound, Message: "not ours", Data: json.RawMessage(`{"$rpc":{"error":"target"}}`)}
	case "panic":
		panic("as asked")
	}
	return errors.New(how)
}

func (l *lab) Bad(_ context.Context, how string) (any, error) {
	switch how {
	case "nan":
		return map[string]any{"deep": []any{1, math.NaN()}}, nil
	case "func":
		return []any{func() {}}, nil
	case "reserved":
		return map[string]any{"a": map[string]any{"$rpc": 1}}, nil
	}
	type ring struct {
		Next *ring `json:"next"`
	}
	r := &ring{}
	r.Next = r
	return r, nil
}

func (l *lab) Wait(ctx context.Context, name string) error {
	l.waits <- name
	<-ctx.Done()
	l.ended <- context.Cause(ctx)
	return ctx.Err()
}

func (l *lab) Bare(text string) (string, error) { return text + "!", nil }
func (l *lab) Title(_ context.Context, text string) (string, error) {
	return strings.ToUpper(text), nil
}
func (l *lab) Shelf(context.Context) (*shelf, error)   { return l.shelf, nil }
func (l *lab) Fresh(context.Context) (*shelf, error)   { return &shelf{lab: l, name: "fresh"}, nil }
func (l *lab) NoShelf(context.Context) (*shelf, error) { return nil, nil }
func (l *lab) Secret(context.Context) (string, error)  { return "secret", nil }
func (l *lab) Room(floor int, name string) *shelf {
	if floor < 0 {
		return nil
	}
	return &shelf{name: fmt.Sprint(name, "@", floor)}
}

func (l *lab) Box(context.Context) (box, error) {
	other := &shelf{lab: l, name: "lower"}
	return box{Label: "b", First: l.shelf, Others: []*shelf{other, nil, l.shelf}, Named: map[string]*shelf{"x": other}}, nil
}

func (l *lab) Names(_ context.Context, shelves []*shelf) ([]string, error) {
	names := []string{}
	for _, s := range shelves {
		if s == nil {
			names = append(names, "-")
			continue
		}
		names = append(names, s.name)
	}
	return names, nil
}

func (s *shelf) Name(context.Context) (string, error) { return s.name, nil }
func (s *shelf) Lab(context.Context) (*shelf, error)  { return s.lab.shelf, nil }

// emitter emits numbers to whoever watches. Its state is the newest one.
type emitter struct {
	mu       sync.Mutex
	n        int
	watchers map[*watcher]bool
}

type watcher struct {
	filter tickFilter
	emit   func(context.Context, tick)
}

// open installs a watcher and takes the snapshot in one step.
func (e *emitter) open(filter *tickFilter, emit func(context.Context, tick)) (int, func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	w := &watcher{emit: emit}
	if filter != nil {
		w.filter = *filter
	}
	if e.watchers == nil {
		e.watchers = map[*watcher]bool{}
	}
	e.watchers[w] = true
	return e.n, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.watchers, w)
	}
}

func (e *emitter) tick(ctx context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.n++
	for w := range e.watchers {
		if !w.filter.Odd || e.n%2 == 1 {
			w.emit(ctx, tick{N: e.n})
		}
	}
}

// send emits a tick that is not counted.
func (e *emitter) send(ctx context.Context, t tick) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for w := range e.watchers {
		w.emit(ctx, t)
	}
}

func (e *emitter) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.watchers)
}

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add() { c.mu.Lock(); c.n++; c.mu.Unlock() }
func (c *counter) get() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// labAdapter offers a lab; the members of a test come first.
func labAdapter(buffer int, members ...rpc.Member) rpc.Adapter {
	open := func(ctx context.Context, l *lab, filter *tickFilter, emit func(context.Context, tick)) (int, func(), error) {
		n, stop := l.emitter.open(filter, emit)
		if l.slow {
			l.waits <- "open"
			<-ctx.Done()
			return 0, stop, ctx.Err()
		}
		return n, stop, nil
	}
	watch := func(_ context.Context, l *lab, _ rpc.None, emit func(context.Context, tick)) (func(), error) {
		_, stop := l.emitter.open(nil, emit)
		return stop, nil
	}
	return rpc.Adapter{
		Metadata: map[string]any{"protocol": "lab"},
		Root: rpc.Bind[Lab, *lab](append(members,
			rpc.Object("Shelf"), rpc.Object("Fresh"), rpc.Object("NoShelf"), rpc.Object("Box"),
			rpc.Select("Room", nil, "floor", "name"),
			rpc.Publish("Ticks", rpc.Publication[*lab, *tickFilter, int, tick]{Open: open, Buffer: buffer}),
			rpc.Publish("Strict", rpc.Publication[*lab, rpc.None, rpc.None, tick]{Watch: watch, Buffer: buffer, Overflow: rpc.EndSlow}),
			rpc.Exclude("Secret"))...),
		Objects: []rpc.Binding{rpc.Bind[Shelf, *shelf](rpc.Object("Lab"))},
	}
}

// bench is a lab that is offered, and a caller of it.
type bench struct {
	t     testing.TB
	ctx   context.Context
	lab   *lab
	host  *rpc.Host
	owner *client.Client // of the host
	user  *client.Client
	conn  *rpc.Conn
	x     Lab
}

type benchOptions struct {
	host, user []rpc.Option
	hostClient []client.Option
	userClient []client.Option
	hostURL    string // "" is the shared relay
	userURL    string
	buffer     int
	members    []rpc.Member
}

// newBench exposes a lab of its own and connects a user to it.
func newBench(t testing.TB, o benchOptions) *bench {
	t.Helper()
	b := &bench{t: t, ctx: relaytest.Context(t), lab: newLab()}
	url, err := relaytest.Shared()
	if err != nil {
		t.Fatal(err)
	}
	b.owner = relaytest.Dial(t, or(o.hostURL, url), "host", o.hostClient...)
	if b.host, err = rpc.Expose(b.ctx, b.owner, b.lab, labAdapter(o.buffer, o.members...), o.host...); err != nil {
		t.Fatal(err)
	}
	b.user = relaytest.Dial(t, or(o.userURL, url), "user", o.userClient...)
	b.conn, b.x = b.connect(b.user, o.user...)
	t.Cleanup(func() {
		ctx := relaytest.Context(t)
		if err := b.conn.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := b.host.Close(ctx); err != nil && !errors.Is(err, client.ErrDisconnected) && !errors.Is(err, client.ErrClosed) {
			t.Error(err)
		}
		if s, o, r, p := b.host.Holds(); s+o+r+p+b.lab.emitter.count() != 0 {
			t.Errorf("left: %d sessions, %d objects, %d references, %d subscriptions, %d watchers", s, o, r, p, b.lab.emitter.count())
		}
	})
	return b
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// connect makes another caller of the same lab.
func (b *bench) connect(c *client.Client, opts ...rpc.Option) (*rpc.Conn, Lab) {
	b.t.Helper()
	info := client.ServiceInfo{ID: b.host.Service().ID(), ClientID: b.owner.ClientID()}
	conn := rpc.NewConn(c, info, opts...)
	p, err := rpc.Root[Lab](conn, contract)
	if err != nil {
		b.t.Fatal(err)
	}
	return conn, labProxy{p}
}

// raw sends a hand-made request to the host.
func (b *bench) raw(c *client.Client, method, params string) (string, error) {
	result, err := client.Call[json.RawMessage](b.ctx, c, b.host.Service().ID(), method, json.RawMessage(params))
	return string(result), err
}
