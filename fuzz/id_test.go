package fuzz

import (
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/table"
)

// FuzzServiceIDs registers and removes services and looks things up that may be ids: only a live service's
// own id finds it, and no id comes twice.
func FuzzServiceIDs(f *testing.F) {
	f.Add([]byte{1, 1, 0, 1, 3}, "AAAAAAAAABAQIDBAUGBwgJ")
	f.Add([]byte{1, 0, 1, 0, 1, 0}, "AAAAAAAAAB\xff\xff")
	f.Add([]byte{}, "")
	f.Fuzz(func(t *testing.T, ops []byte, text string) {
		services := table.NewServices(16, [table.TagBytes]byte{1, 2, 3, 4, 5, 6, 7, 8, 9})
		var owned table.Owned
		var live []*table.Service
		ever := map[string]bool{}
		for _, op := range ops {
			if op%4 > 0 && !services.Full() {
				s := services.Add(uint32(op), &owned)
				if ever[s.ID] || len(s.ID) > 64 {
					t.Fatalf("id %q", s.ID)
				}
				ever[s.ID] = true
				live = append(live, s)
			} else if len(live) > 0 {
				i := int(op) % len(live)
				services.Remove(live[i], &owned)
				live = append(live[:i], live[i+1:]...)
			}
		}
		alive := map[string]bool{}
		for _, s := range live {
			alive[s.ID] = true
			if services.Lookup([]byte(s.ID)) != s {
				t.Fatalf("%s is not found", s.ID)
			}
			for i := range s.ID { // one character off
				wrong := []byte(s.ID)
				wrong[i] ^= byte(len(text) + 1)
				if found := services.Lookup(wrong); found != nil && found.ID != string(wrong) {
					t.Fatalf("%q finds %s", wrong, found.ID)
				}
			}
		}
		for id := range ever {
			if (services.Lookup([]byte(id)) != nil) != alive[id] {
				t.Fatalf("%s: found %v", id, !alive[id])
			}
		}
		if found := services.Lookup([]byte(text)); (found != nil) != alive[text] {
			t.Fatalf("%q finds %v", text, found)
		}
	})
}

// FuzzWheel sets, moves and takes off timers and lets time pass: each comes exactly when it is due, and the
// wheel never asks to be called later than its precision allows.
func FuzzWheel(f *testing.F) {
	f.Add([]byte{0, 1, 0, 9, 4, 200, 3, 3, 3})
	f.Add([]byte{0, 255, 255, 4, 255, 255, 5, 0, 0})
	f.Fuzz(func(t *testing.T, ops []byte) {
		const precision = 17 * time.Millisecond
		var w table.Wheel
		due := map[int32]time.Duration{}
		now := time.Hour
		w.Advance(now)
		for len(ops) >= 3 {
			h, amount := int32(ops[0]%8), time.Duration(ops[1])<<(ops[2]%40)
			switch ops[0] >> 6 {
			case 0, 1:
				w.Add(h, now+amount)
				due[h] = now + amount
			case 2:
				w.Remove(h)
				delete(due, h)
			default:
				now += amount
				w.Advance(now)
				for h, ok := w.Pop(); ok; h, ok = w.Pop() {
					if at, armed := due[h]; !armed || at > now {
						t.Fatalf("timer %d comes at %v, due %v (%v)", h, now, at, armed)
					}
					delete(due, h)
				}
			}
			ops = ops[3:]
			next, ok := w.Next()
			if w.Len() != len(due) || ok != (len(due) > 0) {
				t.Fatalf("%d timers, want %d", w.Len(), len(due))
			}
			for h, at := range due {
				if now < at && next > at+precision || at <= now && next > now+precision {
					t.Fatalf("timer %d is due at %v, now is %v, next is %v", h, at, now, next)
				}
				if w.Armed(h) != true {
					t.Fatalf("timer %d is not armed", h)
				}
			}
		}
	})
}
