package client

import (
	"slices"
	"sync"
	"testing"
)

func TestTraceShowsEveryMessageWithoutTokens(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	c, p, _ := dialed(t, WithTrace(func(dir string, line []byte) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, dir+" "+string(line))
	}))
	done := make(chan error, 1)
	go func() { done <- c.Authenticate(deadline(t), `to"ken`) }()
	p.read()
	p.send(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		"> " + wantInitialize,
		`< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1.0.0","serverSeq":100,"serverInfo":{"name":"fake","version":"1","title":"T"},"snapshots":[],"clientServices":{"channel":"ahp-client-services://","limits":{"frameBytes":4096,"deliveredBytes":5000,"snapshotBytes":2000000,"later":5}},"_meta":{"ahprelay.resumeToken":"…"}}}`,
		`> {"jsonrpc":"2.0","id":2,"method":"authenticate","params":{"channel":"ahp-root://","resource":"https://ahprelay.localhost","token":"…"}}`,
		`< {"jsonrpc":"2.0","id":2,"result":{}}`,
	}
	if !slices.Equal(seen, want) {
		t.Errorf("seen\n%q\nwant\n%q", seen, want)
	}
}
