package relay

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "write what the core does into the transcripts of testdata")

// Transcripts are the protocol document that runs. Each file of testdata holds commands, one a line, and
// below each everything that it makes the core do:
//
//	config … end           TOML: limits, auth, principals; must come first
//	open a uid=1000 cert=x a connection; token principals have token instead of token_sha256
//	hello a as=id uid=1000 the same with a handshake, whose reply is checked but not shown
//	a> {…}                 a line from a;  a> *300 {…}  the same line 300 times
//	a>raw "…" "…"          bytes from a, in two reads, with Go's escapes
//	tick 5s                time passes
//	close a, half a        a's connection is gone; a has shut down its sending side
//	stall a, unstall a 10  a's transport takes nothing; takes 10 bytes more, or all without a number
//	reload … end, drain    another configuration, the shutdown
//	full                   from here on the limits of a handshake's reply are shown
//	whole                  what happens depends on when bytes are taken: the file is run as written only
//
//	a< {…}                 a line to a;  a< *300 {…}  the same line 300 times
//	a< shut, a< eof        the core shuts down the sending side, closes the connection
//	* ignored *3           a counter of what draws no answer has grown by 3
//
// $S1, $R1, $T1 stand for service ids, relay ids and resume tokens in the order in which they appear,
// $JITTER for a random delay, $LIMITS for the limits of a handshake's reply, {{x*500}} for 500 times x.
// What is not written down must not happen. After the last command everybody leaves and nothing may be
// left. Every transcript is also run with each line coming byte by byte and output leaving in pieces,
// and with the lines of one connection coming in one read.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			names := newNames()
			got := run(t, string(text), names, asWritten)
			if *rewrite && got != string(text) {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Fatal(difference(string(text), got))
			}
			if strings.Contains(got, "\nwhole\n") {
				return
			}
			for _, m := range []mode{byteByByte, inOneRead} {
				again := run(t, got, names, m)
				if want := perConnection(got); perConnection(again) != want {
					t.Fatalf("%s: %s", m, difference(want, perConnection(again)))
				}
			}
		})
	}
}

// mode says in which pieces bytes come and go.
type mode string

const (
	asWritten  mode = "as written"
	byteByByte mode = "byte by byte"
	inOneRead  mode = "in one read"
)

// transcript is one run of one file.
type transcript struct {
	t      *testing.T
	w      *world
	mode   mode
	lines  []string // what is left to do
	out    strings.Builder
	names  *names
	config Config
	full   bool
}

