package table

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		if got := recover(); got != want {
			t.Errorf("panics with %v, want %s", got, want)
		}
	}()
	f()
}

func TestQuota(t *testing.T) {
	q := Quota{Max: 3}
	for _, step := range []struct {
		n    int
		ok   bool
		used int
	}{{2, true, 2}, {2, false, 2}, {1, true, 3}, {1, false, 3}, {0, true, 3}} {
		if ok := q.Take(step.n); ok != step.ok || q.Used != step.used {
			t.Errorf("Take(%d) = %v, used %d", step.n, ok, q.Used)
		}
	}
	q.Give(2)
	if !q.Fits(2) || q.Fits(3) || q.Used != 1 {
		t.Errorf("after Give: used %d", q.Used)
	}
	mustPanic(t, "table: quota given back more than taken", func() { q.Give(2) })
	unlimited := Quota{}
	if !unlimited.Take(1<<40) || unlimited.Used != 1<<40 {
		t.Error("a quota without a limit refuses")
	}
}

func TestBrokenInvariantsPanic(t *testing.T) {
	var owned Owned
	services := NewServices(1, [TagBytes]byte{})
	s := services.Add(0, &owned)
	mustPanic(t, "table: services full", func() { services.Add(0, &owned) })
	services.Remove(s, &owned)
	mustPanic(t, "table: service removed twice", func() { services.Remove(s, &owned) })
	slots := NewSlots(2, 8, 0)
	i := slots.Open(0, 0, []byte("1"))
	slots.Haunt(i)
	mustPanic(t, "table: slot is not live", func() { slots.Haunt(i) })
	slots.Free(i)
	mustPanic(t, "table: slot freed twice", func() { slots.Free(i) })
}

// An action's line is as long as its number says here, so that bytes can be counted.
func action(seq uint64, bytes int) Action {
	return Action{Seq: seq, Line: make([]byte, bytes), Rights: []uint8{uint8(seq)}}
}

func TestReplay(t *testing.T) {
	r := NewReplay(3, 100, 10)
	covered := func(want string) {
		t.Helper()
		var got []string
		for seq := uint64(8); seq <= 22; seq++ {
			if count, ok := r.After(seq); ok {
				var seqs []string
				for n := count; n > 0; n-- {
					seqs = append(seqs, fmt.Sprint(r.Latest(n).Seq))
				}
				got = append(got, fmt.Sprintf("%d:%s", seq, strings.Join(seqs, ",")))
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("got  %s\nwant %s", s, want)
		}
	}
	covered("10: 11: 12: 13: 14: 15: 16: 17: 18: 19: 20: 21: 22:")
	r.Add(action(11, 10))
	r.Add(action(13, 10)) // 12 was for nobody
	covered("10:11,13 11:13 12:13 13: 14: 15: 16: 17: 18: 19: 20: 21: 22:")
	r.Add(action(14, 10))
	r.Add(action(15, 10)) // the fourth: 11 goes
	covered("11:13,14,15 12:13,14,15 13:14,15 14:15 15: 16: 17: 18: 19: 20: 21: 22:")
	r.Add(action(16, 85)) // 105 bytes with the latest two
	covered("14:15,16 15:16 16: 17: 18: 19: 20: 21: 22:")
	if r.Bytes != 95 || r.Len() != 2 {
		t.Errorf("%d bytes, %d actions", r.Bytes, r.Len())
	}
	r.Each(func(a *Action) { a.Rights = []uint8{7} })
	if a := r.Latest(2); a.Seq != 15 || !slices.Equal(a.Rights, []uint8{7}) {
		t.Errorf("after Each: %+v", a)
	}
	r.Limit(90)
	covered("15:16 16: 17: 18: 19: 20: 21: 22:")
	r.Add(action(17, 91)) // fits not at all: nothing before it is covered any more
	covered("17: 18: 19: 20: 21: 22:")
	for seq := uint64(18); seq <= 21; seq++ {
		r.Add(action(seq, 1))
	}
	covered("18:19,20,21 19:20,21 20:21 21: 22:")
	r.Limit(0)
	if covered("21: 22:"); r.Bytes != 0 || r.Len() != 0 {
		t.Errorf("%d bytes, %d actions", r.Bytes, r.Len())
	}
}

func TestReplayOfNothing(t *testing.T) {
	r := NewReplay(0, 100, 10)
	r.Add(action(11, 1))
	if _, ok := r.After(10); ok || r.Len() != 0 || r.Bytes != 0 {
		t.Error("a replay buffer without room covers something")
	}
	if count, ok := r.After(11); !ok || count != 0 {
		t.Error("there is nothing after the latest")
	}
}

// A long life of the ring, with its growth and wrapping, against a slice.
func TestReplayAgainstModel(t *testing.T) {
	const max, bytesMax = 50, 700
	r := NewReplay(max, bytesMax, 0)
	var model []Action
	for seq := uint64(1); seq < 2000; seq++ {
		a := action(seq, int(seq*7%41))
		r.Add(a)
		model = append(model, a)
		bytes := 0
		for _, m := range model {
			bytes += len(m.Line)
		}
		for len(model) > max || bytes > bytesMax {
			bytes -= len(model[0].Line)
			model = model[1:]
		}
		if r.Bytes != bytes || r.Len() != len(model) {
			t.Fatalf("after %d: %d bytes, %d actions, want %d and %d", seq, r.Bytes, r.Len(), bytes, len(model))
		}
		for i := range model {
			if got := r.Latest(len(model) - i); got.Seq != model[i].Seq {
				t.Fatalf("after %d: action %d is %d", seq, i, got.Seq)
			}
		}
		from := model[0].Seq
		if count, ok := r.After(from - 1); !ok || count != len(model) {
			t.Fatalf("after %d: %d behind %d", seq, count, from-1)
		}
		if _, ok := r.After(from - 2); ok && from > 1 {
			t.Fatalf("after %d: covers %d", seq, from-1)
		}
	}
}

func TestResume(t *testing.T) {
	r := NewResume(2)
	there := func(want string) {
		t.Helper()
		var got []string
		for _, client := range []string{"a", "b", "c"} {
			if what, ok := r.Get(client); ok {
				got = append(got, client+what.Version)
			}
		}
		if s := strings.Join(got, " "); s != want || r.Len() != len(got) {
			t.Errorf("remembered are %d: %s, want %s", r.Len(), s, want)
		}
	}
	there("")
	r.Put("a", Resumable{Version: "1"})
	there("a1")
	r.Put("b", Resumable{Version: "2"})
	r.Put("a", Resumable{Version: "3"}) // now b is the oldest
	there("a3 b2")
	r.Put("c", Resumable{Version: "4"})
	there("a3 c4")
	r.Put("a", Resumable{Version: "5"})
	r.Put("a", Resumable{Version: "6"})
	r.Put("b", Resumable{Version: "7", Principal: "p", Epoch: 8, Since: 9, Subscribed: 3})
	there("a6 b7")
	if what, _ := r.Get("b"); what != (Resumable{Version: "7", Principal: "p", Epoch: 8, Since: 9, Subscribed: 3}) {
		t.Errorf("b: %+v", what)
	}
	none := NewResume(0)
	none.Put("a", Resumable{})
	if _, ok := none.Get("a"); ok || none.Len() != 0 {
		t.Error("a memory for nobody remembers")
	}
	one := NewResume(1)
	for _, client := range []string{"a", "b", "b", "a"} {
		one.Put(client, Resumable{Version: client})
		if what, ok := one.Get(client); !ok || what.Version != client || one.Len() != 1 {
			t.Errorf("%s: %+v, %d remembered", client, what, one.Len())
		}
	}
}
