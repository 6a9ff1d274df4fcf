package client

import (
	"context"
	"fmt"
	"testing"
)

func TestLookupIsAheadOfEvents(t *testing.T) {
	c, p, _ := dialed(t)
	var w *Catalog
	wait := async(t, func() (err error) {
		w, err = c.Watch(context.Background())
		return err
	})
	p.want(fmt.Sprintf(wantSubscribe, 2))
	p.send(snapshot(2, 7, entry("b", "x")), set(8, entry("d", "w")))
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	flush(t, c, p, 3)
	for id, want := range map[string]bool{"b": true, "d": true, "c": false, "": false} {
		if got, ok := w.Lookup(id); ok != want || ok && got.ID != id {
			t.Errorf("%q: %v, %v", id, got, ok)
		}
	}
	p.send(`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-client-services://","action":{"type":"clientService/removed","serviceId":"b"},"serverSeq":9}}`)
	flush(t, c, p, 4)
	if _, ok := w.Lookup("b"); ok {
		t.Error("a removed service is still there")
	}
	w.Close()
	p.want(wantUnsubscribe)
}
