package sim

import (
	"strconv"
	"strings"
	"time"

	"github.com/ahprelay/ahprelay/relay"
	"github.com/ahprelay/ahprelay/table"
)

// OpKind says what an operation does.
type OpKind uint8

const (
	OpOpen OpKind = iota
	OpSend
	OpClose // the transport is gone, with what it had not taken yet
	OpHalf  // the peer shuts down its sending side
	OpStall // the transport takes nothing any more
	OpUnstall
	OpRetry   // output is offered again, although the transport has not asked for it
	OpCertify // the transport has learned late what a client certificate proves
	OpViolate // the peer has broken the rules of its transport
	OpTick
	OpReload
	OpDrain
)

// Op is one operation. What it names may not exist when a part of a script is run: then it does nothing.
type Op struct {
	Kind OpKind
	End  int // the number of the connection

	Info   relay.PeerInfo // OpOpen; OpCertify: the names
	Lines  []Line         // OpSend
	Cuts   []int          // OpSend: where the bytes are cut into reads, modulo their number
	Hold   int            // OpSend: bytes at the end that come with the next OpSend
	Room   int            // OpUnstall, OpRetry: bytes that the transport takes; negative: any number
	Time   time.Duration  // OpTick
	Config *relay.Config  // OpReload
}

// Line is a line to be sent. In Text, $S4 stands for the id of the service that line 4 registered, $R4
// for the relay's id of the request that line 4 made, $T4 for the resume token that line 4 got, and
// {{x*500}} for 500 times x.
type Line struct {
	Number int // how other lines refer to it
	Text   string
	Repeat int // 0: once
}

// boot makes ids and numbers the same in every run, as in the transcripts of relay.
var boot = table.Boot{Tag: [table.TagBytes]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, Salt: 1<<33 - 12345, Seq: 1000}

// names knows what the placeholders of lines stand for.
type names map[string]string

// fill replaces the placeholders and fillers of a text. What stands for nothing becomes an id that
// nobody has.
func (n names) fill(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		switch {
		case text[i] == '$' && i+1 < len(text) && strings.IndexByte("SRT", text[i+1]) >= 0:
			end := i + 2
			for end < len(text) && text[end] >= '0' && text[end] <= '9' {
				end++
			}
			b.WriteString(n.of(text[i:end]))
			i = end
		case strings.HasPrefix(text[i:], "{{") && strings.Contains(text[i:], "}}"):
			what, rest, _ := strings.Cut(text[i+2:], "}}")
			unit, count, ok := strings.Cut(what, "*")
			times, err := strconv.Atoi(count)
			if !ok || err != nil {
				b.WriteByte(text[i])
				i++
				continue
			}
			b.WriteString(strings.Repeat(unit, times))
			i = len(text) - len(rest)
		default:
			b.WriteByte(text[i])
			i++
		}
	}
	return b.String()
}

func (n names) of(placeholder string) string {
	if v, ok := n[placeholder]; ok {
		return v
	}
	switch placeholder[1] {
	case 'S':
		return "AAAAAAAAAABBBBBBBBBBCC"
	case 'T':
		return "00000000000000000000000000000000"
	}
	return "9007199254740991"
}
