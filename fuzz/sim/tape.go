package sim

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// tape writes down a run in the notation of relay/testdata: what is done, and below it what came back.
type tape struct {
	on    bool
	text  strings.Builder
	last  string // sent by a connection, and not in text yet
	times int
	known map[string]string // placeholders by what they stand for
	count map[byte]int
}

func (t *tape) String() string {
	t.line("")
	return strings.TrimSuffix(t.text.String(), "\n")
}

func (t *tape) line(text string) {
	if t.on {
		t.repeated("", 0)
		t.text.WriteString(text + "\n")
	}
}

// repeated writes a command that sends the same line so many times, together with what came right before
// it when that was the same.
func (t *tape) repeated(command string, times int) {
	if command == t.last {
		t.times += times
		return
	}
	if name, line, _ := strings.Cut(t.last, "> "); t.times > 1 {
		t.text.WriteString(fmt.Sprintf("%s> *%d %s\n", name, t.times, line))
	} else if t.times == 1 {
		t.text.WriteString(t.last + "\n")
	}
	t.last, t.times = command, times
}

func (t *tape) open(op Op) {
	text := fmt.Sprintf("open c%d", op.End)
	if op.Info.UID >= 0 {
		text += fmt.Sprintf(" uid=%d", op.Info.UID)
	}
	for _, name := range op.Info.CertNames {
		text += " cert=" + name
	}
	t.line(text)
}

func (t *tape) unstall(e *end, room int) {
	text := "unstall " + e.name
	if room >= 0 {
		text += " " + strconv.Itoa(room)
	}
	t.line(text)
}

// send writes down the bytes of one read.
func (t *tape) send(e *end, data []byte) {
	if !t.on {
		return
	}
	text := string(data)
	body, whole := strings.CutSuffix(text, "\n")
	lines := strings.Split(body, "\n")
	if whole && len(slices.Compact(slices.Clone(lines))) == 1 && harmless(lines[0]) {
		t.repeated(e.name+"> "+t.hide(lines[0]), len(lines))
		return
	}
	t.line(e.name + ">raw " + t.hide(strconv.Quote(text)))
}

// harmless reports whether a line can stand in a text file as it is.
func harmless(line string) bool {
	return line != "" && line[0] == '{' && strings.ToValidUTF8(line, "") == line && !strings.ContainsAny(line, "\r\u0085\u2028\u2029\x7f\ufeff") && strings.IndexFunc(line, func(r rune) bool { return r < ' ' }) < 0
}

// took notes what a transport has taken.
func (t *tape) took(e *end, data []byte) {
	if !t.on {
		return
	}
	e.got = append(e.got, data...)
	for {
		i := bytes.IndexByte(e.got, '\n')
		if i < 0 {
			return
		}
		e.seen = append(e.seen, string(e.got[:i]))
		e.got = e.got[i+1:]
	}
}

// event notes something that is no line.
func (t *tape) event(e *end, what string) {
	if t.on {
		if len(e.got) > 0 {
			e.seen = append(e.seen, "half a line: "+string(e.got))
		}
		e.got = nil
		e.seen = append(e.seen, what)
	}
}

// results writes down what has come back since the last time.
func (t *tape) results(w *world) {
	for _, e := range w.ends {
		if !t.on {
			return
		}
		var lines []string
		for _, line := range e.seen {
			t.learn(line)
			lines = append(lines, t.hide(line))
		}
		e.seen = nil
		t.collapse(e.name, lines)
	}
}

// collapse writes lines that a connection got, more than two equal ones in a row as one with a count.
func (t *tape) collapse(name string, lines []string) {
	for len(lines) > 0 {
		n := 1
		for n < len(lines) && lines[n] == lines[0] {
			n++
		}
		if n > 2 {
			t.line(fmt.Sprintf("%s< *%d %s", name, n, lines[0]))
		} else {
			n = 1
			t.line(name + "< " + lines[0])
		}
		lines = lines[n:]
	}
}

var (
	taught = map[byte]*regexp.Regexp{
		'S': regexp.MustCompile(`"serviceId":"([A-Za-z0-9_-]{22})"`),
		'R': regexp.MustCompile(`^\{"jsonrpc":"2.0","id":([0-9]+),"method":"clientService/handleRequest"`),
		'T': regexp.MustCompile(`"ahprelay.resumeToken":"([0-9a-f]{32})"`),
	}
	jitter       = regexp.MustCompile(`"reconnectAfterMs":[0-9]+`)
	limitsObject = regexp.MustCompile(`"limits":\{[^{}]*\}`)
	longRun      = regexp.MustCompile(`a{40,}|b{40,}|x{40,}|y{40,}|z{40,}|\[{40,}|\]{40,}`)
)

// learn gives names to the ids and tokens of a line.
func (t *tape) learn(line string) {
	if t.known == nil {
		t.known, t.count = map[string]string{}, map[byte]int{}
	}
	for kind, re := range taught {
		for _, m := range re.FindAllStringSubmatch(line, -1) {
			if t.known[m[1]] == "" {
				t.count[kind]++
				t.known[m[1]] = fmt.Sprintf("$%c%d", kind, t.count[kind])
			}
		}
	}
}

func (t *tape) hide(text string) string {
	for value, name := range t.known {
		text = strings.ReplaceAll(text, value, name)
	}
	text = limitsObject.ReplaceAllString(text, `"limits":$$LIMITS`)
	text = jitter.ReplaceAllString(text, `"reconnectAfterMs":$$JITTER`)
	return longRun.ReplaceAllStringFunc(text, func(run string) string { return fmt.Sprintf("{{%c*%d}}", run[0], len(run)) })
}

// config writes down a configuration, as far as it differs from that of the transcripts.
func (t *tape) config(word string, c *relay.Config) {
	if !t.on {
		return
	}
	t.line(word)
	if c.Overload == relay.OverloadDisconnect {
		t.line(`overload = "disconnect"`)
	}
	if c.DefaultDirectory != "" {
		t.line("default_directory = " + strconv.Quote(c.DefaultDirectory))
	}
	if c.SurplusMax != 0 {
		t.line(fmt.Sprintf("surplus_max = %d", c.SurplusMax))
	}
	standard := relay.DefaultConfig()
	standard.Limits.SlotsMax = 1024
	t.table("[limits]", reflect.ValueOf(c.Limits), reflect.ValueOf(standard.Limits))
	t.table("[auth]", reflect.ValueOf(c.Auth), reflect.ValueOf(standard.Auth))
	for _, p := range c.Principals {
		t.line("[[principal]]")
		t.table("", reflect.ValueOf(p), reflect.ValueOf(relay.Principal{}))
	}
	t.line("end")
}

// table writes down the members of a struct that differ from the standard, as TOML.
func (t *tape) table(head string, v, standard reflect.Value) {
	for i := range v.NumField() {
		field := v.Field(i)
		if reflect.DeepEqual(field.Interface(), standard.Field(i).Interface()) {
			continue
		}
		if head != "" {
			t.line(head)
			head = ""
		}
		t.line(v.Type().Field(i).Tag.Get("toml") + " = " + literal(field.Interface()))
	}
}

// literal spells a value in TOML.
func literal(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case time.Duration:
		return strconv.Quote(v.String())
	case *int:
		return strconv.Itoa(*v)
	case []string:
		var parts []string
		for _, s := range v {
			parts = append(parts, strconv.Quote(s))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}
