//go:build browser

package admin

import (
	"context"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/ahprelay/ahprelay/client"
)

var screenshots = flag.String("screenshots", "", "directory that screenshots of the page are written to")

// TestScreenshots writes pictures of the page for the documentation, where asked to.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("no pictures wanted: -screenshots names no directory")
	}
	w := newWorld(t, nil)
	busy(t, w)
	b := open(t, 1200, 1060)
	// Four rounds a second, so that the charts fill sooner.
	faster := page.AddScriptToEvaluateOnNewDocumentParams{Source: `const slow = window.setInterval; window.setInterval = (f, ms) => slow(f, ms / 3.8)`}
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, faster); err != nil {
		t.Fatal(err)
	}
	b.run(chromedp.Navigate(w.admin.URL() + "#token=" + w.token()))
	time.Sleep(50 * time.Second)
	b.keys("2")
	b.is(`document.querySelectorAll('#list tbody tr').length >= 4`)
	for _, theme := range []string{"light", "dark"} {
		b.run(chromedp.Evaluate[chromedp.Void](`document.documentElement.dataset.theme = '` + theme + `'; document.activeElement.blur()`))
		picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if len(picture) > 200<<10 {
			t.Errorf("%s: %d bytes", theme, len(picture))
		}
		if err := os.WriteFile(filepath.Join(*screenshots, "status-"+theme+".png"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.fine()
}

// busy has a handful of clients send at changing rates until the test ends.
func busy(t *testing.T, w *world) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	hold := func(ctx context.Context, r *client.Request) (any, error) {
		var ms int
		_ = json.Unmarshal(r.Params, &ms)
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
		case <-ctx.Done():
		}
		return map[string]bool{"ok": true}, nil
	}
	var ids []string
	for owner, metadata := range map[string]string{
		"git-sidecar-7": `{"protocol":"git-object-reader","version":1,"label":"ahprelay","repos":["ahprelay","docs"]}`,
		"editor-2":      `{"protocol":"editor-selection","version":3,"workspace":"relay"}`,
		"test-runner":   `{"protocol":"test-events","suites":["unit","wire","browser"]}`,
		"spell-checker": `{"protocol":"diagnostics","languages":["en","de"]}`,
		"notebook":      `{"protocol":"cell-output","kernel":"python3"}`,
	} {
		s, err := w.connect(owner).Register(ctx, json.RawMessage(metadata), hold)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.ID())
	}
	for i, name := range []string{"agent-1", "agent-2", "browser-tab"} {
		c := w.connect(name)
		running.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				wave := 1.2 + math.Sin(float64(n)/260+2*float64(i))
				for range int(2 + 3*wave) {
					_ = c.Notify(ids[(n+i)%len(ids)], "changed", map[string]int{"n": n})
				}
				if n%97 < int(4*wave) {
					_ = c.Notify("gone", "changed", nil)
				}
				if n%2 == 0 {
					go func() { _ = c.Call(ctx, ids[n%len(ids)], "read", n%40*8, nil) }()
				}
				select {
				case <-time.After(15 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		})
	}
}
