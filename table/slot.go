package table

import (
	"hash/maphash"
	"math/bits"
)

// SlotState is where a request stands.
type SlotState uint8

const (
	SlotFree  SlotState = iota
	SlotLive            // the caller waits for its one answer
	SlotGhost           // the caller has been answered or is gone; the owner still works
)

// Slot is one request in flight. It holds no pointer, so the garbage collector never looks at it.
type Slot struct {
	generation uint64
	Started    int64 // ns since the relay started
	Principal  int32 // charged for it, -1 once that was given back
	Caller     uint32
	Service    uint32
	idBytes    uint16
	State      SlotState
	CallerGone bool

	callerPrev, callerNext   int32 // slot + 1, 0 for none
	servicePrev, serviceNext int32
	hashNext                 int32
	bucket                   uint32
}

// Slots is the ring of requests in flight, with an index by relay id, by caller, by service and by
// (caller, id). Every operation is O(1) in the number of requests.
//
// There is room for as many ghosts as for live requests, so that a cancelled request frees its slot at
// once while its charges stay. Memory is reserved at start and becomes resident only as it is used;
// free slots are reused newest first.
type Slots struct {
	slots       []Slot
	ids         []byte // idBytesMax bytes a slot
	idBytesMax  int
	free        int32 // slot + 1
	used        int32 // slots ever used
	buckets     []int32
	callerHead  []int32
	serviceHead []int32
	seed        maphash.Seed
	salt        uint64
	indexBits   uint
	max         int

	Live, Ghosts int
}

// NewSlots returns slots for max live requests whose ids have at most idBytesMax bytes. The salt makes
// relay ids differ from those of an earlier process.
func NewSlots(max, idBytesMax int, salt uint64) *Slots {
	indexBits := uint(bits.Len(uint(2*max - 1)))
	t := &Slots{
		slots:      make([]Slot, 2*max),
		ids:        make([]byte, 2*max*idBytesMax),
		idBytesMax: idBytesMax,
		buckets:    make([]int32, 1<<bits.Len(uint(max-1))),
		seed:       maphash.MakeSeed(),
		indexBits:  indexBits,
		max:        max,
	}
	// Half of the generations lie ahead of any salt, so a slot would have to be used 2^30 times or
	// more before its relay ids could repeat.
	t.salt = salt & (1<<(53-indexBits-1) - 1)
	return t
}

// GrowIDs makes room for ids of at most idBytesMax bytes, if there is less.
func (t *Slots) GrowIDs(idBytesMax int) {
	if idBytesMax <= t.idBytesMax {
		return
	}
	ids := make([]byte, len(t.slots)*idBytesMax)
	for i := range t.used {
		copy(ids[int(i)*idBytesMax:], t.ID(i))
	}
	t.ids, t.idBytesMax = ids, idBytesMax
}

// At returns the slot at an index.
func (t *Slots) At(i int32) *Slot { return &t.slots[i] }

// Full reports whether no further live request fits.
func (t *Slots) Full() bool { return t.Live >= t.max }

// Room reports whether a record can be had at all: ghosts may have taken what live requests left.
func (t *Slots) Room() bool { return t.free != 0 || int(t.used) < len(t.slots) }

// RelayID is the id under which the owner sees the request: 1 … 2^53-1.
func (t *Slots) RelayID(i int32) uint64 {
	return t.slots[i].generation<<t.indexBits | uint64(i)
}

// ID returns the caller's id as spelled; it aliases the slot and lives as long as the request.
func (t *Slots) ID(i int32) []byte {
	at := int(i) * t.idBytesMax
	return t.ids[at : at+int(t.slots[i].idBytes)]
}

// Open takes a slot for a request. The caller has checked Full, Room and the length of id.
func (t *Slots) Open(caller, service uint32, id []byte) int32 {
	var i int32
	if t.free != 0 {
		i = t.free - 1
		t.free = t.slots[i].callerNext
	} else {
		i = t.used
		t.used++
		t.slots[i].generation = t.salt
	}
	s := &t.slots[i]
	generation := s.generation + 1
	if generation >= 1<<(53-t.indexBits) {
		generation = 1
	}
	*s = Slot{generation: generation, Caller: caller, Service: service, State: SlotLive, idBytes: uint16(len(id)), Principal: -1}
	copy(t.ids[int(i)*t.idBytesMax:], id)

	s.bucket = t.hash(caller, id)
	s.hashNext = t.buckets[s.bucket]
	t.buckets[s.bucket] = i + 1

	head := headOf(&t.callerHead, caller)
	s.callerNext = *head
	if *head != 0 {
		t.slots[*head-1].callerPrev = i + 1
	}
	*head = i + 1
	head = headOf(&t.serviceHead, service)
	s.serviceNext = *head
	if *head != 0 {
		t.slots[*head-1].servicePrev = i + 1
	}
	*head = i + 1
	t.Live++
	return i
}

