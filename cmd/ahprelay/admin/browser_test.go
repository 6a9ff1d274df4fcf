//go:build browser

package admin

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ahprelay/ahprelay/client"
)

var screenshots = flag.String("screenshots", "", "directory that screenshots of the page are written to")

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

func (w *world) token() string { return strings.TrimPrefix(w.bearer()[1], "Bearer ") }

const hostile = `<img src=x onerror="window.taken=1"><script>window.taken=1</script>`

// hostileScene has clients whose every text is an attack.
func hostileScene(t *testing.T, w *world) {
	t.Helper()
	c, err := client.Dial(t.Context(), w.url, client.WithClientID(hostile), client.WithClientInfo(hostile, hostile), client.WithoutReconnect())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	s, err := c.Register(t.Context(), map[string]string{"protocol": hostile, hostile: hostile, "long": strings.Repeat(hostile, 5)}, func(context.Context, *client.Request) (any, error) {
		<-release
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = c.Call(context.Background(), s.ID(), hostile, nil, nil) }()
}

func TestPageSignsIn(t *testing.T) {
	w, b := newWorld(t, nil), open(t, 1200, 900)
	scene(t, w)
	b.run(chromedp.Navigate(w.admin.URL()))
	b.is(`!document.getElementById('login').hidden && document.getElementById('status').hidden && document.activeElement.id === 'token'`)
	b.keys("wrong" + kb.Enter)
	b.is(`document.getElementById('login-error').innerText.startsWith('the admin token is missing or wrong')`)
	b.keys(w.token() + kb.Enter)
	b.is(`!document.getElementById('status').hidden && document.getElementById('state').innerText === 'ready'`)
	if got := eval[string](b, "document.cookie + document.location.href"); got != w.admin.URL() {
		t.Error(got)
	}
	b.run(chromedp.Reload())
	b.is(`!document.getElementById('status').hidden`) // this tab remembers
	b.run(chromedp.Click(chromedp.CSS("#forget")))
	b.is(`!document.getElementById('login').hidden && sessionStorage.length === 0`)
	b.run(chromedp.Evaluate[chromedp.Void](`location.hash = 'token=` + w.token() + `'`))
	b.is(`!document.getElementById('status').hidden && document.location.hash === ''`)
	b.fine()
}

// TestPageShows: the numbers and lists of the API, and their filters, by mouse and by keyboard.
func TestPageShows(t *testing.T) {
	w, b := newWorld(t, nil), open(t, 1200, 900)
	id, release := scene(t, w)
	t.Cleanup(release)
	b.run(chromedp.Navigate(w.admin.URL() + "#token=" + w.token()))
	b.is(`document.querySelectorAll('#list tbody tr').length === 2`)
	if levels := b.text("#levels"); !strings.Contains(levels, "Connections\n2") || !strings.Contains(levels, "Services\n1") || !strings.Contains(levels, "In flight\n1") {
		t.Error(levels)
	}
	b.is(`document.querySelectorAll('#charts path.line').length >= 4`) // after three seconds
	if said := eval[string](b, `document.querySelector('#charts svg').getAttribute('aria-label')`); !strings.HasPrefix(said, "Messages a second: notifications ") {
		t.Error(said)
	}
	b.keys("2")
	b.is(`document.activeElement.id === 'tab-services' && document.querySelector('#list tbody') !== null`)
	if row := b.text("#list tbody tr"); !strings.Contains(row, id) || !strings.Contains(row, "owner") || !strings.Contains(row, `"n":1`) {
		t.Error(row)
	}
	b.keys(kb.ArrowRight)
	b.is(`document.activeElement.id === 'tab-requests' && document.activeElement.getAttribute('aria-selected') === 'true'`)
	b.is(`document.querySelector('#list tbody')?.innerText.includes('waiting') === true`)
	b.keys(kb.ArrowRight)
	b.is(`document.getElementById('list').innerText.includes('has closed no connection')`)
	b.keys("1")
	b.is(`document.querySelectorAll('#list tbody tr').length === 2`)
	b.keys("/")
	b.is(`document.activeElement.id === 'search' && (document.activeElement.select(), true)`) // the driver's "/" was typed, too
	b.keys("caller")
	b.is(`document.querySelectorAll('#list tbody tr').length === 1 && document.getElementById('count').innerText === '1 of 2'`)
	b.keys(kb.Escape)
	b.is(`document.querySelectorAll('#list tbody tr').length === 2 && document.activeElement.id === 'panel'`)
	b.run(chromedp.Click(chromedp.CSS(`[data-sort="inflight"]`)))
	b.is(`document.querySelector('#list tbody tr').innerText.includes('caller') && document.querySelector('th[aria-sort=descending]').innerText.startsWith('In flight')`)
	b.run(chromedp.Click(chromedp.CSS(".totals summary")))
	b.is(`document.getElementById('totals').innerText.includes('unknownService\n1')`)
	b.fine()
}

// TestPagePauses: nothing is asked while it is paused, or out of sight.
func TestPagePauses(t *testing.T) {
	w, b := newWorld(t, nil), open(t, 1200, 900)
	b.run(chromedp.Navigate(w.admin.URL() + "#token=" + w.token()))
	b.is(`document.getElementById('state').innerText === 'ready'`)
	count := func() int { b.mu.Lock(); defer b.mu.Unlock(); return len(b.requests) }
	before := count()
	until(t, "two further rounds", func() bool { return count() >= before+3 })
	b.keys("p")
	b.is(`document.getElementById('pause').getAttribute('aria-pressed') === 'true'`)
	b.is(`new Promise((done) => setTimeout(() => done(true), 300))`)
	before = count()
	b.is(`new Promise((done) => setTimeout(() => done(true), 2500))`)
	if after := count(); after != before {
		t.Errorf("%d questions while paused", after-before)
	}
	b.keys("p")
	until(t, "further rounds", func() bool { return count() > before })
	w.admin.Close()
	b.is(`document.getElementById('state').innerText === 'no answer'`)
	b.fine()
}

// TestPageIsNotTaken: what clients say is text, whatever it looks like.
func TestPageIsNotTaken(t *testing.T) {
	w, b := newWorld(t, nil), open(t, 1200, 900)
	hostileScene(t, w)
	b.run(chromedp.Navigate(w.admin.URL() + "#token=" + w.token()))
	for i, tab := range []string{"connections", "services", "requests"} {
		b.keys(fmt.Sprint(i + 1))
		b.is(`document.getElementById('tab-` + tab + `')?.getAttribute('aria-selected') === 'true' && document.getElementById('list').innerText.includes('<img src=x')`)
	}
	if n := eval[int](b, `document.querySelectorAll('#list img, #list script').length + (window.taken ? 1 : 0)`); n != 0 {
		t.Errorf("%d elements of a stranger", n)
	}
	// And if something slipped through, the policy would stop it.
	b.run(chromedp.Evaluate[chromedp.Void](`document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.taken=1">'); const s = document.createElement('script'); s.textContent = 'window.taken=1'; document.body.append(s)`))
	if eval[bool](b, `window.taken === 1`) {
		t.Error("an inline script ran")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.ContainsFunc(b.wrong, func(s string) bool { return strings.Contains(s, "Content Security Policy") }) {
		t.Errorf("the policy said nothing: %q", b.wrong)
	}
}

// TestPageFits: nothing sticks out at the width of a phone, in both themes, and the colours differ.
func TestPageFits(t *testing.T) {
	w, b := newWorld(t, nil), open(t, 360, 740)
	hostileScene(t, w)
	_, release := scene(t, w)
	t.Cleanup(release)
	b.run(chromedp.Navigate(w.admin.URL() + "#token=" + w.token()))
	grounds := map[string]bool{}
	for range 3 {
		for i := range 4 {
			b.keys(fmt.Sprint(i + 1))
			b.is(fmt.Sprintf(`document.querySelectorAll('[role=tab]')[%d]?.getAttribute('aria-selected') === 'true' && document.getElementById('list').innerText !== ''`, i))
			if wide := eval[float64](b, `document.scrollingElement.scrollWidth`); wide > 360 {
				t.Errorf("list %d is %v wide", i+1, wide)
			}
		}
		grounds[eval[string](b, `getComputedStyle(document.documentElement).backgroundColor`)] = true
		b.keys("t")
	}
	if len(grounds) != 2 {
		t.Errorf("grounds %v", grounds)
	}
	b.fine()
}

// TestPageContrast: text is readable in both themes: 4.5 to 1 at least.
func TestPageContrast(t *testing.T) {
	w, b := newWorld(t, nil), open(t, 1200, 900)
	b.run(chromedp.Navigate(w.admin.URL() + "#token=" + w.token()))
	b.is(`document.getElementById('state').innerText === 'ready'`)
	for _, theme := range []string{"light", "dark"} {
		colours := eval[map[string]string](b, `(() => { document.documentElement.dataset.theme = '`+theme+`'; const s = getComputedStyle(document.documentElement); return Object.fromEntries(
			['ground','card','text','quiet','hover','accent','on-accent','good','good-ground','warn','warn-ground','bad','bad-ground','s1','s2','s3','s4'].map((n) => [n, s.getPropertyValue('--' + n).trim()])) })()`)
		for _, pair := range [][2]string{{"text", "card"}, {"text", "ground"}, {"text", "hover"}, {"quiet", "card"}, {"quiet", "ground"}, {"quiet", "hover"}, {"accent", "card"}, {"accent", "ground"}, {"on-accent", "accent"},
			{"good", "good-ground"}, {"warn", "warn-ground"}, {"bad", "bad-ground"}, {"bad", "card"}, {"warn", "card"}, {"s1", "card"}, {"s2", "card"}, {"s3", "card"}, {"s4", "card"}} {
			if c := contrast(t, colours[pair[0]], colours[pair[1]]); c < 4.5 {
				t.Errorf("%s: %s on %s is %.2f to 1", theme, pair[0], pair[1], c)
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, colour string) (l float64) {
	if len(colour) == 4 {
		colour = "#" + strings.Repeat(colour[1:2], 2) + strings.Repeat(colour[2:3], 2) + strings.Repeat(colour[3:4], 2)
	}
	var rgb [3]uint8
	if _, err := fmt.Sscanf(colour, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
		t.Fatalf("%q: %v", colour, err)
	}
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := float64(rgb[i]) / 255
		if v <= 0.03928 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		l += weight * v
	}
	return l
}

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
