package table

import "testing"

func TestServiceIDs(t *testing.T) {
	services := NewServices(4, [TagBytes]byte{1})
	var owned Owned
	a := services.Add(7, &owned)
	b := services.Add(7, &owned)
	if at, bt := services.place(a.Index), services.place(b.Index); at != a || bt != b {
		t.Fatal("services have moved")
	}
	if got := services.Lookup([]byte(a.ID)); got != a {
		t.Fatalf("lookup of the first: %v", got)
	}
	for i := range a.ID {
		id := []byte(a.ID)
		for c := range 256 {
			if id[i] = byte(c); string(id) == a.ID || string(id) == b.ID {
				continue
			}
			if got := services.Lookup(id); got != nil {
				t.Fatalf("%q found %q", id, got.ID)
			}
		}
	}
	id := a.ID
	services.Remove(a, &owned)
	if services.Lookup([]byte(id)) != nil || services.At(0) != nil {
		t.Fatal("a removed service is found")
	}
	c := services.Add(9, &owned)
	if c.Index != 0 || services.Lookup([]byte(id)) != nil || services.Lookup([]byte(c.ID)) != c {
		t.Fatal("a stale id reaches a successor")
	}
	services.Remove(b, &owned)
	services.Remove(c, &owned)
	if services.Len() != 0 || services.First != nil || owned.Len != 0 || services.Bytes != 0 {
		t.Fatal("not empty")
	}
}

func TestPrefetchTakesAnything(t *testing.T) {
	services := NewServices(crowdServices+2, [TagBytes]byte{1})
	var owned Owned
	for services.Len() <= crowdServices {
		if services.Crowded() {
			t.Fatalf("%d services are a crowd", services.Len())
		}
		services.Add(1, &owned)
	}
	if !services.Crowded() {
		t.Fatalf("%d services are no crowd", services.Len())
	}
	for s := services.First; s != nil; s = s.Next() {
		services.Prefetch([]byte(s.ID))
	}
	for _, id := range []string{"", "A", "____", "\xff\xff\xff\xff", "    ", "AAAA"} {
		services.Prefetch([]byte(id))
	}
}
