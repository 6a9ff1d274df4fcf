package rpc_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/client/rpc"
)

// wantValue checks that err is an ErrValue with this path and a message that contains text.
func wantValue(t *testing.T, err error, path, text string) {
	t.Helper()
	var e *rpc.Error
	if !errors.As(err, &e) || !errors.Is(err, rpc.ErrValue) || e.Path != path || !strings.Contains(e.Message, text) {
		t.Errorf("want %s: %s, got %v", path, text, err)
	}
}

func TestRunTimeValuesRejectedWithPath(t *testing.T) {
	b := newBench(t, benchOptions{})
	ring := &item{Name: "ring"}
	ring.Next = &item{Name: "inner", Next: ring}
	loop := map[string]any{}
	loop["again"] = []any{1, loop}
	deep := any(0)
	for range 200 {
		deep = []any{deep}
	}
	sent := b.lab.calls.get()
	for _, c := range []struct {
		value      any
		path, text string
	}{
		{func() {}, "args[0]", "func() is no JSON value"},
		{map[string]any{"items": []any{1, 2, 3, func() {}}}, "args[0].items[3]", "func() is no JSON value"},
		{[]any{0, make(chan int)}, "args[0][1]", "chan int is no JSON value"},
		{map[string]any{"a b": complex(1, 1)}, `args[0]["a b"]`, "complex128 is no JSON value"},
		{[]item{{Name: "x"}, {Sizes: []float64{1, math.NaN()}}}, "args[0][1].sizes[1]", "NaN is no JSON number"},
		{item{Sizes: []float64{math.Inf(-1)}}, "args[0].sizes[0]", "-Inf is no JSON number"},
		{float32(math.Inf(1)), "args[0]", "+Inf is no JSON number"},
		{ring, "args[0].next.next", "a cycle"},
		{loop, "args[0].again[1]", "a cycle"},
		{map[int]string{1: "x"}, "args[0]", "map[int]string has keys that are no strings"},
		{map[string]any{"deep": map[string]any{"$rpc": 1}}, "args[0].deep", "the key $rpc is reserved"},
		{json.RawMessage(`{"a":[{"\u0024rpc":{"ref":{"id":"x","interface":"Shelf"}}}]}`), "args[0].a[0]", "the key $rpc is reserved"},
		{json.RawMessage(`{"a":`), "args[0]", "no valid JSON"},
		{json.Number("0x1"), "args[0]", `"0x1" is no JSON number`},
		{"\xff", "args[0]", "no UTF-8"},
		{map[string]int{"\xff": 1}, "args[0]", "no UTF-8"},
		{b.x, "args[0]", "a remote object cannot stand here"},
		{deep, "args[0]" + strings.Repeat("[0]", 120), "nests deeper than 120"},
	} {
		_, err := b.x.Echo(b.ctx, c.value)
		wantValue(t, err, c.path, c.text)
	}
	if n := b.lab.calls.get(); n != sent {
		t.Errorf("%d calls arrived", n-sent)
	}
}

func TestValuesArriveUnchanged(t *testing.T) {
	b := newBench(t, benchOptions{})
	shared := &item{Name: "twice, but no cycle"}
	for _, c := range []struct{ sent, want any }{
		{nil, nil},
		{true, true},
		{"<&>\u2028\x00", "<&>\u2028\x00"},
		{12345678901, 12345678901.0},
		{1e-9, 1e-9},
		{[]*item{shared, shared}, []any{map[string]any{"name": shared.Name}, map[string]any{"name": shared.Name}}},
		{json.Number("12.50"), 12.5},
		{json.RawMessage("{\n\"a\" : [ ] }"), map[string]any{"a": []any{}}},
		{[]byte{1, 2, 3}, "AQID"},
	} {
		got, err := b.x.Echo(b.ctx, c.sent)
		if err != nil {
			t.Errorf("%v: %v", c.sent, err)
			continue
		}
		a, _ := json.Marshal(got)
		w, _ := json.Marshal(c.want)
		if string(a) != string(w) {
			t.Errorf("%v: got %s, want %s", c.sent, a, w)
		}
	}
}

func TestResultsRejectedWithPath(t *testing.T) {
	b := newBench(t, benchOptions{})
	for how, want := range map[string][2]string{
		"nan":      {"result.deep[1]", "NaN is no JSON number"},
		"func":     {"result[0]", "func() is no JSON value"},
		"reserved": {"result.a", "the key $rpc is reserved"},
		"ring":     {"result.next", "a cycle"},
	} {
		_, err := b.x.Bad(b.ctx, how)
		wantValue(t, err, want[0], want[1])
		if !errors.Is(err, client.ErrInternal) {
			t.Errorf("%s: not the host's fault: %v", how, err)
		}
	}
}

// TestArgumentsRejectedByTheHost sends what the proxies would not.
func TestArgumentsRejectedByTheHost(t *testing.T) {
	b := newBench(t, benchOptions{})
	for _, c := range []struct{ method, args, path, text string }{
		{"add", `[1]`, "args", "want at least 2 arguments, not 1"},
		{"add", `[1,2,3]`, "args", "want at most 2 arguments"},
		{"add", `[1,"2"]`, "args[1]", "want int, not a string"},
		{"add", `[1,null]`, "args[1]", "want int, not null"},
		{"add", `[1,2.5]`, "args[1]", "2.5 does not fit int"},
		{"add", `[1,1e99]`, "args[1]", "1e99 does not fit int"},
		{"items", `[[{"name":"a"},{"name":"b","next":{"sizes":[1,2,true]}}]]`, "args[0][1].next.sizes[2]", "want float64, not a boolean"},
		{"items", `[[{"sizes":[1e999]}]]`, "args[0][0].sizes[0]", "1e999 does not fit float64"},
		{"items", `[[{"unknown":{"$rpc":{}}}]]`, "args[0][0].unknown", "the key $rpc is reserved"},
		{"items", `[{}]`, "args[0]", "want an array, not an object"},
		{"echo", `[{"a":[1e999]}]`, "args[0].a[0]", "1e999 does not fit float64"},
		{"echo", `[{"a":{"\u0024rpc":null}}]`, "args[0].a", "the key $rpc is reserved"},
		{"echo", `[{"$rpc":{"ref":{"id":"x","interface":"Shelf"}}}]`, "args[0]", "the key $rpc is reserved"},
		{"names", `[[{"$rpc":{"what":1}}]]`, "args[0][0]", "an unknown $rpc object"},
		{"names", `[[{"id":"x"}]]`, "args[0][0]", "want a reference"},
		{"join", `["a",2,"b",3]`, "args[3]", "want string, not a number"},
	} {
		_, err := b.raw(b.user, c.method, `{"args":`+c.args+`}`)
		var e *client.Error
		if !errors.As(err, &e) || e.Code != client.ErrInvalidParams.Code {
			t.Errorf("%s%s: %v", c.method, c.args, err)
			continue
		}
		data := `{"$rpc":{"error":"value","path":` + quoted(c.path) + `}}`
		if string(e.Data) != data || !strings.Contains(e.Message, c.path+": "+c.text) {
			t.Errorf("%s%s: %s %s", c.method, c.args, e.Message, e.Data)
		}
	}
	if b.lab.calls.get() != 0 {
		t.Error("a method was called")
	}
	for args, want := range map[string]string{`[1,2]`: "3", `[1.0,2e0]`: "3"} {
		if got, err := b.raw(b.user, "add", `{"args":`+args+`}`); err != nil || got != want {
			t.Errorf("%s: %s %v", args, got, err)
		}
	}
}

func quoted(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}
