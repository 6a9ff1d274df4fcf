package table

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var opaque = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Random registrations and removals agree with plain lists: order of registration, in all and by owner,
// bytes, lookups; no id is ever made twice, and none that is gone is found.
func TestServicesAgainstModel(t *testing.T) {
	type entry struct {
		id    string
		owner uint32
		bytes int
	}
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 2))
		services := NewServices(300, [TagBytes]byte{byte(seed), 0xff, 0x80})
		owned := make([]Owned, 4)
		var model []entry
		ever := map[string]bool{}
		for range 600 {
			if r.IntN(5) > 1 && !services.Full() {
				owner := uint32(r.IntN(len(owned)))
				s := services.Add(owner, &owned[owner])
				if ever[s.ID] || !opaque.MatchString(s.ID) || len(s.ID) != ServiceIDBytes {
					t.Fatalf("seed %d: id %q, made before: %v", seed, s.ID, ever[s.ID])
				}
				ever[s.ID] = true
				services.SetObject(s, make([]byte, r.IntN(100)))
				services.SetObject(s, make([]byte, r.IntN(100)))
				model = append(model, entry{s.ID, owner, len(s.Object)})
			} else if len(model) > 0 {
				i := r.IntN(len(model))
				s := services.Lookup([]byte(model[i].id))
				services.Forget(s)
				if s.ID != model[i].id {
					t.Fatalf("seed %d: a live service is forgotten", seed)
				}
				services.Remove(s, &owned[s.Owner])
				if services.Forget(s); s.Detail != nil || s.Rights != nil || services.At(s.Index) != nil {
					t.Fatalf("seed %d: a removed service is remembered", seed)
				}
				model = slices.Delete(model, i, i+1)
			}
			var all []entry
			for s := services.First; s != nil; s = s.Next() {
				all = append(all, entry{s.ID, s.Owner, len(s.Object)})
				if services.At(s.Index) != s {
					t.Fatalf("seed %d: service %s is not at its index", seed, s.ID)
				}
			}
			if !slices.Equal(all, model) || services.Len() != len(model) || services.Full() != (len(model) == 300) {
				t.Fatalf("seed %d: %v, want %v", seed, all, model)
			}
			bytes := 0
			for _, e := range model {
				bytes += e.bytes
			}
			if services.Bytes != bytes {
				t.Fatalf("seed %d: %d bytes, want %d", seed, services.Bytes, bytes)
			}
			for owner := range owned {
				var own, want []string
				for s := owned[owner].First; s != nil; s = s.OwnerNext() {
					own = append(own, s.ID)
				}
				for _, e := range model {
					if e.owner == uint32(owner) {
						want = append(want, e.id)
					}
				}
				if !slices.Equal(own, want) || owned[owner].Len != len(want) {
					t.Fatalf("seed %d: owner %d has %v, want %v", seed, owner, own, want)
				}
			}
		}
		for id := range ever {
			there := slices.ContainsFunc(model, func(e entry) bool { return e.id == id })
			if s := services.Lookup([]byte(id)); (s != nil) != there || there && s.ID != id {
				t.Fatalf("seed %d: %s is found: %v, is there: %v", seed, id, s != nil, there)
			}
		}
	}
}

// Ids of another process are not found: only the tag tells them apart.
func TestServiceIDsOfAnotherBoot(t *testing.T) {
	var owned Owned
	ours := NewServices(10, NewBoot([TagBytes + 8]byte{1}, 5).Tag)
	theirs := NewServices(10, NewBoot([TagBytes + 8]byte{2}, 5).Tag)
	id := theirs.Add(0, &owned).ID
	mine := ours.Add(0, &owned).ID
	if id == mine || id[:10] != mine[:10] || ours.Lookup([]byte(id)) != nil {
		t.Fatalf("ours %s, theirs %s", mine, id)
	}
	for _, wrong := range []string{"", mine + "A", mine[1:], strings.ToLower(mine), mine[:21] + "="} {
		if ours.Lookup([]byte(wrong)) != nil {
			t.Errorf("%q is found", wrong)
		}
	}
}

func TestBoot(t *testing.T) {
	random := [TagBytes + 8]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 0, 0, 0, 0, 0, 0, 2}
	want := Boot{Tag: [TagBytes]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, Salt: 2<<56 | 1, Seq: 77}
	if got := NewBoot(random, 77); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Random requests agree with a map: lists by caller and service, lookups by relay id and by the caller's
