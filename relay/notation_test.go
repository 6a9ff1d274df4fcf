package relay

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
)

// names are the placeholders of a transcript and what they stand for.
type names struct {
	value map[string]string // by placeholder
	name  map[string]string // by value
	count map[byte]int
}

func newNames() *names {
	return &names{value: map[string]string{}, name: map[string]string{}, count: map[byte]int{}}
}

var (
	placeholder = regexp.MustCompile(`\$[SRT][0-9]+`)
	serviceID   = regexp.MustCompile(`"serviceId":"([A-Za-z0-9_-]{22})"`)
	relayID     = regexp.MustCompile(`^\{"jsonrpc":"2.0","id":([0-9]+),"method":"clientService/handleRequest"`)
	resumeToken = regexp.MustCompile(`"ahprelay.resumeToken":"([0-9a-f]{32})"`)
	jitter      = regexp.MustCompile(`"reconnectAfterMs":([0-9]+)`)
	filler      = regexp.MustCompile(`\{\{([^{}]+|[{}])\*([0-9]+)\}\}`)
)

// fill replaces placeholders and fillers by what they stand for.
func (n *names) fill(text string) string {
	text = filler.ReplaceAllStringFunc(text, func(f string) string {
		m := filler.FindStringSubmatch(f)
		count, _ := strconv.Atoi(m[2])
		return strings.Repeat(m[1], count)
	})
	return placeholder.ReplaceAllStringFunc(text, func(p string) string {
		if v, ok := n.value[p]; ok {
			return v
		}
		return p
	})
}

// known reports whether every placeholder of text stands for something.
func (n *names) known(text string) bool {
	for _, p := range placeholder.FindAllString(text, -1) {
		if n.value[p] == "" {
			return false
		}
	}
	return true
}

// repeat returns the lines that "{…}" or "*300 {…}" stands for.
func (n *names) repeat(t *testing.T, text string) string {
	t.Helper()
	if !n.known(text) {
		t.Fatalf("unknown placeholder in %s", text)
	}
	count := 1
	if rest, ok := strings.CutPrefix(text, "*"); ok {
		number, line, _ := strings.Cut(rest, " ")
		count, _ = strconv.Atoi(number)
		text = line
	}
	return strings.Repeat(n.fill(text)+"\n", count)
}

// hide replaces values in a received line by placeholders, giving new ones names.
func (n *names) hide(line, limits string) string {
	for kind, re := range map[byte]*regexp.Regexp{'S': serviceID, 'R': relayID, 'T': resumeToken} {
		for _, m := range re.FindAllStringSubmatch(line, -1) {
			if n.name[m[1]] == "" {
				n.count[kind]++
				p := fmt.Sprintf("$%c%d", kind, n.count[kind])
				n.name[m[1]], n.value[p] = p, m[1]
			}
		}
	}
	values := make([]string, 0, len(n.name))
	for v := range n.name {
		values = append(values, v)
	}
	sort.Strings(values)
	for _, v := range values {
		line = strings.ReplaceAll(line, v, n.name[v])
	}
	if limits != "" {
		line = strings.ReplaceAll(line, limits, "$LIMITS")
	}
	line = jitter.ReplaceAllStringFunc(line, func(s string) string {
		if ms, _ := strconv.Atoi(jitter.FindStringSubmatch(s)[1]); ms < 500 || ms > 2500 {
			return s
		}
		return `"reconnectAfterMs":$JITTER`
	})
	return shorten(line)
}

// shorten writes long runs of one character as a filler, and lines that a text file cannot hold quoted.
func shorten(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		n := 1
		for i+n < len(line) && line[i+n] == line[i] {
			n++
		}
		switch {
		case n >= 40 && line[i] < 0x7f && line[i] > ' ':
			fmt.Fprintf(&b, "{{%c*%d}}", line[i], n)
		default:
			b.WriteString(line[i : i+n])
		}
		i += n
	}
	if strings.ContainsAny(b.String(), "\r\u0085\u2028\u2029\x7f") {
		return "raw " + strconv.Quote(b.String())
	}
	return b.String()
}

// rawChunks reads a list of Go strings.
func rawChunks(t *testing.T, text string) [][]byte {
	t.Helper()
	var chunks [][]byte
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			t.Fatalf("raw %s: %v", text, err)
		}
		chunk, _ := strconv.Unquote(quoted)
		chunks = append(chunks, []byte(chunk))
		text = text[len(quoted):]
	}
	return chunks
}

var seenLine = regexp.MustCompile(`^(\* |[A-Za-z0-9]+< )`)

// observed reports whether a line of a transcript says what happened.
func observed(line string) bool { return seenLine.MatchString(line) }

