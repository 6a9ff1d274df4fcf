package table

import (
	"encoding/base64"
	"encoding/binary"
	"math"
)

// A service id is 22 characters of base64url: 4 for the table index (24 bits), 6 for the generation of
// that index (36 bits), 12 for the boot tag (72 random bits). Looking one up reads the index and
// compares the text, so nothing chosen by a peer is ever hashed.
const (
	ServiceIDBytes = indexChars + generationChars + TagBytes*4/3

	// TagBytes is the length of the random tag that tells this process's ids from every other's.
	TagBytes = 9

	indexChars      = 4
	generationChars = 6
	alphabet        = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
)

var digits = func() (d [256]uint8) {
	for i := range d {
		d[i] = 0xff
	}
	for i := range len(alphabet) {
		d[alphabet[i]] = uint8(i)
	}
	return d
}()

// Service is one registered client service: what a message needs of it, in one cache line, so that many
// services cost little more than one.
type Service struct {
	generation [generationChars]byte // as in the id
	live       bool
	Owner      uint32  // the owning peer
	Index      uint32  // of this table; a later service may get the same
	Rights     []uint8 // by principal
	Dropped    uint64  // notifications dropped since the owner was told last
	Forwards   uint64  // messages forwarded, for the operator
	*Detail
}

// Detail is the rest of a Service.
type Detail struct {
	ID          string // ServiceIDBytes characters, never used twice
	Object      []byte // the encoded ClientService object, {"serviceId":…,"clientId":…,"metadata":…}
	Protocol    string // metadata.protocol
	HasProtocol bool   // whether that is a string
	Inflight    Quota  // requests charged to this service

	prev, next           *Service // in registration order
	ownerPrev, ownerNext *Service
}

// Next returns the service registered after s, nil at the end.
func (s *Service) Next() *Service { return s.next }

// OwnerNext returns the next service of the same owner, nil at the end.
func (s *Service) OwnerNext() *Service { return s.ownerNext }

// Owned is the list of one owner's services, in registration order; the zero value is empty.
type Owned struct {
	First, last *Service
	Len         int
}

// Services is the catalogue: a table by index and a list in registration order.
type Services struct {
	First, last *Service
	Bytes       int // of Object of all services

	chunks      []*[chunkServices]Service
	span        int // indexes ever used
	free        []uint32
	generations []uint64
	tag         string
	max, live   int
}

// chunkServices is how many services are allocated together. They never move.
const (
	chunkBits     = 8
	chunkServices = 1 << chunkBits
)

// NewServices returns an empty catalogue of at most max services, whose ids end in tag.
func NewServices(max int, tag [TagBytes]byte) *Services {
	return &Services{max: max, tag: base64.RawURLEncoding.EncodeToString(tag[:])}
}

// Len is the number of services.
func (t *Services) Len() int { return t.live }

// Full reports whether no further service fits.
func (t *Services) Full() bool { return t.live >= t.max }

// Span is one more than the greatest index in use.
func (t *Services) Span() int { return t.span }

// At returns the service at an index, nil when there is none.
func (t *Services) At(index uint32) *Service {
	if s := t.place(index); s.live {
		return s
	}
	return nil
}

func (t *Services) place(index uint32) *Service {
	return &t.chunks[index>>chunkBits][index%chunkServices]
}

// indexOf returns the table index that an id begins with, one that no table reaches when it begins with anything else.
func indexOf(id []byte) uint32 {
	a, b, c, d := uint32(digits[id[0]]), uint32(digits[id[1]]), uint32(digits[id[2]]), uint32(digits[id[3]])
	if (a | b | c | d) > 63 {
		return math.MaxUint32
	}
	return a<<18 | b<<12 | c<<6 | d
}

// Lookup returns the live service with exactly this id, nil when there is none.
func (t *Services) Lookup(id []byte) *Service {
	if len(id) != ServiceIDBytes {
		return nil
	}
	index := indexOf(id)
	if index >= uint32(t.span) {
		return nil
	}
	s := t.place(index)
	if !s.live || string(s.generation[:]) != string(id[indexChars:indexChars+generationChars]) || string(id[indexChars+generationChars:]) != t.tag {
		return nil
	}
	return s
}

