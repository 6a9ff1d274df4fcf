package rpc_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ahprelay/ahprelay/client/rpc"
	"github.com/ahprelay/ahprelay/client/rpc/relaytest"
)

func TestOverrideInvokesOrDecorates(t *testing.T) {
	b := newBench(t, benchOptions{members: []rpc.Member{
		rpc.Override("Title", func(ctx context.Context, l *lab, text string) (string, error) {
			if text == "" {
				return "untitled", nil // without the real method
			}
			title, err := l.Title(ctx, text)
			return "<" + title + ">", err
		}),
		rpc.Override("Add", func(l *lab, ctx context.Context, a, b int) (int, error) { return l.Add(ctx, a, -b) }),
		rpc.Override("Bare", (*lab).Bare),
	}})
	for text, want := range map[string]string{"": "untitled", "abc": "<ABC>"} {
		if got, err := b.x.Title(b.ctx, text); got != want || err != nil {
			t.Error(got, err)
		}
	}
	if n, err := b.x.Add(b.ctx, 3, 2); n != 1 || err != nil {
		t.Error(n, err)
	}
	if s, err := b.x.Bare("x"); s != "x!" || err != nil {
		t.Error(s, err)
	}
}

// clock has members that cannot be called from afar as they are.
type clock struct{ hour int }

func (c *clock) Hour() int                { return c.hour }
func (c *clock) Each(f func(string))      { f("tick"); f("tock") }
func (c *clock) Zone() (string, error)    { return "", errors.New("lost") }
func (c *clock) Hand() *clock             { return c }
func (c *clock) Set(context.Context, int) {}

type Clock interface {
	rpc.Remote
	Hour(ctx context.Context) (int, error)
	Later(ctx context.Context) (int, error)
	Zone(ctx context.Context) (string, error)
	Each(ctx context.Context) ([]string, error)
	Hand(ctx context.Context) (Clock, error)
}

type clockProxy struct{ rpc.Proxy }

func (x clockProxy) Hour(ctx context.Context) (int, error) {
	return rpc.Invoke[int](ctx, x.Proxy, "Hour")
}
func (x clockProxy) Later(ctx context.Context) (int, error) {
	return rpc.Invoke[int](ctx, x.Proxy, "Later")
}
func (x clockProxy) Zone(ctx context.Context) (string, error) {
	return rpc.Invoke[string](ctx, x.Proxy, "Zone")
}
func (x clockProxy) Each(ctx context.Context) ([]string, error) {
	return rpc.Invoke[[]string](ctx, x.Proxy, "Each")
}
func (x clockProxy) Hand(ctx context.Context) (Clock, error) {
	return rpc.Invoke[Clock](ctx, x.Proxy, "Hand")
}

func TestPropertiesAndSyntheticProjections(t *testing.T) {
	ctx := relaytest.Context(t)
	c := &clock{hour: 9}
	owner := relaytest.Joined(t, "owner")
	host, err := rpc.Expose(ctx, owner, c, rpc.Adapter{Root: rpc.Bind[Clock, *clock](
		rpc.Property("Hour", nil),
		rpc.Property("Later", func(c *clock) int { return c.hour + 1 }),
		rpc.Property("Zone", (*clock).Zone),
		rpc.Synthetic("Each", func(c *clock) ([]string, error) {
			var all []string
			c.Each(func(s string) { all = append(all, s) })
			return all, nil
		}),
		rpc.Property("Hand", nil), rpc.Object("Hand"),
		rpc.Exclude("Set"),
	)})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close(ctx)
	user := relaytest.Joined(t, "user")
	found, err := user.Find(ctx, host.Service().ID())
	if err != nil {
		t.Fatal(err)
	}
	conn := rpc.NewConn(user, found)
	defer conn.Close(ctx)
	p, err := rpc.Root[Clock](conn, rpc.NewContract(rpc.Declare(func(p rpc.Proxy) Clock { return clockProxy{p} })))
	if err != nil {
		t.Fatal(err)
	}
	x := clockProxy{p}
	hour, err := x.Hour(ctx)
	if hour != 9 || err != nil {
		t.Error(hour, err)
	}
	c.hour = 10 // read anew each time
	if hour, err := x.Hour(ctx); hour != 10 || err != nil {
		t.Error(hour, err)
	}
	if later, err := x.Later(ctx); later != 11 || err != nil {
		t.Error(later, err)
	}
	if _, err := x.Zone(ctx); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Error(err)
	}
	if each, err := x.Each(ctx); err != nil || strings.Join(each, " ") != "tick tock" {
		t.Error(each, err)
	}
	hand, err := x.Hand(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if hour, err := hand.Hour(ctx); hour != 10 || err != nil {
		t.Error(hour, err)
	}
}

