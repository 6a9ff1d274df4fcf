package rpc

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

type Base struct {
	ID     string `json:"id"`
	Hidden int    `json:"hidden"`
	Both   int
}

type Deeper struct{ Base }

type rival struct {
	Both int
	Loud string `json:"loud"`
}

type upper string

func (u upper) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(string(u))), nil }

func (u *upper) UnmarshalText(b []byte) error { *u = upper(strings.ToLower(string(b))); return nil }

type pair struct{ a, b int }

func (p *pair) MarshalJSON() ([]byte, error) { return json.Marshal([]int{p.a, p.b}) }

func (p *pair) UnmarshalJSON(raw []byte) error {
	var l []int
	if err := json.Unmarshal(raw, &l); err != nil || len(l) != 2 {
		return err
	}
	p.a, p.b = l[0], l[1]
	return nil
}

type everything struct {
	Deeper
	rival
	Hidden  string            `json:"hidden"` // hides the one below
	Skipped func()            `json:"-"`
	Empty   []int             `json:"empty,omitempty"`
	Zero    time.Time         `json:"zero,omitzero"`
	At      time.Time         `json:"at"`
	Upper   upper             `json:"upper"`
	Pair    pair              `json:"pair"`
	PairP   *pair             `json:"pairP"`
	Raw     json.RawMessage   `json:"raw"`
	Number  json.Number       `json:"number"`
	Bytes   []byte            `json:"bytes"`
	Array   [2]uint8          `json:"array"`
	Nil     []string          `json:"nil"`
	Map     map[string]*Base  `json:"map"`
	Named   map[upperKey]int8 `json:"named"`
	Any     any               `json:"any"`
	Float32 float32           `json:"float32"`
	Uint    uint64            `json:"uint"`
	Int     int64             `json:"int"`
	Bool    *bool             `json:"bool"`
	Next    *everything       `json:"next,omitempty"`
	private int
}

type upperKey string

func full() *everything {
	yes := true
	return &everything{
		Deeper: Deeper{Base{ID: "i", Hidden: 1, Both: 2}}, Hidden: "h",
		At: time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC), Upper: "up", Pair: pair{1, 2}, PairP: &pair{3, 4},
		Raw: json.RawMessage(`{"a": [1.50, "<\u00e9>"]}`), Number: "1e3", Bytes: []byte("bytes"), Array: [2]uint8{7, 8},
		Map: map[string]*Base{"b": nil, "a": {ID: "x"}}, Named: map[upperKey]int8{"k": -1},
		Any: []any{1.5, "s", nil, map[string]any{"x": true}}, Float32: 0.1, Uint: 1<<64 - 1, Int: -1 << 63, Bool: &yes,
		Next: &everything{Empty: []int{1}, Number: "0", Zero: time.Unix(0, 0).UTC()}, private: 9,
	}
}

// same compares two JSON texts by their meaning.
func same(t *testing.T, got, want []byte) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if err := json.Unmarshal(want, &b); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSameAsEncodingJSON compares both directions with the standard library.
func TestSameAsEncodingJSON(t *testing.T) {
	for _, v := range []any{full(), &everything{Number: "0"}, &rival{Loud: "x"}, &Deeper{}, &[]any{}, &map[string]int{}} {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		e := encoder{depthMax: 100}
		got, err := e.encode(nil, reflect.ValueOf(v), &path{name: "v"})
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, want)
		ours, theirs := reflect.New(reflect.TypeOf(v).Elem()), reflect.New(reflect.TypeOf(v).Elem())
		d := decoder{}
		if err := d.decode(want, ours.Elem(), &path{name: "v"}); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(want, theirs.Interface()); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(ours.Interface(), theirs.Interface()) {
			t.Errorf("got\n%+v\nwant\n%+v", ours, theirs)
		}
	}
}

func TestEncodingDoesNotDependOnMapOrder(t *testing.T) {
	m := map[string]int{"c": 1, "a": 2, "b": 3}
	for range 20 {
		e := encoder{depthMax: 9}
		if got, err := e.encode(nil, reflect.ValueOf(m), &path{name: "m"}); string(got) != `{"a":2,"b":3,"c":1}` || err != nil {
			t.Fatal(string(got), err)
		}
	}
}

// FuzzDecode decodes what a hostile peer may send. What is accepted must survive a round trip.
func FuzzDecode(f *testing.F) {
	seed, _ := json.Marshal(full())
	f.Add(seed)
	f.Add([]byte(`{"next":{"next":{"map":{"$rpc":null}}}}`))
	f.Add([]byte(`{"any":[[[[{"a":1e999}]]]],"array":[1],"at":7}`))
	f.Add([]byte(`{"bytes":"=","number":"x","uint":-1,"float32":1e39,"pair":[1]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) || len(raw) > 1<<14 {
			return
		}
		raw = bytes.TrimSpace(raw)
		var first, second everything
		d := decoder{}
		if err := d.decode(raw, reflect.ValueOf(&first).Elem(), &path{name: "v"}); err != nil {
			if e, ok := err.(*Error); !ok || e.Reason != reasonValue || !strings.HasPrefix(e.Path, "v") {
				t.Fatal(err)
			}
			return
		}
		e := encoder{depthMax: 1 << 20}
		out, err := e.encode(nil, reflect.ValueOf(&first), &path{name: "v"})
		if err != nil {
			if strings.Contains(err.Error(), "number") { // an empty json.Number
				return
			}
			t.Fatal(err)
		}
		if err := d.decode(out, reflect.ValueOf(&second).Elem(), &path{name: "v"}); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		again, err := e.encode(nil, reflect.ValueOf(&second), &path{name: "v"})
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("%s\n%s\n%v", out, again, err)
		}
	})
}