// Is reports whether s, which once had the id, still is that service: its place may have been given to another.
func (s *Service) Is(id []byte) bool {
	return s.live && string(s.generation[:]) == string(id[indexChars:indexChars+generationChars])
}

// crowdServices is how many services' lines no longer fit into a processor's nearer caches, together with all
// else that is in use.
const crowdServices = 4096

// Crowded reports whether there are so many services that Prefetch is worth a call.
func (t *Services) Crowded() bool { return t.span > crowdServices }

// Prefetch has the service with an id, if it is one, fetched into the caches for a Lookup to come: with tens of
// thousands of services that is most of what a Lookup costs.
func (t *Services) Prefetch(id []byte) {
	if len(id) < indexChars {
		return
	}
	if index := indexOf(id); index < uint32(t.span) {
		prefetch(t.place(index))
	}
}

// Add makes a service with a fresh id at the end of the catalogue and of its owner's list. The caller
// has checked Full and fills in the rest, Object through SetObject.
func (t *Services) Add(owner uint32, owned *Owned) *Service {
	if t.Full() {
		panic("table: services full")
	}
	var index uint32
	if n := len(t.free); n > 0 {
		index, t.free = t.free[n-1], t.free[:n-1]
	} else {
		index = uint32(t.span)
		if t.span++; index%chunkServices == 0 {
			t.chunks = append(t.chunks, new([chunkServices]Service))
		}
		t.generations = append(t.generations, 0)
	}
	t.generations[index]++
	s := t.place(index)
	*s = Service{Index: index, Owner: owner, live: true, Detail: &Detail{ID: t.id(index, t.generations[index])}}
	copy(s.generation[:], s.ID[indexChars:])
	t.live++

	s.prev = t.last
	if t.last != nil {
		t.last.next = s
	} else {
		t.First = s
	}
	t.last = s

	s.ownerPrev = owned.last
	if owned.last != nil {
		owned.last.ownerNext = s
	} else {
		owned.First = s
	}
	owned.last = s
	owned.Len++
	return s
}

// SetObject replaces the encoded ClientService object.
func (t *Services) SetObject(s *Service, object []byte) {
	t.Bytes += len(object) - len(s.Object)
	s.Object = object
}

// Remove takes s out of the catalogue. Its id is never made again. Until Forget or the next Add s keeps
// its fields and its links onward, so a caller may still read them.
func (t *Services) Remove(s *Service, owned *Owned) {
	if !s.live {
		panic("table: service removed twice")
	}
	s.live = false
	t.free = append(t.free, s.Index)
	t.live--
	t.Bytes -= len(s.Object)

	if s.prev != nil {
		s.prev.next = s.next
	} else {
		t.First = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	} else {
		t.last = s.prev
	}
	if s.ownerPrev != nil {
		s.ownerPrev.ownerNext = s.ownerNext
	} else {
		owned.First = s.ownerNext
	}
	if s.ownerNext != nil {
		s.ownerNext.ownerPrev = s.ownerPrev
	} else {
		owned.last = s.ownerPrev
	}
	owned.Len--
}

// Forget lets go of what a removed service still refers to: its place in the table may stay free for
// long, and would keep all that alive.
func (t *Services) Forget(s *Service) {
	if !s.live {
		s.Detail, s.Rights = nil, nil
	}
}

func (t *Services) id(index uint32, generation uint64) string {
	b := make([]byte, 0, ServiceIDBytes)
	for shift := 18; shift >= 0; shift -= 6 {
		b = append(b, alphabet[index>>uint(shift)&63])
	}
	for shift := 30; shift >= 0; shift -= 6 {
		b = append(b, alphabet[generation>>uint(shift)&63])
	}
	return string(append(b, t.tag...))
}

// Boot is what makes one process's ids and numbers differ from every other's.
type Boot struct {
	Tag  [TagBytes]byte // of service ids
	Salt uint64         // of relay request ids
	Seq  uint64         // the first serverSeq: microseconds since 1970
}

// NewBoot derives a Boot from TagBytes+8 random bytes and the time in microseconds since 1970.
func NewBoot(random [TagBytes + 8]byte, micros uint64) Boot {
	b := Boot{Salt: binary.LittleEndian.Uint64(random[TagBytes:]), Seq: micros}
	copy(b.Tag[:], random[:TagBytes])
	return b
}
