package reader

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/cmd/git-sidecar/fixture"
)

// FuzzFit: what fits, fits; a cut makes progress and leaves text text.
func FuzzFit(f *testing.F) {
	for _, seed := range []string{"", "aüb", "\xff\x00", "tttt\xff\xffüü", "\x01\x02\"\\\n", "ü\xc3"} {
		f.Add([]byte(seed), true, 20)
		f.Add([]byte(seed), false, 7)
	}
	f.Fuzz(func(t *testing.T, data []byte, whole bool, room int) {
		n := fit(data, whole, room)
		switch {
		case n < 0 || n > len(data):
			t.Fatalf("%d of %d bytes", n, len(data))
		case encodedLen(data[:n]) > max(room, 0):
			t.Fatalf("%d bytes take %d of %d", n, encodedLen(data[:n]), room)
		case n == 0 && len(data) > 0 && room >= 8:
			t.Fatal("no progress")
		case utf8.Valid(data) && !utf8.Valid(data[:n]) && room >= 8:
			t.Fatal("text was cut inside a character")
		}
	})
}

// FuzzParams: whatever the params are, the answer is a result in JSON or an error with a code and data.
func FuzzParams(f *testing.F) {
	for _, method := range append(methods, "other") {
		f.Add(method, []byte(`{"repo":"work","oids":["`+"ce013625030ba8dba906f756967f9e9ca394464a"+`"],"serviceId":"s","maxBytes":1,"ranges":{"ce013625030ba8dba906f756967f9e9ca394464a":{"offset":1,"length":2}}}`))
		f.Add(method, []byte(`{"repo":"w\u006frk","prefix":"refs/","after":"refs/heads/main","oids":[]}`))
		f.Add(method, []byte(`[]`))
	}
	repository := fixture.New(f)
	repository.Blob("hello\n")
	b := newBench(f, repository)
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		if !json.Valid(params) {
			return // the relay lets nothing else through
		}
		result, err := b.Handle(t.Context(), &client.Request{Method: method, Params: params, Sender: "me"})
		var failure *client.Error
		if err != nil && (!errors.As(err, &failure) || failure.Code == 0 || !json.Valid(failure.Data)) {
			t.Fatalf("%v", err)
		}
		if err == nil && result == nil {
			t.Fatal("neither result nor error")
		}
	})
}
