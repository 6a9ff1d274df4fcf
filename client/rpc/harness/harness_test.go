package harness

import (
	"context"
	"errors"
	"slices"
	"testing"
)

func TestRunWhenIdle(t *testing.T) {
	release := make(chan struct{})
	m := New(func(context.Context, string) (string, error) { <-release; return "ok", nil })
	defer m.Close()
	l, err := m.CreateLane(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan struct{})
	l.RunWhenIdle(func() { close(ran) }) // at once
	<-ran
	asked := make(chan struct{})
	stop := m.Events(EventFilter{Kinds: []string{"asked"}}, func(context.Context, Event) { close(asked) })
	defer stop()
	done := make(chan error)
	go func() {
		_, err := l.Ask(t.Context(), "x")
		done <- err
	}()
	<-asked
	ran = make(chan struct{})
	l.RunWhenIdle(func() { close(ran) })
	select {
	case <-ran:
		t.Error("ran while something was asked")
	default:
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	<-ran
}

func TestWhatIsRefused(t *testing.T) {
	m := New(func(context.Context, string) (string, error) { return "", errors.New("no model") })
	defer m.Close()
	l, err := m.CreateLane(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	id, err := m.CreateSession(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	s, none := m.Session(id), "none"
	for name, f := range map[string]func() error{
		"a lane without a name":     func() error { _, err := m.CreateLane(t.Context(), "", nil); return err },
		"a second lane":             func() error { _, err := m.CreateLane(t.Context(), "a", nil); return err },
		"no question":               func() error { _, err := l.Ask(t.Context(), ""); return err },
		"a failing model":           func() error { _, err := l.Ask(t.Context(), "x"); return err },
		"merging nothing":           func() error { _, err := m.Merge(t.Context(), nil, l); return err },
		"a session without title":   func() error { return s.Rename(t.Context(), "") },
		"a note below none":         func() error { _, err := s.View("a").Append(t.Context(), "x", &none); return err },
		"a caller without patience": func() error { _, err := l.Ask(canceled(), "y"); return err },
	} {
		if f() == nil {
			t.Errorf("%s is not refused", name)
		}
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestLocalMembers(t *testing.T) {
	m := New(func(_ context.Context, text string) (string, error) { return text, nil })
	defer m.Close()
	m.SetTools([]Tool{{Name: "t"}})
	if tools := m.GetTools(); len(tools) != 1 || tools[0].Name != "t" {
		t.Error(tools)
	}
	m.Hooks().BeforeAsk = func(text string) string { return text + "!" }
	l, err := m.CreateLane(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if reply, err := l.Ask(t.Context(), "hi"); reply.Text != "hi!" || err != nil {
		t.Error(reply, err)
	}
	var said []string
	l.Transcript(func(m Message) bool { said = append(said, m.Role); return false })
	if !slices.Equal(said, []string{"user"}) {
		t.Error(said)
	}
	id, err := m.CreateSession(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	s := m.Session(id)
	s.Mutate(func(m *Metadata) { *m = Metadata{ID: "other", Title: "new"} })
	if got := s.Metadata(); got != (Metadata{ID: id, Title: "new"}) {
		t.Error(got)
	}
	next := s.IDGenerator()
	if a, b := next(), next(); a == b {
		t.Error(a)
	}
}