// run carries out the commands of a transcript and returns it with what really happened.
func run(t *testing.T, text string, n *names, m mode) string {
	tr := &transcript{t: t, mode: m, names: n, lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n"), config: testConfig()}
	for len(tr.lines) > 0 {
		line := tr.next()
		if observed(line) {
			continue
		}
		tr.out.WriteString(line + "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if line == "config" {
			tr.config = parseConfig(t, tr.block())
			continue
		}
		if tr.w == nil {
			tr.w = newWorld(t, tr.config)
			tr.w.trickle = m == byteByByte
		}
		tr.command(line)
		tr.report()
		if err := tr.w.core.Check(); err != nil {
			t.Fatalf("after %s: %v", line, err)
		}
	}
	tr.w.finish()
	return tr.out.String()
}

func (tr *transcript) next() string {
	line := tr.lines[0]
	tr.lines = tr.lines[1:]
	return line
}

// block copies the lines up to "end" and returns them.
func (tr *transcript) block() string {
	var block strings.Builder
	for len(tr.lines) > 0 {
		line := tr.next()
		tr.out.WriteString(line + "\n")
		if line == "end" {
			return block.String()
		}
		block.WriteString(line + "\n")
	}
	tr.t.Fatal("a block without end")
	return ""
}

func (tr *transcript) command(line string) {
	word, rest, _ := strings.Cut(line, " ")
	if name, ok := strings.CutSuffix(word, ">"); ok {
		tr.send(name, rest)
		return
	}
	if name, ok := strings.CutSuffix(word, ">raw"); ok {
		tr.w.send(tr.peer(name), tr.chunks([][]byte(rawChunks(tr.t, tr.names.fill(rest))))...)
		return
	}
	args := strings.Fields(rest)
	switch word {
	case "open", "hello":
		tr.openOne(word, args)
	case "tick":
		d, err := time.ParseDuration(rest)
		tr.must(err == nil, line)
		tr.w.pass(d)
	case "close":
		tr.w.close(tr.peer(rest))
	case "half":
		tr.w.half(tr.peer(rest))
	case "stall":
		tr.peer(rest).room = 0
	case "unstall":
		room := -1
		if len(args) > 1 {
			_, err := fmt.Sscan(args[1], &room)
			tr.must(err == nil, line)
		}
		tr.w.unstall(tr.peer(args[0]), room)
	case "reload":
		tr.config = parseConfig(tr.t, tr.block())
		if err := tr.w.core.Reload(tr.w.now, tr.config); err != nil {
			tr.out.WriteString("* refused: " + err.Error() + "\n")
		}
		tr.w.drain()
	case "drain":
		tr.w.core.Drain(tr.w.now)
		tr.w.drain()
	case "full":
		tr.full = true
	case "whole":
	default:
		tr.must(false, line)
	}
}

func (tr *transcript) must(ok bool, line string) {
	tr.t.Helper()
	if !ok {
		tr.t.Fatalf("what is this? %s", line)
	}
}

func (tr *transcript) peer(name string) *end {
	tr.t.Helper()
	e := tr.w.end(name)
	tr.must(e != nil, "no connection "+name)
	return e
}

// openOne handles open and hello.
func (tr *transcript) openOne(word string, args []string) {
	info := PeerInfo{Transport: "tcp", Remote: "192.0.2.1:1", UID: -1}
	name, clientID := args[0], args[0]
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "uid":
			_, err := fmt.Sscan(value, &info.UID)
			tr.must(err == nil, arg)
		case "cert":
			info.CertNames = append(info.CertNames, value)
		case "as":
			clientID = value
		default:
			tr.must(false, arg)
		}
	}
	e := tr.w.open(name, info)
	if word == "open" || !e.open {
		return
	}
	tr.w.send(e, []byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersions":["1.0.0"],"clientId":"`+clientID+`"}}`+"\n"))
	seen := e.read()
	seq := tr.w.core.Gauges().Seq
	want := fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"1.0.0","serverSeq":%d,"serverInfo":{"name":"ahprelay","version":"dev","title":"ahprelay, a relay for client services"},"snapshots":[],"clientServices":{"channel":"ahp-client-services://","limits":$LIMITS},"_meta":{"ahprelay.resumeToken":"$T`, seq)
	if len(seen) > 0 && strings.HasPrefix(tr.names.hide(seen[0], limitsText(&tr.config.Limits)), want) {
		seen = seen[1:]
	}
	e.seen = append(seen, e.seen...)
}

// send handles a line, with what follows it from the same connection when everything is to come in one
// read.
func (tr *transcript) send(name, text string) {
	data := []byte(tr.names.repeat(tr.t, text))
	for tr.mode == inOneRead && len(tr.lines) > 0 {
		line := tr.lines[0]
		next, ok := strings.CutPrefix(line, name+"> ")
		if ok && !tr.names.known(next) || !ok && !observed(line) {
			break
		}
		tr.next()
		if ok {
			data = append(data, tr.names.repeat(tr.t, next)...)
		}
	}
	tr.w.send(tr.peer(name), tr.chunks([][]byte{data})...)
}

// chunks cuts up what a connection sends in one command.
func (tr *transcript) chunks(data [][]byte) [][]byte {
	if tr.mode != byteByByte {
		return data
	}
	var single [][]byte
	for _, chunk := range data {
		for i := range chunk {
			single = append(single, chunk[i:i+1])
		}
	}
	return single
}
