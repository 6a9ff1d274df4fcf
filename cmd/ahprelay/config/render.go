package config

import (
	"fmt"
	"strings"

	"github.com/ahprelay/ahprelay/relay"
)

// Example returns a complete commented file that sets every key to its default.
func Example() string {
	c := Default()
	var b strings.Builder
	b.WriteString("# Configuration of ahprelay: every key with its default. Flags and environment variables set the\n" +
		"# same keys and win over this file: log_level is --log-level and AHPRELAY_LOG_LEVEL,\n" +
		"# limits.frame_bytes_max is --frame-bytes-max and AHPRELAY_LIMITS_FRAME_BYTES_MAX. SIGHUP reads the file\n" +
		"# again: [auth], [[principal]], [tls], overload, log_level and the limits that do not say otherwise change\n" +
		"# at once, the rest needs a restart.\n\n")
	table := ""
	for _, k := range keys {
		in, name := k.split()
		if in != table {
			table = in
			fmt.Fprintf(&b, "\n[%s]\n%s", table, tableDocs[table])
		}
		set := name + " = " + k.literal(&c)
		if strings.Contains(k.Doc, "\n") {
			fmt.Fprintf(&b, "# %s\n%s\n", strings.ReplaceAll(k.Doc, "\n", "\n# "), set)
		} else {
			fmt.Fprintf(&b, "%-39s # %s\n", set, k.Doc)
		}
	}
	b.WriteString("\n# As soon as there is one [[principal]], \"anonymous\" may do only what a principal of that name may,\n" +
		"# nothing if there is none.\n#\n# [[principal]]\n")
	for _, a := range attributes {
		line := a.name + " = " + a.value
		if a.name == "uid" || a.name == "client_cert" {
			line = "# " + line
		}
		if a.doc != "" {
			line = fmt.Sprintf("%-37s # %s", line, a.doc)
		}
		b.WriteString("# " + line + "\n")
	}
	return b.String()
}

var tableDocs = map[string]string{
	"limits": "# Sizes in bytes, durations as \"30s\"; 0 means off or automatic only where the comment says so.\n\n",
	"auth":   "",
	"tls":    "# For tls:// and wss:// listeners; \"\" everywhere without them.\n\n",
}

// Show returns l as a file, with the origin of each value behind it.
func (l *Loaded) Show() string {
	var b strings.Builder
	table := ""
	for _, k := range keys {
		in, name := k.split()
		if in != table {
			table = in
			fmt.Fprintf(&b, "\n[%s]\n", table)
		}
		fmt.Fprintf(&b, "%s = %s # from %s\n", name, k.literal(&l.Config), l.origins[k.Name])
	}
	for i := range l.Principals {
		l.showPrincipal(&b, i)
	}
	return b.String()
}

func (l *Loaded) showPrincipal(b *strings.Builder, i int) {
	p := &l.Principals[i]
	fmt.Fprintf(b, "\n[[principal]] # from %s\n", l.origins[fmt.Sprintf("principal.%d", i)])
	for _, a := range attributes {
		if set(a.field(p)) {
			fmt.Fprintf(b, "%s = %s # from %s\n", a.name, literal(a.field(p)), l.origins[fmt.Sprintf("principal.%d.%s", i, a.name)])
		}
	}
}

// set reports whether the value behind an attribute's field is there to be shown.
func set(field any) bool {
	switch p := field.(type) {
	case *string:
		return *p != ""
	case *[]string:
		return len(*p) > 0
	case **int:
		return *p != nil
	case *int:
		return *p != 0
	}
	panic(fmt.Sprintf("config: no attribute of a principal is a %T: %T", field, relay.Principal{}))
}