func TestAdapterIsCheckedAllAtOnce(t *testing.T) {
	ctx := relaytest.Context(t)
	bad := rpc.Adapter{
		Root: rpc.Bind[Lab, *lab](
			rpc.Property("Add", nil),
			rpc.Override("Echo", func(context.Context, *lab, string) (any, error) { return nil, nil }),
			rpc.Override("Items", "no function"),
			rpc.Synthetic("Title", func(*lab, string) (string, error) { return "", nil }),
			rpc.Override("Bare", func(l *shelf, s string) (string, error) { return "", nil }),
			rpc.Publish("Join", rpc.Publication[*lab, rpc.None, rpc.None, int]{}),
			rpc.Publish("Ticks", rpc.Publication[*shelf, rpc.None, string, tick]{}),
			rpc.Object("Shelf"), rpc.Object("Fresh"), rpc.Object("NoShelf"),
			rpc.Select("Room", nil, "floor"),
			rpc.Exclude("Add", "Absent"),
			rpc.Property("Nowhere", nil),
		),
		Objects: []rpc.Binding{rpc.Bind[Shelf, *shelf](rpc.Object("Lab"), rpc.Property("Name", (*shelf).Name)), rpc.Bind[Shelf, *clock]()},
	}
	_, err := rpc.Expose(ctx, nil, newLab(), bad)
	var e *rpc.ContractError
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Lab.Absent: is excluded, but *rpc_test.lab has no such method",
		"Lab.Add: is a property with parameters",
		"Lab.Add: is excluded, but the contract has it",
		"Lab.Bare: func(*rpc_test.shelf, string) (string, error) does not take a *rpc_test.lab first",
		"Lab.Echo: args[0] is interface {} in the contract, but string at the host",
		"Lab.Items: string is no function",
		"Lab.Join: a subscription is offered by Publish, and nothing else is",
		"Lab.Nowhere: the adapter has it, the contract has not",
		"Lab.Room: wants a key for each of 2 parameters, at least one",
		"Lab.Secret: *rpc_test.lab has it; it is neither in the contract nor excluded",
		"Lab.Strict: a subscription is offered by Publish, and nothing else is",
		"Lab.Ticks: publishes a *rpc_test.shelf, not a *rpc_test.lab",
		"Lab.Ticks: the filter is *rpc_test.tickFilter in the contract, but struct {} at the host",
		"Lab.Ticks: the publication wants either Open or Watch",
		"Lab.Ticks: the snapshot is int in the contract, but string at the host",
		"Lab.Title: is synthetic, but *rpc_test.lab has such a method; Override would replace it",
		"Shelf: is bound twice",
	} {
		found := false
		for _, p := range e.Problems {
			found = found || p.String() == want
		}
		if !found {
			t.Errorf("lacks %s", want)
		}
	}
	if t.Failed() {
		t.Log(err)
	}
	if _, err := rpc.Expose(ctx, nil, &clock{}, labAdapter(0)); err == nil || !strings.Contains(err.Error(), "the root is a *rpc_test.clock") {
		t.Error(err)
	}
	if _, err := rpc.Expose(ctx, nil, newLab(), rpc.Adapter{}); err == nil {
		t.Error("no error for an empty adapter")
	}
}
