package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/ahprelay/ahprelay/client/rpc"
	"github.com/ahprelay/ahprelay/client/rpc/harness"
)

type halfMade struct{}

func (halfMade) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

type reader interface{ Read([]byte) (int, error) }

type nonJSON interface {
	Fine(ctx context.Context, s string, m map[string][]*item, t time.Time, raw json.RawMessage, x any) (time.Duration, error)
	Callback(ctx context.Context, f func()) error
	Channel(ctx context.Context) (chan int, error)
	Complex(ctx context.Context, a int, c []complex128) error
	Keys(ctx context.Context, m map[int]string) error
	Methods(ctx context.Context, r reader) (reader, error)
	Nested(ctx context.Context, v struct {
		Items []struct {
			Do func() `json:"do"`
		} `json:"items"`
	}) error
	Pointer(ctx context.Context, p unsafe.Pointer) error
	HalfMade(ctx context.Context, h halfMade) error
	NoError(ctx context.Context) string
	TooMany(ctx context.Context) (int, string, error)
	LateContext(ctx context.Context, a int, later context.Context) error
	Quoted(ctx context.Context) (struct {
		N int `json:"n,string"`
	}, error)
	Reserved(ctx context.Context) (struct {
		R int `json:"$rpc"`
	}, error)
	Embedded(ctx context.Context) (struct{ *halfMadeParts }, error)
	hidden()
}

type halfMadeParts struct{ N int }

func TestNonJSONMembersRejectedStaticallyAllAtOnce(t *testing.T) {
	err := rpc.Check[nonJSON]()
	want := strings.TrimPrefix(`
nonJSON.Callback: args[0]: func() is no JSON value
nonJSON.Channel: result: chan int is no JSON value
nonJSON.Complex: args[1][]: complex128 is no JSON value
nonJSON.Embedded: result: it embeds a pointer to the unexported halfMadeParts, which cannot be read back
nonJSON.HalfMade: args[0]: rpc_test.halfMade makes its own JSON, which it cannot read back
nonJSON.Keys: args[0]: map[int]string has keys that are no strings
nonJSON.LateContext: args[1]: context.Context is an interface with methods
nonJSON.Methods: args[0]: rpc_test.reader is an interface with methods
nonJSON.Methods: result: rpc_test.reader is an interface with methods
nonJSON.Nested: args[0].items[].do: func() is no JSON value
nonJSON.NoError: does not return an error last
nonJSON.Pointer: args[0]: unsafe.Pointer is no JSON value
nonJSON.Quoted: result: the field N has the option string, which is not supported
nonJSON.Reserved: result: the field R has the reserved name $rpc
nonJSON.TooMany: returns more than one result and an error
nonJSON.hidden: is not exported
`, "\n")
	var e *rpc.ContractError
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	got := ""
	for _, p := range e.Problems {
		got += p.String() + "\n"
	}
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestEscapesAreExempt(t *testing.T) {
	if err := rpc.Check[harness.AgentLane]("Name", "Transcript", "RunWhenIdle"); err != nil {
		t.Error(err)
	}
	err := rpc.Check[harness.AgentLane]("Name", "Transcript", "RunWhenIdle", "Jump")
	if err == nil || !strings.Contains(err.Error(), "AgentLane.Jump: an escape for a method that is not there") {
		t.Error(err)
	}
	if err := rpc.Check[item](); err == nil || !strings.Contains(err.Error(), "rpc_test.item is no interface") {
		t.Error(err)
	}
}

type crowded interface {
	ID(ctx context.Context) (string, error)
	Id(ctx context.Context) (string, error)
}

type oddForms interface {
	rpc.Remote
	Feed() (*rpc.Subscription[func(), chan int], error)
	Pick(ctx context.Context, at time.Time) Shelf
	Stream(ctx context.Context, a, b int) (*rpc.Subscription[Shelf, int], error)
}

func TestFormsAreChecked(t *testing.T) {
	for want, err := range map[string]error{
		"crowded.Id: has the same name on the wire as ID: id":                                      rpc.Check[crowded](),
		"oddForms.Feed: is a subscription without a context":                                       rpc.Check[oddForms](),
		"oddForms.Feed: snapshot: func() is no JSON value":                                         rpc.Check[oddForms](),
		"oddForms.Feed: event: chan int is no JSON value":                                          rpc.Check[oddForms](),
		"oddForms.Pick: is a selector with a context, but sends nothing":                           rpc.Check[oddForms](),
		"oddForms.Pick: args[0]: time.Time cannot select: only strings, integers and booleans can": rpc.Check[oddForms](),
		"oddForms.Stream: is a subscription with more than one filter":                             rpc.Check[oddForms](),
		"oddForms.Stream: snapshot: rpc_test.Shelf is a remote object, which cannot stand here":    rpc.Check[oddForms](),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s, got %v", want, err)
		}
	}
}

type selecting interface {
	rpc.Remote
	Self(ctx context.Context) (selecting, error)
	Part(name string) Shelf
}

func TestContractsAreCheckedTogether(t *testing.T) {
	c := rpc.NewContract(rpc.Declare(func(rpc.Proxy) selecting { return nil }))
	_, err := rpc.Root[selecting](nil, c)
	for _, want := range []string{
		"selecting.Part: result: rpc_test.Shelf is not in the contract",
		"selecting.Self: result: rpc_test.selecting has selectors, so it must be reached by a selector, not by a reference",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s, got %v", want, err)
		}
	}
	if err := contract.Check(); err != nil {
		t.Error(err)
	}
}

func TestWireNames(t *testing.T) {
	for name, want := range map[string]string{
		"Lane": "lane", "CreateLane": "createLane", "ID": "id", "IDGenerator": "idGenerator",
		"HTTPServer": "httpServer", "GetURL": "getURL", "A": "a", "AB": "ab", "ABc": "aBc", "X2": "x2", "Élan": "élan",
	} {
		if got := rpc.WireName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