// id, counts. Relay ids are never made twice and never resolve once free.
func TestSlotsAgainstModel(t *testing.T) {
	type entry struct {
		caller, service uint32
		id              string
		ghost, gone     bool
		relayID         uint64
	}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 3))
		max := 1 + r.IntN(20)
		slots := NewSlots(max, 8, r.Uint64())
		model := map[int32]entry{}
		ever := map[uint64]bool{}
		pick := func(fit func(entry) bool) (int32, bool) {
			var all []int32
			for i, e := range model {
				if fit(e) {
					all = append(all, i)
				}
			}
			if len(all) == 0 {
				return 0, false
			}
			slices.Sort(all)
			return all[r.IntN(len(all))], true
		}
		for range 800 {
			switch r.IntN(6) {
			case 0, 1, 2:
				e := entry{caller: uint32(r.IntN(4)), service: uint32(r.IntN(3)), id: fmt.Sprint(r.IntN(6))}
				_, twice := slots.Find(e.caller, []byte(e.id))
				_, known := pick(func(m entry) bool { return !m.ghost && m.caller == e.caller && m.id == e.id })
				if twice != known {
					t.Fatalf("seed %d: Find says %v", seed, twice)
				}
				if twice || slots.Full() || !slots.Room() {
					break
				}
				i := slots.Open(e.caller, e.service, []byte(e.id))
				e.relayID = slots.RelayID(i)
				if ever[e.relayID] || e.relayID < 1 || e.relayID >= 1<<53 {
					t.Fatalf("seed %d: relay id %d, made before: %v", seed, e.relayID, ever[e.relayID])
				}
				ever[e.relayID] = true
				model[i] = e
			case 3:
				if i, ok := pick(func(e entry) bool { return !e.ghost }); ok {
					slots.Haunt(i)
					e := model[i]
					e.ghost = true
					model[i] = e
				}
			case 4:
				if i, ok := pick(func(e entry) bool { return e.ghost }); ok {
					slots.LeaveCaller(i)
					slots.LeaveCaller(i)
					e := model[i]
					e.gone = true
					model[i] = e
				}
			case 5:
				if i, ok := pick(func(entry) bool { return true }); ok {
					slots.Free(i)
					if _, found := slots.Lookup(model[i].relayID); found {
						t.Fatalf("seed %d: a free slot is found", seed)
					}
					delete(model, i)
				}
			}
			if r.IntN(500) == 0 {
				slots.GrowIDs(8 + r.IntN(20))
			}
			live, byCaller, byService := 0, map[uint32]int{}, map[uint32]int{}
			for i, e := range model {
				if !e.ghost {
					live++
				}
				if !e.gone {
					byCaller[e.caller]++
				}
				byService[e.service]++
				at, ok := slots.Lookup(e.relayID)
				if s := slots.At(i); !ok || at != i || s.Caller != e.caller || s.Service != e.service || string(slots.ID(i)) != e.id || s.CallerGone != e.gone || (s.State == SlotGhost) != e.ghost {
					t.Fatalf("seed %d: slot %d is %+v, want %+v", seed, i, s, e)
				}
			}
			if slots.Live != live || slots.Ghosts != len(model)-live || slots.Full() != (live == max) || slots.Room() != (len(model) < 2*max) {
				t.Fatalf("seed %d: %d live, %d ghosts, want %d of %d", seed, slots.Live, slots.Ghosts, live, len(model))
			}
			for n := range uint32(4) {
				count := 0
				for i := slots.OfCaller(n); i >= 0; i = slots.NextOfCaller(i) {
					if e, ok := model[i]; !ok || e.caller != n || e.gone {
						t.Fatalf("seed %d: slot %d on the list of caller %d", seed, i, n)
					}
					count++
				}
				if count != byCaller[n] {
					t.Fatalf("seed %d: caller %d has %d, want %d", seed, n, count, byCaller[n])
				}
				count = 0
				for i := slots.OfService(n); i >= 0; i = slots.NextOfService(i) {
					if e, ok := model[i]; !ok || e.service != n {
						t.Fatalf("seed %d: slot %d on the list of service %d", seed, i, n)
					}
					count++
				}
				if count != byService[n] {
					t.Fatalf("seed %d: service %d has %d, want %d", seed, n, count, byService[n])
				}
			}
		}
		for id := range ever {
			if i, ok := slots.Lookup(id); ok && model[i].relayID != id {
				t.Fatalf("seed %d: relay id %d resolves to slot %d", seed, id, i)
			}
		}
	}
}

// Whatever the salt, generations stay within 53 bits and begin anew before they would not.
func TestRelayIDsWrap(t *testing.T) {
	slots := NewSlots(1, 4, 1<<64-1)
	slots.slots[0].generation = 1<<(53-slots.indexBits) - 2
	slots.used = 1
	slots.free = 1
	var got []uint64
	for range 3 {
		i := slots.Open(0, 0, []byte("1"))
		got = append(got, slots.RelayID(i))
		slots.Free(i)
	}
	if want := []uint64{1<<53 - 2, 2, 4}; !slices.Equal(got, want) {
		t.Errorf("relay ids %v, want %v", got, want)
	}
	if _, ok := slots.Lookup(1<<64 - 1); ok {
		t.Error("an id beyond all is found")
	}
}
