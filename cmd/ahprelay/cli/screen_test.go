package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/ahprelay/ahprelay/cmd/ahprelay/admin"
)

// testRound is a round with n connections.
func testRound(n int, uptime float64) *round {
	r := &round{Stats: &admin.Stats{Version: "1.2.3", Ready: true, UptimeSeconds: uptime, Connections: n}, Rates: admin.Rates{Seconds: 1, FramesReceived: 12345}}
	r.Connections = &admin.List[admin.Connection]{Total: n, Matched: n}
	for i := range n {
		r.Connections.Items = append(r.Connections.Items, admin.Connection{ClientID: fmt.Sprintf("client-%d", i), State: "open", Principal: "anonymous"})
	}
	return r
}

func newScreen() *screen {
	return &screen{top: &topper{admin: "127.0.0.1:7421", interval: time.Second}, width: 80, height: 24, sorts: map[*pane]int{}}
}

func (s *screen) press(keys ...string) {
	for _, k := range keys {
		switch k {
		case "enter":
			s.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
		case "esc":
			s.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
		case "tab":
			s.Update(tea.KeyPressMsg{Code: tea.KeyTab})
		case "down":
			s.Update(tea.KeyPressMsg{Code: tea.KeyDown})
		case "backspace":
			s.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
		default:
			s.Update(tea.KeyPressMsg{Code: []rune(k)[0], Text: k})
		}
	}
}

func (s *screen) text() string { return ansi.Strip(strings.Join(s.lines(), "\n")) }

// TestScreenFits: whatever the size, never more lines nor wider ones than the terminal has.
func TestScreenFits(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {200, 60}, {20, 10}, {1, 1}, {5, 3}, {300, 8}} {
		s := newScreen()
		s.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		for range 2 {
			lines := s.lines()
			if len(lines) > size[1] {
				t.Errorf("%v: %d lines", size, len(lines))
			}
			for _, line := range lines {
				if w := ansi.StringWidth(line); w > size[0] {
					t.Errorf("%v: %d wide: %q", size, w, line)
				}
			}
			s.asked = 1
			s.Update(looked{1, testRound(100, 5), errors.New("something that takes more than one line of a narrow terminal to say")})
			s.Update(looked{1, testRound(100, 5), nil})
		}
	}
}

func TestScreenScrolls(t *testing.T) {
	s := newScreen()
	s.asked = 1
	s.Update(looked{1, testRound(100, 5), nil})
	if text := s.text(); !strings.Contains(text, "client-0 ") || strings.Contains(text, "client-20 ") || !strings.Contains(text, "in 12.3k msg") || !strings.Contains(text, "by queueBytes") {
		t.Error(text)
	}
	s.press("down", "down")
	if text := s.text(); strings.Contains(text, "client-1 ") || !strings.Contains(text, "client-2 ") {
		t.Error(text)
	}
	s.press("G")
	if text := s.text(); !strings.Contains(text, "client-99 ") {
		t.Error(text)
	}
	s.press("g")
	if text := s.text(); !strings.Contains(text, "client-0 ") {
		t.Error(text)
	}
}

func TestScreenKeys(t *testing.T) {
	s := newScreen()
	s.asked = 1
	s.Update(looked{1, testRound(3, 5), nil})
	s.press("s")
	if text := s.text(); !strings.Contains(text, "by framesIn") || s.asked != 2 {
		t.Errorf("%d %s", s.asked, text)
	}
	s.Update(looked{1, testRound(9, 6), nil}) // late: to a question before
	if s.round.Connections.Total != 3 {
		t.Error("a late answer was taken")
	}
	s.press("/", "a", "é", "q")
	if s.filter != "aéq" || !strings.Contains(s.text(), "/aéq█") {
		t.Errorf("%q %s", s.filter, s.text())
	}
	s.press("backspace", "backspace", "enter")
	if s.filter != "a" || s.typing || !strings.Contains(s.text(), "with a") {
		t.Errorf("%q %s", s.filter, s.text())
	}
	s.press("esc")
	if s.filter != "" {
		t.Error(s.filter)
	}
	s.press("p")
	if text := s.text(); !strings.Contains(text, "paused  q quit") {
		t.Error(text)
	}
	if _, next := s.Update(again(s.asked)); next == nil {
		t.Error("a paused screen never wakes up")
	}
	asked := s.asked
	s.press("p", "tab", "3", "tab", "tab")
	if s.pane != 0 || s.asked != asked+4 {
		t.Errorf("pane %d, asked %d times", s.pane, s.asked-asked)
	}
	for _, quit := range []tea.KeyPressMsg{{Code: 'q', Text: "q"}, {Code: 'c', Mod: tea.ModCtrl}} {
		_, cmd := s.Update(quit)
		if _, ok := cmd().(tea.QuitMsg); !ok {
			t.Errorf("%s does not quit", quit)
		}
	}
}

// TestScreenIsSafe: what clients say does not drive the terminal.
func TestScreenIsSafe(t *testing.T) {
	r := testRound(1, 5)
	const evil = "\x1b[2Jx\x9b31m\u202e\n\ty"
	r.Connections.Items[0] = admin.Connection{ClientID: evil, State: "open", Principal: evil, Remote: evil}
	r.Services = &admin.List[admin.Service]{Total: 1, Matched: 1, Items: []admin.Service{{ServiceID: "s", ClientID: evil, Protocol: evil, Metadata: []byte(`{"a":"` + evil + `"}`)}}}
	r.Requests = &admin.List[admin.Request]{Total: 1, Matched: 1, Items: []admin.Request{{Caller: evil, ID: evil, Owner: evil, Protocol: evil}}}
	r.Closings = &admin.List[admin.Closing]{Total: 1, Matched: 1, Items: []admin.Closing{{ClientID: evil, Remote: evil, Principal: evil, Detail: evil}}}
	for _, p := range panes {
		g := p.table(r)
		lines := g.lines()
		if text := strings.Join(lines, ""); len(lines) != 2 || strings.ContainsAny(text, "\x1b\u009b\u202e\n\t") || !strings.Contains(text, `\u001b[2J`) {
			t.Errorf("%s: %q", p.name, lines)
		}
	}
	if text := envelopeLine(&admin.Envelope{Kind: "notification", Sender: evil, Owner: evil, Method: evil, Protocol: evil}, false); strings.ContainsAny(text, "\x1b\u009b\u202e\n\t") {
		t.Errorf("%q", text)
	}
}

func TestGrid(t *testing.T) {
	g := grid{head: []string{"NAME", " N", "LAST"}, rows: [][]string{{"你好", "1", "x"}, {"a", "1000", "longer"}}, matched: 2, total: 5}
	want := "NAME     N  LAST\n你好     1  x\na     1000  longer"
	if got := strings.Join(g.lines(), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := g.count(); got != "2 of 5" {
		t.Error(got)
	}
}

func TestRateAndAge(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.25: "0.2", 42.4: "42", 9999: "9999", 12345: "12.3k", 2.5e6: "2.5M"} {
		if got := rate(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0s", 0.0123: "12ms", 3.14159: "3.1s", 75: "1m15s", 7200: "2h0m0s", 3 * 86400: "3d0h"} {
		if got := age(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
