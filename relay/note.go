package relay

import "time"

// NoteKind says what a Note is about.
type NoteKind uint8

const (
	NoteClosed NoteKind = iota // the relay closed a connection; Word is the reason
	NoteLimit                  // a client ran into a limit; Word names it
)

// Note is something that the operator should know. It holds no payload, metadata or token.
type Note struct {
	Number    uint64 // grows by one a note
	At        time.Duration
	Kind      NoteKind
	Peer      PeerID
	Remote    string
	ClientID  string
	Principal string
	Word      string
	Detail    string
	Queue     int // unsent bytes of that connection
}

const (
	notesMax  = 512
	noteEvery = time.Second // of limit notes about one connection
)

type noteRing struct {
	ring [notesMax]Note
	last uint64
}

// note records something about a connection, nil for none. Limit notes about one connection come once a
// second at the most.
func (c *Core) note(p *peer, kind NoteKind, word, detail string) {
	n := Note{At: c.now, Kind: kind, Word: word, Detail: detail}
	if p != nil {
		if kind == NoteLimit && p.noted != 0 && c.now < p.noted+noteEvery {
			return
		}
		if kind == NoteLimit {
			p.noted = max(c.now, 1)
		}
		n.Peer, n.Remote, n.ClientID, n.Queue = p.id, p.info.Remote, p.clientID, p.out.size
		n.Principal = c.policy.principals[p.principal].name
	}
	c.notes.last++
	n.Number = c.notes.last
	c.notes.ring[n.Number%notesMax] = n
}

// LastNote is the number of the newest note, 0 for none.
func (c *Core) LastNote() uint64 { return c.notes.last }

// Note returns a note by its number; false when there is none or it is too old.
func (c *Core) Note(number uint64) (Note, bool) {
	n := c.notes.ring[number%notesMax]
	return n, n.Number == number && number != 0
}
