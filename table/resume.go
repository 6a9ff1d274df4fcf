package table

// Resumable is what is remembered of a client for its reconnect.
type Resumable struct {
	Version    string // negotiated protocol version
	Principal  string // by name
	Epoch      uint64 // rights epoch of that principal then
	Since      uint64 // serverSeq from which its rights have been what they are
	Subscribed uint8  // channels, one bit each
}

type resumeEntry struct {
	Resumable
	client     string
	prev, next *resumeEntry // from newest to oldest
}

// Resume remembers the latest clients by clientId; the one not seen for longest is forgotten first.
type Resume struct {
	max            int
	entries        map[string]*resumeEntry
	newest, oldest *resumeEntry
}

// NewResume returns a memory for max clients; 0 remembers none.
func NewResume(max int) *Resume { return &Resume{max: max, entries: map[string]*resumeEntry{}} }

// Len is the number of clients remembered.
func (r *Resume) Len() int { return len(r.entries) }

// Get returns what is remembered of a client.
func (r *Resume) Get(client string) (Resumable, bool) {
	e := r.entries[client]
	if e == nil {
		return Resumable{}, false
	}
	return e.Resumable, true
}

// Put remembers a client, as the newest.
func (r *Resume) Put(client string, what Resumable) {
	if r.max == 0 {
		return
	}
	e := r.entries[client]
	switch {
	case e != nil:
		r.unlink(e)
	case len(r.entries) >= r.max:
		e = r.oldest
		r.unlink(e)
		delete(r.entries, e.client)
		e.client = client
		r.entries[client] = e
	default:
		e = &resumeEntry{client: client}
		r.entries[client] = e
	}
	e.Resumable = what
	e.prev, e.next = nil, r.newest
	if r.newest != nil {
		r.newest.prev = e
	} else {
		r.oldest = e
	}
	r.newest = e
}

func (r *Resume) unlink(e *resumeEntry) {
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		r.newest = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		r.oldest = e.prev
	}
}
