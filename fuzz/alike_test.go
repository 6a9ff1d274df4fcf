package fuzz

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/relay"
	"github.com/ahprelay/ahprelay/table"
)

// stage is a core with an owner of one service and somebody who sends to it.
type stage struct {
	core          *relay.Core
	owner, sender relay.PeerID
	service       string
	now           time.Duration
}

func newStage(tb testing.TB) *stage {
	config := relay.DefaultConfig()
	config.Limits.SlotsMax, config.Limits.InflightPerConnectionMax = 64, 64
	config.Limits.DepthMax, config.Limits.MethodBytesMax, config.Limits.FrameBytesMax, config.Limits.MetadataBytesMax = 8, 12, 2048, 512
	core, err := relay.New(config, table.Boot{Tag: [table.TagBytes]byte{1, 2, 3}, Salt: 5, Seq: 1000}, [32]byte{})
	if err != nil {
		tb.Fatal(err)
	}
	s := &stage{core: core, now: time.Hour}
	s.owner, _ = core.Open(s.now, relay.PeerInfo{UID: -1})
	s.sender, _ = core.Open(s.now, relay.PeerInfo{UID: -1})
	for i, id := range []relay.PeerID{s.owner, s.sender} {
		s.say(id, fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersions":["1.0.0"],"clientId":"c%d"}}`, i))
	}
	got := s.say(s.owner, `{"jsonrpc":"2.0","id":0,"method":"client/registerService","params":{"metadata":{}}}`)
	s.service = serviceIDForm.FindStringSubmatch(got[0])[1]
	return s
}

var (
	serviceIDForm = regexp.MustCompile(`"serviceId":"([^"]+)"`)
	relayIDForm   = regexp.MustCompile(`"id":([0-9]+),"method":"clientService/handleRequest"`)
)

// say sends lines from a connection and returns what each connection gets.
func (s *stage) say(from relay.PeerID, line string) (got []string) {
	s.core.Receive(s.now, from, []byte(line+"\n"))
	for id, ok := s.core.Dirty(); ok; id, ok = s.core.Dirty() {
		for out, _ := s.core.Take(id); len(out) > 0; out, _ = s.core.Take(id) {
			got = append(got, fmt.Sprintf("%d< %s", id&1, out))
			s.core.Wrote(s.now, id, len(out))
		}
	}
	slices.Sort(got)
	return got
}

// outcome is what a line leads to after others, ids of the relay aside.
func (s *stage) outcome(before []string, line string) string {
	for _, b := range before {
		for _, got := range s.say(s.sender, s.fill(b)) {
			if m := relayIDForm.FindStringSubmatch(got); m != nil {
				s.say(s.owner, `{"jsonrpc":"2.0","id":`+m[1]+`,"result":null}`)
			}
		}
	}
	was := *s.core.Counters()
	got := strings.Join(s.say(s.sender, s.fill(line)), "")
	is := *s.core.Counters()
	return relayIDForm.ReplaceAllString(got, `"id":N,"method":"clientService/handleRequest"`) +
		fmt.Sprint(is.NotifyForwarded-was.NotifyForwarded, is.RequestsForwarded-was.RequestsForwarded, is.FramesIn-was.FramesIn, is.FramesOut-was.FramesOut, is.ProtocolErrors-was.ProtocolErrors, is.Ignored-was.Ignored) +
		fmt.Sprint(is.NotifyDropped[0]-was.NotifyDropped[0], is.NotifyDropped[2]-was.NotifyDropped[2])
}

func (s *stage) fill(line string) string { return strings.ReplaceAll(line, "$S", s.service) }

// molds are messages of which the core remembers how they begin.
var molds = []string{
	`{"jsonrpc":"2.0","method":"clientService/notify","params":{"serviceId":"$S","method":"m","params":{"a":[1,2]}}}`,
	`{"jsonrpc":"2.0","method":"clientService/notify","params":{"channel":"ahp-client-services://","serviceId":"$S","method":"mé\n","params":"x"}}`,
	`{"params":{"method":"m","serviceId":"$S","params":null},"jsonrpc":"2.0","method":"clientService/notify"}`,
	`{"jsonrpc":"2.0","id":7,"method":"clientService/request","params":{"serviceId":"$S","method":"m","params":{"a":[1,2]}}}`,
	`{"jsonrpc":"2.0","id":"seven","method":"clientService/request","params":{"channel":"ahp-client-services://","serviceId":"$S","method":"m","params":1}}`,
	`{"jsonrpc":"2.0","id":7,"method":"clientService/request","params":{"serviceId":"$S","method":"m","x":1,"params":[[]]}}`,
	`{ "jsonrpc" : "2.0", "id" : 7, "method" : "clientService/request", "params" : { "serviceId" : "$S", "method" : "m", "params" : 1}}`,
}

// pieces are put in where a message is changed.
var pieces = []string{"", `"`, `\`, `,`, `}`, `{`, `[`, `]`, `:`, `0`, `9`, `-`, `e`, ` `, "\t", "\r", "\x00", "\xff", "é", `\u0041`, `"x":1,`, `,"x":1`, `,"serviceId":"y"`, `,"id":8`, `"id":8,`, `,"method":"q"`, `,"params":2`,
	`[[[[[[[[[]]]]]]]]]`, `"timeoutMs":5,`, `,"timeoutMs":5`, `xxxxxxxxxxxxxxx`, `null`, `$S`, `"$S"`, `}}`, `}}}`, `"channel":"ahp-root://",`, `00`, `1e2`, `"a\u0062"`}

// checkAlike compares what a line leads to when messages that begin like it came before with what it leads
// to as the first of its kind.
func checkAlike(t *testing.T, mold string, line string) {
	if strings.Contains(line, "\n") {
		return
	}
	fresh := newStage(t).outcome(nil, line)
	if got := newStage(t).outcome([]string{mold, mold, mold}, line); got != fresh {
		t.Fatalf("after three of\n%s\nthe line\n%q\nleads to\n%s\nas the first to\n%s", mold, line, got, fresh)
	}
}

// change alters a message in up to three places.
func change(line string, pick func(int) int) string {
	text := []byte(line)
	for range 1 + pick(3) {
		at, cut, piece := pick(len(text)+1), 0, pieces[pick(len(pieces))]
		if pick(2) == 0 {
			cut = min(pick(6), len(text)-at)
		}
		if pick(4) == 0 { // near the end, where the payload is
			at = max(0, len(text)-pick(12))
			cut = min(cut, len(text)-at)
		}
		text = slices.Concat(text[:at], []byte(piece), text[at+cut:])
	}
	return string(text)
}

// TestAlike: remembering how messages begin makes no difference to what they lead to.
func TestAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		mold := molds[r.IntN(len(molds))]
		checkAlike(t, mold, change(mold, r.IntN))
	}
}

// TestAlikeEdges: what random changes rarely hit.
func TestAlikeEdges(t *testing.T) {
	for _, mold := range molds {
		head, tail := mold[:strings.LastIndex(mold, `"params":`)+len(`"params":`)], "}}"
		if at := strings.LastIndex(mold, `"params" : `); at > 0 {
			head = mold[:at] + `"params" : `
		}
		if strings.HasPrefix(mold, `{"params"`) {
			tail = `},"jsonrpc":"2.0","method":"clientService/notify"}`
		}
		for depth := range 12 {
			checkAlike(t, mold, head+strings.Repeat("[", depth)+"1"+strings.Repeat("]", depth)+tail)
			checkAlike(t, mold, head+strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth)+tail)
		}
		for _, payload := range []string{"", "01", "1 ", " 1", "\"\xff\"", `"\ud800"`, "1,", "nul", `1,"params":2`, `1,"timeoutMs":5`, `1,"serviceId":"x"`, `"` + strings.Repeat("x", 2500) + `"`} {
			checkAlike(t, mold, head+payload+tail)
		}
		for _, id := range []string{`07`, `00`, `0`, `-7`, `7.0`, `7e0`, `""`, `"7"`, `"\u0037"`, `null`, `[7]`, `true`, `"` + strings.Repeat("x", 126) + `"`, `"` + strings.Repeat("x", 127) + `"`, `12345678901234567890`} {
			checkAlike(t, mold, strings.Replace(strings.Replace(mold, `"id":7`, `"id":`+id, 1), `"id":"seven"`, `"id":`+id, 1))
		}
	}
}

// TestAlikeAfterReload: what is remembered does not outlive the limits that it was judged by.
func TestAlikeAfterReload(t *testing.T) {
	for _, mold := range molds {
		long := strings.Replace(strings.Replace(mold, `"m"`, `"mmmm"`, 1), `"x":1`, `"x":[[[[1]]]]`, 1)
		reload := func(s *stage) *stage {
			config := relay.DefaultConfig()
			config.Limits.SlotsMax, config.Limits.InflightPerConnectionMax = 64, 64
			config.Limits.DepthMax, config.Limits.MethodBytesMax = 4, 2
			if err := s.core.Reload(s.now, config); err != nil {
				t.Fatal(err)
			}
			return s
		}
		primed := newStage(t)
		primed.outcome([]string{long, long, long}, `{}`)
		if got, fresh := reload(primed).outcome(nil, long), reload(newStage(t)).outcome(nil, long); got != fresh {
			t.Errorf("before and after a reload\n%s\nleads to\n%s\nonly after it to\n%s", long, got, fresh)
		}
	}
}

func FuzzAlike(f *testing.F) {
	for i, mold := range molds {
		f.Add(uint8(i), []byte(mold))
		f.Add(uint8(i), bytes.Replace([]byte(mold), []byte("1"), []byte("[0"), 1))
	}
	f.Fuzz(func(t *testing.T, i uint8, line []byte) {
		checkAlike(t, molds[int(i)%len(molds)], string(line))
	})
}
