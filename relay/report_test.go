package relay

import (
	"fmt"
	"strings"
)

// report writes down what has happened since the last one.
func (tr *transcript) report() {
	for _, e := range tr.w.ends {
		var lines []string
		for _, line := range e.read() {
			limits := ""
			if !tr.full {
				limits = limitsText(&tr.config.Limits)
			}
			lines = append(lines, e.name+"< "+tr.names.hide(line, limits))
		}
		tr.collapse(lines)
	}
	tr.counters()
}

// collapse writes lines, equal ones in a row as one with a count.
func (tr *transcript) collapse(lines []string) {
	for i := 0; i < len(lines); {
		n := 1
		for i+n < len(lines) && lines[i+n] == lines[i] {
			n++
		}
		if n > 2 {
			name, text, _ := strings.Cut(lines[i], "< ")
			fmt.Fprintf(&tr.out, "%s< *%d %s\n", name, n, text)
			i += n
			continue
		}
		tr.out.WriteString(lines[i] + "\n")
		i++
	}
}

// counters writes down which counters of silent refusals have grown.
func (tr *transcript) counters() {
	was, is := tr.w.counted, *tr.w.core.Counters()
	tr.w.counted = is
	grown := func(what string, from, to uint64) {
		switch to - from {
		case 0:
		case 1:
			tr.out.WriteString("* " + what + "\n")
		default:
			fmt.Fprintf(&tr.out, "* %s *%d\n", what, to-from)
		}
	}
	grown("ignored", was.Ignored, is.Ignored)
	for i := range drops {
		grown("notification dropped: "+i.String(), was.NotifyDropped[i], is.NotifyDropped[i])
	}
	grown("answer dropped", was.AnswersDropped, is.AnswersDropped)
	grown("answer late", was.AnswersLate, is.AnswersLate)
}