// Lookup returns the live or ghost slot with this relay id.
func (t *Slots) Lookup(relayID uint64) (int32, bool) {
	i := relayID & (1<<t.indexBits - 1)
	if i >= uint64(t.used) || t.slots[i].generation != relayID>>t.indexBits || t.slots[i].State == SlotFree {
		return 0, false
	}
	return int32(i), true
}

// Find returns the live slot of this caller with exactly this id.
func (t *Slots) Find(caller uint32, id []byte) (int32, bool) {
	for next := t.buckets[t.hash(caller, id)]; next != 0; {
		i := next - 1
		s := &t.slots[i]
		if s.Caller == caller && string(t.ID(i)) == string(id) {
			return i, true
		}
		next = s.hashNext
	}
	return 0, false
}

// OfCaller returns the first slot of a caller, ghosts included, -1 for none.
func (t *Slots) OfCaller(caller uint32) int32 { return first(t.callerHead, caller) }

// OfService returns the first slot of a service, ghosts included, -1 for none.
func (t *Slots) OfService(service uint32) int32 { return first(t.serviceHead, service) }

// NextOfCaller returns the slot after i in its caller's list, -1 for none.
func (t *Slots) NextOfCaller(i int32) int32 { return t.slots[i].callerNext - 1 }

// NextOfService returns the slot after i in its service's list, -1 for none.
func (t *Slots) NextOfService(i int32) int32 { return t.slots[i].serviceNext - 1 }

// Haunt turns a live slot into a ghost: its id may be used again by the caller and its place among the
// live is free, but the relay id still resolves.
func (t *Slots) Haunt(i int32) {
	s := &t.slots[i]
	if s.State != SlotLive {
		panic("table: slot is not live")
	}
	t.unhash(i)
	s.State = SlotGhost
	t.Live--
	t.Ghosts++
}

// LeaveCaller takes a slot off its caller's list, when the caller is gone.
func (t *Slots) LeaveCaller(i int32) {
	s := &t.slots[i]
	if s.CallerGone {
		return
	}
	if s.callerNext != 0 {
		t.slots[s.callerNext-1].callerPrev = s.callerPrev
	}
	if s.callerPrev != 0 {
		t.slots[s.callerPrev-1].callerNext = s.callerNext
	} else {
		t.callerHead[s.Caller] = s.callerNext
	}
	s.callerPrev, s.callerNext, s.CallerGone = 0, 0, true
}

// Free ends a slot, live or ghost. Its relay id never resolves again.
func (t *Slots) Free(i int32) {
	s := &t.slots[i]
	switch s.State {
	case SlotLive:
		t.unhash(i)
		t.Live--
	case SlotGhost:
		t.Ghosts--
	default:
		panic("table: slot freed twice")
	}
	t.LeaveCaller(i)
	if s.serviceNext != 0 {
		t.slots[s.serviceNext-1].servicePrev = s.servicePrev
	}
	if s.servicePrev != 0 {
		t.slots[s.servicePrev-1].serviceNext = s.serviceNext
	} else {
		t.serviceHead[s.Service] = s.serviceNext
	}
	s.State = SlotFree
	s.callerNext = t.free
	t.free = i + 1
}

func (t *Slots) unhash(i int32) {
	at := &t.buckets[t.slots[i].bucket]
	for *at != i+1 {
		at = &t.slots[*at-1].hashNext
	}
	*at = t.slots[i].hashNext
	t.slots[i].hashNext = 0
}

func (t *Slots) hash(caller uint32, id []byte) uint32 {
	h := maphash.Bytes(t.seed, id) ^ uint64(caller)*0x9e3779b97f4a7c15
	return uint32(h>>32^h) & uint32(len(t.buckets)-1)
}

func headOf(heads *[]int32, at uint32) *int32 {
	for uint32(len(*heads)) <= at {
		*heads = append(*heads, 0)
	}
	return &(*heads)[at]
}

func first(heads []int32, at uint32) int32 {
	if at >= uint32(len(heads)) {
		return -1
	}
	return heads[at] - 1
}
