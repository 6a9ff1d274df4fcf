//go:build browser

package admin

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a tab of a headless browser, and what went wrong in it.
type browser struct {
	ctx context.Context
	t   *testing.T

	mu       sync.Mutex
	wrong    []string
	foreign  []string // URLs elsewhere
	requests []string // paths below /api/
}

func findBrowser(t *testing.T) string {
	for _, name := range []string{os.Getenv("BROWSER_BINARY"), "chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Skip("no browser: neither chromium nor google-chrome is in the PATH, and BROWSER_BINARY names none")
	return ""
}

// open starts a browser with a window of that size.
func open(t *testing.T, width, height int) *browser {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(findBrowser(t)), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(width, height),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.NoFirstRun, chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(ctx)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx); cancel() })
	b := &browser{ctx: ctx, t: t}
	if err := chromedp.Listen(ctx, b.event); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	b.run(chromedp.EmulateViewport(int64(width), int64(height)))
	ctx, cancelTimeout := context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(cancelTimeout)
	b.ctx = ctx
	return b
}

func (b *browser) event(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *cdpruntime.EventExceptionThrown:
		b.wrong = append(b.wrong, fmt.Sprintf("%+v", *ev.ExceptionDetails))
	case *log.EventEntryAdded:
		if ev.Entry.Level == log.EntryLevelError && !strings.Contains(ev.Entry.Text, "401") && !strings.Contains(ev.Entry.Text, "ERR_CONNECTION_REFUSED") {
			b.wrong = append(b.wrong, ev.Entry.Text+" "+ev.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(ev.Request.URL, "http://127.0.0.1:") {
			b.foreign = append(b.foreign, ev.Request.URL)
		} else if _, path, ok := strings.Cut(ev.Request.URL, "/api/"); ok {
			b.requests = append(b.requests, path)
		}
	}
}

func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// value evaluates an expression.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// is waits until an expression is true.
func (b *browser) is(expression string) {
	b.t.Helper()
	for end := time.Now().Add(20 * time.Second); !eval[bool](b, expression); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("never true: %s\n%s", expression, eval[string](b, "document.body.innerText"))
		}
	}
}

func (b *browser) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

func (b *browser) keys(keys string) { b.t.Helper(); b.run(chromedp.KeyEvent(keys)) }

// fine fails the test if anything went wrong in the browser, or it asked anybody else.
func (b *browser) fine() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		b.t.Error(w)
	}
	if len(b.foreign) > 0 {
		b.t.Errorf("asked elsewhere: %q", b.foreign)
	}
}
