package relay

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands of every transcript in a wrong order, several times or not at all, with spoilt bytes: what
// comes out is anybody's guess, but the books must balance after every command and at the end.
func TestTranscriptsOutOfOrder(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	for n, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			for seed := range uint64(3) {
				scramble(t, string(text), rand.New(rand.NewPCG(seed, uint64(n))))
			}
		})
	}
}

// scramble runs a transcript in disorder.
func scramble(t *testing.T, text string, r *rand.Rand) {
	configs, commands := split(text)
	tr := &transcript{t: t, names: newNames(), config: parseConfig(t, configs[0])}
	tr.w = newWorld(t, tr.config)
	tr.w.trickle = r.IntN(2) == 0
	for i := 0; i < len(commands); i += r.IntN(3) {
		at := i
		if r.IntN(4) == 0 {
			at = r.IntN(len(commands))
		}
		did := tr.attempt(commands[at], r)
		if r.IntN(40) == 0 {
			config := parseConfig(t, configs[r.IntN(len(configs))])
			_ = tr.w.core.Reload(tr.w.now, config) // refused where it changes the size of a table
			did += ", then a reload"
			tr.w.drain()
		}
		for _, e := range tr.w.ends {
			for _, line := range e.read() {
				tr.names.hide(line, "")
			}
		}
		if err := tr.w.core.Check(); err != nil {
			t.Fatalf("after %s: %v", did, err)
		}
	}
	tr.w.finish()
}

// split separates the configurations of a transcript, one at least, from its other commands.
func split(text string) (configs, commands []string) {
	var block []string
	inside := false
	for _, line := range strings.Split(text, "\n") {
		switch {
		case line == "config" || line == "reload":
			inside, block = true, nil
		case inside && line == "end":
			inside = false
			configs = append(configs, strings.Join(block, "\n"))
		case inside:
			block = append(block, line)
		case line != "" && line[0] != '#' && !observed(line):
			commands = append(commands, line)
		}
	}
	if len(configs) == 0 || !strings.Contains(text, "config\n") {
		configs = append([]string{""}, configs...)
	}
	return configs, commands
}

// attempt carries out a command if that makes any sense now, and returns it as it was done.
func (tr *transcript) attempt(line string, r *rand.Rand) string {
	word, rest, _ := strings.Cut(line, " ")
	name, sends := strings.CutSuffix(strings.TrimSuffix(word, "raw"), ">")
	if !sends {
		name, _, _ = strings.Cut(rest, " ")
	}
	switch word {
	case "close", "half", "stall", "unstall":
		if e := tr.w.end(name); e == nil || !e.open {
			return "nothing"
		}
	case "drain":
		if r.IntN(4) > 0 {
			return "nothing"
		}
	}
	if !sends {
		tr.command(line)
		return line
	}
	if tr.w.end(name) == nil {
		tr.command("hello " + name)
	}
	if strings.HasSuffix(word, "raw") {
		tr.command(line)
		return line
	}
	data := strings.TrimSuffix(tr.names.repeat(tr.t, placeholder.ReplaceAllStringFunc(rest, func(p string) string {
		if tr.names.value[p] == "" {
			return "123456"
		}
		return p
	})), "\n")
	if r.IntN(8) == 0 && len(data) > 0 {
		data = spoil(r, data)
	}
	cut := r.IntN(len(data) + 1)
	tr.w.send(tr.w.end(name), []byte(data[:cut]), []byte(data[cut:]+"\n"))
	return line
}
