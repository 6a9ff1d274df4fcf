//go:build browser

package admin

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ahprelay/ahprelay/client"
)

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
