package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/ahprelay/ahprelay/cmd/ahprelay/admin"
)

// watch shows rounds on the terminal until the user has seen enough.
func (t *topper) watch(ctx context.Context) error {
	s := &screen{top: t, ctx: ctx, width: 80, height: 24, sorts: map[*pane]int{}}
	_, err := tea.NewProgram(s, tea.WithContext(ctx), tea.WithInput(t.p.In), tea.WithOutput(t.p.Out), tea.WithEnvironment(t.p.Environ)).Run()
	if ctx.Err() != nil || errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	return err
}

// screen is the state of the terminal. Only the program's goroutine touches it.
type screen struct {
	top           *topper
	ctx           context.Context
	width, height int
	pane, scroll  int
	sorts         map[*pane]int // index of pane.sorts
	filter        string
	typing        bool // into filter
	paused        bool
	asked         int // numbers the questions; an answer to another than the latest is late

	round  *round
	before *admin.Stats
	err    error
}

// looked is the answer to a question.
type looked struct {
	number int
	round  *round
	err    error
}

// again says that it is time for the question after the one with that number.
type again int

func (s *screen) Init() tea.Cmd { return s.ask() }

// ask takes a look at the relay and returns the answer as a message.
func (s *screen) ask() tea.Cmd {
	s.asked++
	number, before, p := s.asked, s.before, panes[s.pane]
	q := url.Values{"limit": {strconv.Itoa(rowsMax)}}
	if s.filter != "" {
		q.Set("q", s.filter)
	}
	if len(p.sorts) > 0 {
		q.Set("sort", p.sorts[s.sorts[p]])
	}
	return func() tea.Msg {
		r, err := s.top.ask(s.ctx, before, q, p)
		return looked{number, r, err}
	}
}

func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = max(msg.Width, 1), max(msg.Height, 1)
	case looked:
		if msg.number != s.asked {
			return s, nil
		}
		if s.err = msg.err; msg.err == nil {
			s.take(msg.round)
		}
		return s, tea.Tick(s.top.interval, func(time.Time) tea.Msg { return again(msg.number) })
	case again:
		switch {
		case int(msg) != s.asked:
		case s.paused:
			return s, tea.Tick(s.top.interval, func(time.Time) tea.Msg { return msg })
		default:
			return s, s.ask()
		}
	case tea.KeyPressMsg:
		return s, s.key(msg)
	}
	return s, nil
}

// take keeps a round. When it comes too soon after the one before, as when the pane was changed, the
// rates are still those.
func (s *screen) take(r *round) {
	if s.round != nil && r.Rates.Seconds < intervalMin.Seconds()/2 {
		r.Rates = s.round.Rates
	} else {
		s.before = r.Stats
	}
	s.round = r
}

// key does what a key asks for.
func (s *screen) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name == "ctrl+c" {
		return tea.Quit
	}
	if s.typing {
		return s.typed(name, k.Text)
	}
	page := max(s.room()-1, 1)
	switch name {
	case "q":
		return tea.Quit
	case "esc":
		if s.filter == "" {
			return nil
		}
		s.filter = ""
		return s.ask()
	case "tab", "right", "l":
		return s.show(s.pane + 1)
	case "shift+tab", "left", "h":
		return s.show(s.pane + len(panes) - 1)
	case "1", "2", "3", "4":
		return s.show(int(name[0] - '1'))
	case "up", "k":
		s.scroll--
	case "down", "j":
		s.scroll++
	case "pgup":
		s.scroll -= page
	case "pgdown", "space":
		s.scroll += page
	case "home", "g":
		s.scroll = 0
	case "end", "G":
		s.scroll = rowsMax
	case "/":
		s.typing = true
	case "p":
		s.paused = !s.paused
	case "s":
		if p := panes[s.pane]; len(p.sorts) > 1 {
			s.sorts[p] = (s.sorts[p] + 1) % len(p.sorts)
			return s.ask()
		}
	}
	return nil
}

func (s *screen) show(pane int) tea.Cmd {
	s.pane, s.scroll = pane%len(panes), 0
	return s.ask()
}

// typed handles a key while the filter is being typed.
func (s *screen) typed(name, text string) tea.Cmd {
	switch {
	case name == "enter":
		s.typing = false
		return nil
	case name == "esc":
		s.typing, s.filter = false, ""
	case name == "backspace":
		_, n := utf8.DecodeLastRuneInString(s.filter)
		s.filter = s.filter[:len(s.filter)-n]
	case text != "" && len(s.filter) < 200:
		s.filter += text
	default:
		return nil
	}
	s.scroll = 0
	return s.ask()
}

// room is how many lines there are for rows.
func (s *screen) room() int { return s.height - 7 }

func (s *screen) View() tea.View {
	v := tea.NewView(strings.Join(s.lines(), "\n"))
	v.AltScreen = true
	v.WindowTitle = "ahprelay top"
	return v
}

const (
	bold    = "\x1b[1m"
	reverse = "\x1b[7m"
	faint   = "\x1b[2m"
	red     = "\x1b[31m"
	plain   = "\x1b[m"
)

// lines are what fills the terminal: never more lines, and none wider, than it has.
func (s *screen) lines() []string {
	var lines []string
	add := func(style, line string) { lines = append(lines, style+ansi.Truncate(line, s.width, "…")+plain) }
	if s.round == nil {
		add("", "asking the admin server at "+s.top.admin+" …")
	} else {
		for i, line := range s.top.summary(s.round) {
			add(map[bool]string{true: bold, false: ""}[i == 0], line)
		}
	}
	if s.err != nil {
		add(red, printable(s.err.Error()))
	} else {
		lines = append(lines, "")
	}
	if s.round != nil {
		lines = append(lines, s.tabs())
		lines = append(lines, s.table()...)
	}
	help := "q quit  tab list  ↑↓ scroll  s sort  / filter  p pause"
	if s.typing {
		help = "/" + printable(s.filter) + "█  enter keep  esc clear"
	} else if s.paused {
		help = "paused  " + help
	}
	for len(lines) < s.height-1 {
		lines = append(lines, "")
	}
	lines = lines[:max(s.height-1, 0)]
	add(faint, help)
	return lines
}

// tabs is the line of panes and what is shown of the one in view.
func (s *screen) tabs() string {
	var b strings.Builder
	for i, p := range panes {
		style := ""
		if i == s.pane {
			style = reverse
		}
		fmt.Fprintf(&b, "%s %d %s %s ", style, i+1, p.name, plain)
	}
	p := panes[s.pane]
	g := p.table(s.round)
	b.WriteString(" " + g.count())
	if len(p.sorts) > 0 {
		b.WriteString("  by " + p.sorts[s.sorts[p]])
	}
	if s.filter != "" {
		b.WriteString("  with " + printable(s.filter))
	}
	return ansi.Truncate(b.String(), s.width, "…") + plain
}

// table is the head and as many rows of the pane in view as there is room for.
func (s *screen) table() []string {
	g := panes[s.pane].table(s.round)
	lines := g.lines()
	s.scroll = max(0, min(s.scroll, len(g.rows)-max(s.room(), 1)))
	shown := []string{bold + ansi.Truncate(lines[0], s.width, "…") + plain}
	for _, line := range lines[1+s.scroll:] {
		shown = append(shown, ansi.Truncate(line, s.width, "…"))
	}
	return shown
}
