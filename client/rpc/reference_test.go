package rpc_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/client/rpc"
	"github.com/ahprelay/ahprelay/client/rpc/relaytest"
	"github.com/goccy/go-json"
)

// holds checks what the host holds.
func (b *bench) holds(sessions, objects, references, subscriptions int) {
	b.t.Helper()
	s, o, r, p := b.host.Holds()
	if s != sessions || o != objects || r != references || p != subscriptions {
		b.t.Errorf("holds %d sessions, %d objects, %d references, %d subscriptions; want %d, %d, %d, %d",
			s, o, r, p, sessions, objects, references, subscriptions)
	}
}

func TestReferencesHaveStableIdentity(t *testing.T) {
	b := newBench(t, benchOptions{})
	first, err := b.x.Shelf(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.x.Shelf(b.ctx)
	if err != nil || first != second {
		t.Error(first, second, err)
	}
	back, err := first.Lab(b.ctx) // a method of a reference that returns a reference
	if err != nil || back != first {
		t.Error(back, err)
	}
	fresh, err := b.x.Fresh(b.ctx)
	if err != nil || fresh == first {
		t.Error(fresh, err)
	}
	if id := first.Identity(); id.Interface != "Shelf" || id.ID == "" || id.Selector != "" {
		t.Error(id)
	}
	if name, err := first.Name(b.ctx); name != "upper" || err != nil {
		t.Error(name, err)
	}
	b.holds(1, 2, 4, 0)
}

func TestNestedReferences(t *testing.T) {
	b := newBench(t, benchOptions{})
	got, err := b.x.Box(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got.Label != "b" || len(got.Others) != 3 || got.Others[1] != nil || got.Others[2] != got.First || got.Named["x"] != got.Others[0] || got.First == got.Others[0] {
		t.Errorf("%+v", got)
	}
	b.holds(1, 2, 4, 0)
	names, err := b.x.Names(b.ctx, append(got.Others, got.First))
	if err != nil || !slices.Equal(names, []string{"lower", "-", "upper", "upper"}) {
		t.Error(names, err)
	}
}

func TestOptionalObjects(t *testing.T) {
	b := newBench(t, benchOptions{})
	if s, err := b.x.NoShelf(b.ctx); s != nil || err != nil {
		t.Error(s, err)
	}
	b.holds(1, 0, 0, 0)
}

func TestEveryGrantIsReleased(t *testing.T) {
	b := newBench(t, benchOptions{})
	s, err := b.x.Shelf(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.x.Shelf(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.holds(1, 1, 2, 0)
	if err := s.Release(b.ctx); err != nil {
		t.Error(err)
	}
	b.holds(1, 1, 1, 0)
	if name, err := s.Name(b.ctx); name != "upper" || err != nil { // the other grant
		t.Error(name, err)
	}
	if err := s.Release(b.ctx); err != nil {
		t.Error(err)
	}
	b.holds(1, 0, 0, 0)
	if _, err := s.Name(b.ctx); !errors.Is(err, rpc.ErrTarget) || !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	if err := s.Release(b.ctx); !errors.Is(err, rpc.ErrTarget) {
		t.Error(err)
	}
	again, err := b.x.Shelf(b.ctx)
	if err != nil || again == s {
		t.Error("an id was used twice", again, err)
	}
}

func TestAnswerThatIsNotSentGrantsNothing(t *testing.T) {
	b := newBench(t, benchOptions{members: []rpc.Member{rpc.Override("Shelf", func(l *lab) (*shelf, error) {
		return l.shelf, errors.New("after all, no")
	})}})
	if _, err := b.x.Shelf(b.ctx); err == nil {
		t.Error("no error")
	}
	b.holds(1, 0, 0, 0)
	large := make([]*shelf, 20000) // whose references do not fit a frame
	for i := range large {
		large[i] = &shelf{}
	}
	b = newBench(t, benchOptions{members: []rpc.Member{rpc.Override("Box", func(*lab) (box, error) {
		return box{Others: large}, nil
	})}})
	_, err := b.x.Box(b.ctx)
	wantValue(t, err, "result", "frameBytes")
	b.holds(1, 0, 0, 0)
}

func TestReferenceFromAnotherConnectionRefused(t *testing.T) {
	b := newBench(t, benchOptions{})
	s, err := b.x.Shelf(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	other := relaytest.Joined(t, "other")
	conn, x := b.connect(other)
	defer conn.Close(b.ctx)
	mine, err := x.Shelf(b.ctx)
	if err != nil || mine == s {
		t.Fatal(mine, err)
	}
	b.holds(2, 2, 2, 0)
	if _, err := x.Names(b.ctx, []Shelf{mine, s}); err == nil || !strings.Contains(err.Error(), "args[0][1]: a reference of another connection") {
		t.Error(err)
	}
	ref := `{"id":"` + s.Identity().ID + `","interface":"Shelf"}`
	for method, params := range map[string]string{
		"name":         `{"target":` + ref + `,"args":[]}`,
		"names":        `{"args":[[{"$rpc":{"ref":` + ref + `}}]]}`,
		"$rpc/release": `{"id":"` + s.Identity().ID + `"}`,
	} {
		for _, c := range []*client.Client{other, relaytest.Joined(t, "third")} { // with a session and without
			_, err := b.raw(c, method, params)
			if !errors.Is(err, client.ErrNotFound) && !(method == "$rpc/release" && errors.Is(err, client.ErrInvalidRequest)) {
				t.Errorf("%s: %v", method, err)
			}
		}
	}
	wrong := `{"id":"` + s.Identity().ID + `","interface":"Lab"}` // the right session, another interface
	if _, err := b.raw(b.user, "add", `{"target":`+wrong+`,"args":[1,2]}`); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	if name, err := s.Name(b.ctx); name != "upper" || err != nil {
		t.Error(name, err)
	}
}

func TestSelectorsAreDeterministic(t *testing.T) {
	var sent wire
	b := newBench(t, benchOptions{userClient: []client.Option{sent.option()}})
	room := b.x.Room(3, "tea")
	if room != b.x.Room(3, "tea") || room == b.x.Room(4, "tea") {
		t.Error("equal selections are not equal")
	}
	if id := room.Identity(); id.Selector != `{"floor":3,"name":"tea"}` || id.Interface != "Shelf" {
		t.Error(id)
	}
	if name, err := room.Name(b.ctx); name != "tea@3" || err != nil {
		t.Error(name, err)
	}
	want := `"params":{"target":{"selector":{"floor":3,"name":"tea"},"interface":"Shelf"},"args":[]}`
	if calls := sent.with(`"method":"name"`); len(calls) != 1 || !strings.Contains(calls[0], want) {
		t.Error(calls)
	}
	if _, err := b.x.Room(-1, "x").Name(b.ctx); !errors.Is(err, rpc.ErrTarget) {
		t.Error(err)
	}
	if err := room.Release(b.ctx); err != nil {
		t.Error(err)
	}
	if _, err := b.x.Names(b.ctx, []Shelf{room}); err == nil || !strings.Contains(err.Error(), "args[0][0]: an object that was not returned by reference") {
		t.Error(err)
	}
	if b.conn.SessionID() != "" {
		t.Error("selectors opened a session")
	}
}

func TestSessionIsCheckedAgainstTheCatalogue(t *testing.T) {
	b := newBench(t, benchOptions{})
	if _, err := b.x.Shelf(b.ctx); err != nil {
		t.Fatal(err)
	}
	other := relaytest.Joined(t, "other")
	for _, session := range []string{b.conn.SessionID(), "no-such-service", b.host.Service().ID()} {
		_, err := b.raw(other, "$rpc/open", `{"session":`+quoted(session)+`}`)
		var e *client.Error
		if !errors.As(err, &e) || string(e.Data) != `{"$rpc":{"error":"session"}}` {
			t.Errorf("%s: %v", session, err)
		}
	}
	if _, err := b.raw(other, "shelf", `{"args":[]}`); !errors.Is(err, client.ErrInvalidRequest) {
		t.Error("references without a session:", err)
	}
	if _, err := b.raw(other, "$rpc/subscribe", `{"member":"ticks","window":1}`); !errors.Is(err, client.ErrInvalidRequest) {
		t.Error("a subscription without a session:", err)
	}
	if got, err := b.raw(b.user, "$rpc/open", `{"session":`+quoted(b.conn.SessionID())+`}`); got != "null" || err != nil {
		t.Error("opening again:", got, err)
	}
	conn, x := b.connect(b.user)
	defer conn.Close(b.ctx)
	if _, err := x.Shelf(b.ctx); !errors.Is(err, rpc.ErrSession) || !strings.Contains(err.Error(), "share its Conn") {
		t.Error(err)
	}
	b.holds(1, 1, 1, 0)
}

func TestSessionWithoutServiceEndsAtTheNextCall(t *testing.T) {
	b := newBench(t, benchOptions{})
	c := relaytest.Joined(t, "hand")
	s, err := c.Register(b.ctx, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.raw(c, "$rpc/open", `{"session":`+quoted(s.ID())+`}`); err != nil {
		t.Fatal(err)
	}
	raw, err := b.raw(c, "shelf", `{"args":[]}`)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		RPC struct {
			Ref struct{ ID, Interface string } `json:"ref"`
		} `json:"$rpc"`
	}
	if err := json.Unmarshal([]byte(raw), &answer); err != nil || answer.RPC.Ref.Interface != "Shelf" {
		t.Fatal(raw, err)
	}
	target := `{"target":{"id":"` + answer.RPC.Ref.ID + `","interface":"Shelf"},"args":[]}`
	if got, err := b.raw(c, "name", target); got != `"upper"` || err != nil {
		t.Error(got, err)
	}
	if err := s.Unregister(b.ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := b.raw(c, "name", target); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	relaytest.Eventually(t, "the host holds nothing", func() bool { s, _, _, _ := b.host.Holds(); return s == 0 })
}
