package codec

import (
	"fmt"
	"strings"
	"testing"
)

func TestKindOf(t *testing.T) {
	for raw, want := range map[string]ValueKind{
		``: Absent, `null`: Null, `true`: Bool, `false`: Bool, `0`: Number, `-1`: Number, `"x"`: String, `[]`: Array, `{}`: Object,
	} {
		if got := KindOf([]byte(raw)); got != want {
			t.Errorf("KindOf(%s) = %d, want %d", raw, got, want)
		}
	}
}

func TestDepthOf(t *testing.T) {
	for raw, want := range map[string]int{
		``: 0, `1`: 0, `"[[["`: 0, `[]`: 1, `{}`: 1, `[1,2]`: 1, `{"a":"{"}`: 1, `{"[":[]}`: 2, `[[],[[]],[]]`: 3, `{"a":{"b":{"c":1}},"d":1}`: 3,
		`["\"[",{"\\":"]"}]`: 2, `[{}]`: 2, `["`: 1,
		strings.Repeat("[", 1000) + strings.Repeat("]", 1000): 1000,
	} {
		if got := DepthOf([]byte(raw)); got != want {
			t.Errorf("DepthOf(%s) = %d, want %d", raw, got, want)
		}
	}
}

func TestObjectMembers(t *testing.T) {
	for _, test := range []struct{ raw, want string }{
		{`{}`, ``},
		{` { } `, ``},
		{`{"a":1}`, `"a"=1;`},
		{`{"a":1,"b":[1,{"c":2}],"a":"x,y"}`, `"a"=1;"b"=[1,{"c":2}];"a"="x,y";`},
		{" { \"a\\u0062\" :\t{ } ,\r\"\" : null } ", `"a\u0062"={ };""=null;`},
		{`[1,2]`, ``}, {`1`, ``}, {``, ``}, {`"{"`, ``},
		{`{`, ``}, {`{"a"`, ``}, {`{"a":`, ``}, {`{"a":1`, `"a"=1;`}, {`{"a":1,`, `"a"=1;`}, {`{"a":1,}`, `"a"=1;`}, {`{"a":1 2}`, `"a"=1;`}, {`{"a":"x`, ``},
	} {
		got := ""
		members := ObjectMembers([]byte(test.raw))
		for name, value, ok := members.Next(); ok; name, value, ok = members.Next() {
			got += fmt.Sprintf("%s=%s;", name, value)
		}
		if got != test.want {
			t.Errorf("members of %s: %s, want %s", test.raw, got, test.want)
		}
		if _, _, ok := members.Next(); ok {
			t.Errorf("members of %s go on", test.raw)
		}
	}
}

func TestArrayElements(t *testing.T) {
	for _, test := range []struct{ raw, want string }{
		{`[]`, ``},
		{` [ ] `, ``},
		{`[1]`, `1;`},
		{`[1,"a,b",[2,3],{"c":[4]},null]`, `1;"a,b";[2,3];{"c":[4]};null;`},
		{" [ 1 ,\t[ ] ] ", `1;[ ];`},
		{`{"a":1}`, ``}, {`1`, ``}, {``, ``}, {`[`, ``}, {`[1`, `1;`}, {`[1,`, `1;`}, {`[1,]`, `1;`}, {`[1 2]`, `1;`}, {`["x`, ``},
	} {
		got := ""
		elements := ArrayElements([]byte(test.raw))
		for value, ok := elements.Next(); ok; value, ok = elements.Next() {
			got += fmt.Sprintf("%s;", value)
		}
		if got != test.want {
			t.Errorf("elements of %s: %s, want %s", test.raw, got, test.want)
		}
	}
}

func TestUniqueMembers(t *testing.T) {
	var many strings.Builder
	many.WriteByte('{')
	for i := range 20000 {
		fmt.Fprintf(&many, `"m%d":%d,`, i, i)
	}
	for _, test := range []struct {
		raw  string
		want bool
	}{
		{`{}`, true},
		{`{"a":1}`, true},
		{`{"a":1,"b":2}`, true},
		{`{"a":1,"a":1}`, false},
		{`{"a":1,"\u0061":1}`, false},
		{`{"\u0061":1,"a":1}`, false},
		{`{"a":1,"A":1}`, true},
		{`{"a":{"a":1,"b":1,"b":2}}`, true},
		{`{"\ud800":1,"\ud801":1}`, true},
		{`{"\ud800":1,"\uD800":1}`, false},
		{`{"\ud800":1,"\ufffd":1}`, true},
		{`{"\ud83d\ude00":1,"😀":1}`, false},
		{`{"":1,"":2}`, false},
		{`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1}`, true},
		{`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"a":1}`, false},
		{`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"\u0069":1}`, false},
		{`[]`, true},
		{many.String() + `"x":1}`, true},
		{many.String() + `"m0":1}`, false},
		{many.String() + `"m19999":1}`, false},
	} {
		if got := UniqueMembers([]byte(test.raw)); got != test.want {
			t.Errorf("UniqueMembers(%.80s) = %v", test.raw, got)
		}
	}
}

func TestParseError(t *testing.T) {
	for _, test := range []struct {
		raw  string
		want ErrorObject
		ok   bool
	}{
		{`{"code":-32601,"message":"m"}`, ErrorObject{Code: -32601, CodeOK: true, MessageOK: true}, true},
		{`{"message":"","data":[1],"code":1e3}`, ErrorObject{Code: 1000, CodeOK: true, MessageOK: true}, true},
		{`{"c\u006fde":5,"m\u0065ssage":"m"}`, ErrorObject{Code: 5, CodeOK: true, MessageOK: true}, true},
		{`{"code":1.5,"message":"m"}`, ErrorObject{MessageOK: true}, false},
		{`{"code":"1","message":"m"}`, ErrorObject{MessageOK: true}, false},
		{`{"code":1e30,"message":"m"}`, ErrorObject{CodeOK: true, MessageOK: true}, true},
		{`{"message":"m"}`, ErrorObject{MessageOK: true}, false},
		{`{"code":1}`, ErrorObject{Code: 1, CodeOK: true}, false},
		{`{"code":1,"message":null}`, ErrorObject{Code: 1, CodeOK: true}, false},
		{`{"code":1,"message":"m","code":2}`, ErrorObject{Code: 1, CodeOK: true, MessageOK: true, Duplicate: true}, false},
		{`{"code":1,"message":"m","message":2}`, ErrorObject{Code: 1, CodeOK: true, MessageOK: true, Duplicate: true}, false},
		{`{"code":1,"message":"m","data":1,"data":2}`, ErrorObject{Code: 1, CodeOK: true, MessageOK: true, Duplicate: true}, false},
		{`{"code":1,"message":"m","x":1,"x":2}`, ErrorObject{Code: 1, CodeOK: true, MessageOK: true}, true},
		{`null`, ErrorObject{}, false},
		{`"code"`, ErrorObject{}, false},
		{`["code",1,"message","m"]`, ErrorObject{}, false},
		{`{}`, ErrorObject{}, false},
	} {
		got := ParseError([]byte(test.raw))
		if got != test.want || got.OK() != test.ok {
			t.Errorf("ParseError(%s) = %+v, want %+v", test.raw, got, test.want)
		}
	}
}