// perConnection sorts what happened by connection, in order, and adds up the counters: what must not
// depend on the pieces in which bytes come.
func perConnection(text string) string {
	got := map[string][]string{}
	counts := map[string]int{}
	for _, line := range strings.Split(text, "\n") {
		if !observed(line) {
			continue
		}
		name, what, _ := strings.Cut(line, " ")
		if name != "*" {
			n := 1
			if rest, ok := strings.CutPrefix(what, "*"); ok {
				number, text, _ := strings.Cut(rest, " ")
				n, _ = strconv.Atoi(number)
				what = text
			}
			for range n {
				got[name] = append(got[name], what)
			}
			continue
		}
		what, times, ok := strings.Cut(what, " *")
		n := 1
		if ok {
			n, _ = strconv.Atoi(times)
		}
		counts[what] += n
	}
	var out []string
	for name, lines := range got {
		out = append(out, name+" "+strings.Join(lines, "\n"+name+" "))
	}
	for what, n := range counts {
		out = append(out, fmt.Sprintf("* %s *%d", what, n))
	}
	sort.Strings(out)
	return strings.Join(out, "\n")
}

// difference shows the first line in which two texts differ.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := 0; i < len(w) && i < len(g); i++ {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d\nwritten  %s\nhappened %s", i+1, w[i], g[i])
		}
	}
	return fmt.Sprintf("%d lines written, %d happened:\n%s", len(w), len(g), strings.Join(append(w[min(len(w), len(g)):], g[min(len(w), len(g)):]...), "\n"))
}

// testConfig is the default configuration with a smaller table of slots.
func testConfig() Config {
	config := DefaultConfig()
	config.Limits.SlotsMax = 1024
	return config
}

// parseConfig reads a configuration block.
func parseConfig(t *testing.T, text string) Config {
	t.Helper()
	config := testConfig()
	file := struct {
		Overload         string
		DefaultDirectory string `toml:"default_directory"`
		SurplusMax       int    `toml:"surplus_max"`
		Limits           *Limits
		Auth             *Auth
		Principal        []struct {
			Principal
			Token string
		}
	}{Limits: &config.Limits, Auth: &config.Auth}
	if meta, err := toml.Decode(text, &file); err != nil || len(meta.Undecoded()) > 0 {
		t.Fatalf("configuration: %v, unknown %v", err, meta.Undecoded())
	}
	if file.Overload == "disconnect" {
		config.Overload = OverloadDisconnect
	}
	config.DefaultDirectory, config.SurplusMax = file.DefaultDirectory, file.SurplusMax
	for _, p := range file.Principal {
		if p.Token != "" {
			sum := sha256.Sum256([]byte(p.Token))
			p.TokenSHA256 = hex.EncodeToString(sum[:])
		}
		config.Principals = append(config.Principals, p.Principal)
	}
	return config
}

// limitsText spells out the limits of a handshake's reply.
func limitsText(l *Limits) string {
	const handled = `{"jsonrpc":"2.0","id":18446744073709551615,"method":"clientService/handleRequest","params":{"channel":"ahp-client-services://","serviceId":"","senderClientId":,"senderPrincipal":,"method":,"params":null,"timeoutMs":18446744073709551615}}`
	ms := func(d time.Duration) int64 { return d.Milliseconds() }
	delivered := l.FrameBytesMax + len(handled) + 64 + 6*l.ClientIDBytesMax + 1024
	return fmt.Sprintf(`{"frameBytes":%d,"handshakeFrameBytes":%d,"depth":%d,"idBytes":%d,"clientIdBytes":%d,"methodBytes":%d,"metadataBytes":%d,"metadataDepth":32,"protocolErrors":%d,"connections":%d,`+
		`"services":%d,"servicesPerConnection":%d,"catalogBytes":%d,"subscriptionsPerConnection":%d,"catalogChangesPerSecond":%d,"catalogChangesBurst":256,`+
		`"slots":%d,"inflightPerConnection":%d,"inflightPerService":%d,"requestTimeoutMs":%d,"requestTimeoutMaxMs":%d,"handshakeTimeoutMs":%d,`+
		`"idleTimeoutMs":%d,"stallTimeoutMs":%d,"queueSoftBytes":%d,"queueHardBytes":%d,"deliveredBytes":%d,"snapshotBytes":%d}`,
		l.FrameBytesMax, min(l.FrameBytesMax, 65536), l.DepthMax, l.IDBytesMax, l.ClientIDBytesMax, l.MethodBytesMax, l.MetadataBytesMax, l.ProtocolErrorsMax, l.ConnectionsMax,
		l.ServicesMax, l.ServicesPerConnectionMax, l.CatalogBytesMax, l.SubscriptionsPerConnectionMax, l.CatalogChangesPerSecondMax,
		l.SlotsMax, l.InflightPerConnectionMax, l.InflightPerServiceMax, ms(l.RequestTimeout), ms(l.RequestTimeoutMax), ms(l.HandshakeTimeout),
		ms(l.IdleTimeout), ms(l.StallTimeout), l.QueueBytesSoft, l.QueueBytesHard, delivered, l.CatalogBytesMax+l.ServicesMax+16<<10)
}
