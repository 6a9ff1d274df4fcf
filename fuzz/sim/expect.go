package sim

import (
	"strconv"
	"strings"
)

// Holes in what is expected of a line: what the relay may choose.
const (
	holeText   = "\x01" // text without a quote
	holeNumber = "\x02" // digits
	holeRest   = "\x03" // anything; what follows it ends the line
)

// fit reports whether a line has an expected form and returns what stands in the holes.
func fit(form, line string) (holes []string, ok bool) {
	for form != "" {
		at := strings.IndexAny(form, holeText+holeNumber+holeRest)
		if at < 0 {
			return holes, form == line
		}
		if !strings.HasPrefix(line, form[:at]) {
			return nil, false
		}
		hole := form[at : at+1]
		line, form = line[at:], form[at+1:]
		n := 0
		switch hole {
		case holeText:
			n = strings.IndexByte(line, '"')
		case holeRest:
			n = len(line) - len(form)
		default:
			for n < len(line) && line[n] >= '0' && line[n] <= '9' {
				n++
			}
		}
		if n < 0 || n == 0 && hole == holeNumber {
			return nil, false
		}
		holes, line = append(holes, line[:n]), line[n:]
	}
	return holes, line == ""
}

// demand is a line that a connection must get.
type demand struct {
	to   *conn
	form string
}

// expect reads the next line to c, which must have this form, and returns what stands in its holes.
// While a group is open the line may come anywhere in the group, and nothing is returned.
func (m *model) expect(to *conn, form string) []string {
	if m.groups > 0 {
		m.group = append(m.group, demand{to: to, form: form})
		return nil
	}
	_, holes := m.read(to, form)
	return holes
}

// read reads the next line to c, which must have one of the forms, and returns which.
func (m *model) read(to *conn, forms ...string) (which int, holes []string) {
	if to.lossy && to.phase <= phaseOpen {
		m.account(to, len(forms[0])+1+30*strings.Count(forms[0], holeText))
		return 0, nil
	}
	if to.phase >= phaseDead || len(to.fresh) == 0 {
		must(false, "%s (in phase %d) does not get %s", to.name, to.phase, readable(forms))
	}
	line := to.fresh[0]
	for i, form := range forms {
		if holes, ok := fit(form, line); ok {
			to.fresh = to.fresh[1:]
			m.account(to, len(line)+1)
			return i, holes
		}
	}
	must(false, "%s gets %s\ninstead of %s", to.name, line, readable(forms))
	return 0, nil
}

// next reports whether the next line to c has this form.
func (m *model) next(to *conn, form string) bool {
	if len(to.fresh) == 0 {
		return false
	}
	_, ok := fit(form, to.fresh[0])
	return ok
}

// account charges a line to the output of a connection.
func (m *model) account(c *conn, size int) {
	if c.queue == 0 && !c.stuck {
		c.moved = m.now()
	}
	c.queue += size
	if c.queue > m.config.Limits.QueueBytesHard {
		m.condemn(c, "slowConsumer")
	}
}

// anyOrder carries out f; the lines expected meanwhile may come to each connection in any order.
func (m *model) anyOrder(f func()) {
	m.groups++
	f()
	if m.groups--; m.groups > 0 {
		return
	}
	left := m.group
	m.group = nil
	for len(left) > 0 {
		left = m.match(left)
	}
}

// match takes the next line of the first connection of the list, which must be one of its demands.
func (m *model) match(left []demand) []demand {
	to := left[0].to
	var forms []string
	var at []int
	for i, d := range left {
		if d.to == to {
			forms, at = append(forms, d.form), append(at, i)
		}
	}
	which, _ := m.read(to, forms...)
	i := at[which]
	return append(left[:i], left[i+1:]...)
}

func readable(forms []string) string {
	text := strings.Join(forms, "\n or ")
	return strings.NewReplacer(holeText, "…", holeNumber, "<n>", holeRest, "…").Replace(text)
}

// failure is an error that may answer a request.
type failure struct {
	code int
	data string // a form; "": none; "?": none or whether it was delivered
}

func (f failure) forms(id string) []string {
	head := `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":` + strconv.Itoa(f.code) + `,"message":"` + holeText + `"`
	switch f.data {
	case "":
		return []string{head + `}}`}
	case "?":
		return []string{head + `}}`, head + `,"data":{"delivered":"never"}}}`}
	}
	return []string{head + `,"data":` + f.data + `}}`}
}

// fails expects that a request is answered with one of several errors, for everything that is wrong with
// it, and returns which.
func (m *model) fails(c *conn, id string, wrong []failure) failure {
	var forms []string
	var of []failure
	for _, f := range wrong {
		for _, form := range f.forms(id) {
			forms, of = append(forms, form), append(of, f)
		}
	}
	which, _ := m.read(c, forms...)
	m.tally.add("error " + of[which].name())
	return of[which]
}

// name is short for what a failure says: its code, the limit, and whether it was delivered.
func (f failure) name() string {
	name := strconv.Itoa(f.code)
	if _, limit, ok := strings.Cut(f.data, `"limit":"`); ok {
		name += " " + limit[:strings.IndexByte(limit, '"')]
	}
	if strings.Contains(f.data, maybe) {
		name += " maybe"
	}
	return name
}

// result is the form of a successful answer.
func result(id, raw string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":` + raw + `}` }

// breach expects a line that answers a breach of the protocol.
func (m *model) breach(c *conn, id string, code int, data string) {
	m.fails(c, id, []failure{{code, data}})
	c.errors++
	if c.errors >= m.config.Limits.ProtocolErrorsMax {
		m.condemn(c, "protocolErrors")
	}
}
