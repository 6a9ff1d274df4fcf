package config

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/ahprelay/ahprelay/relay"
)

// Anonymous is the name of the principal that everybody is who did not authenticate.
const Anonymous = "anonymous"

func tokenHolder(p relay.Principal) bool { return p.TokenSHA256 != "" }

// principals checks each [[principal]] by itself and against those before it.
func (k *checker) principals() {
	all := k.c.Principals
	for i := range all {
		k.principal(i)
		for j := range i {
			k.rivals(i, j)
		}
	}
	k.shared()
	k.reachable()
}

// refuseAt refuses something about the key of principal i, "" for the principal as a whole.
func (k *checker) refuseAt(i int, key, format string, args ...any) {
	k.problems = append(k.problems, problem{at(i, key), label(&k.c.Principals[i], i) + fmt.Sprintf(format, args...)})
}

func (k *checker) warnAt(i int, key, format string, args ...any) {
	k.warnings = append(k.warnings, problem{at(i, key), label(&k.c.Principals[i], i) + fmt.Sprintf(format, args...)})
}

func at(i int, key string) []string {
	whole := "principal." + strconv.Itoa(i)
	return []string{whole + "." + key, whole}
}

func label(p *relay.Principal, i int) string {
	if p.Name == "" {
		return fmt.Sprintf("principal %d: ", i+1)
	}
	return fmt.Sprintf("principal %q: ", p.Name)
}

func (k *checker) principal(i int) {
	p := &k.c.Principals[i]
	switch {
	case p.Name == "":
		k.refuseAt(i, "name", "name is missing")
	case len(p.Name) > 128:
		k.refuseAt(i, "name", "name is longer than 128 bytes")
	case strings.ContainsFunc(p.Name, func(r rune) bool { return strings.ContainsRune("/*?", r) || unicode.IsControl(r) }):
		k.refuseAt(i, "name", "name must be free of / * ? and control characters, which owner/protocol globs could not match")
	}
	with := credentials(p)
	switch {
	case p.Name == Anonymous && len(with) > 0:
		k.refuseAt(i, with[0], "is who did not authenticate and can have no %s", with[0])
	case len(with) > 1:
		k.refuseAt(i, with[1], "has more than one credential: %s; give each a [[principal]] of its own", strings.Join(with, " and "))
	case len(with) == 0 && p.Name != Anonymous && p.Name != "":
		k.refuseAt(i, "name", "has no credential: set one of token_sha256, uid, client_cert")
	}
	if p.TokenSHA256 != "" && !hexadecimal(p.TokenSHA256) {
		k.refuseAt(i, "token_sha256", "token_sha256: want the 64 hex digits of a SHA-256")
	}
	for _, globs := range []struct {
		key  string
		list []string
	}{{"client_ids", p.ClientIDs}, {"register", p.Register}, {"discover", p.Discover}, {"notify", p.Notify}, {"request", p.Request}} {
		for _, glob := range globs.list {
			if glob == "" {
				k.refuseAt(i, globs.key, "%s: an empty glob matches nothing", globs.key)
			}
		}
	}
	for _, quota := range []struct {
		key   string
		value int
	}{{"connections", p.Connections}, {"services", p.Services}, {"inflight", p.Inflight}, {"catalog_bytes", p.CatalogBytes}} {
		if quota.value < 0 || quota.value > math.MaxInt32 {
			k.refuseAt(i, quota.key, "%s: %d, must be between 0 and %d", quota.key, quota.value, math.MaxInt32)
		}
	}
}

// rivals refuses two principals that could not be told apart: by name, or by credential.
func (k *checker) rivals(i, j int) {
	a, b := &k.c.Principals[j], &k.c.Principals[i]
	switch {
	case b.Name != "" && a.Name == b.Name:
		k.refuseAt(i, "name", "name is there twice")
	case b.TokenSHA256 != "" && strings.EqualFold(a.TokenSHA256, b.TokenSHA256):
		k.refuseAt(i, "token_sha256", "token_sha256 is that of principal %q too", a.Name)
	case a.UID != nil && b.UID != nil && *a.UID == *b.UID:
		k.refuseAt(i, "uid", "uid %d is that of principal %q too", *b.UID, a.Name)
	case b.ClientCert != "" && a.ClientCert == b.ClientCert:
		k.refuseAt(i, "client_cert", "client_cert %q is that of principal %q too", b.ClientCert, a.Name)
	}
}

// shared warns of clientIds that two principals may use. It is no error: the contract lets any number
// of principals use "*", and a clientId in use is refused to everybody else. But whoever comes first has it,
// so each principal is warned of once, with the first of the others.
func (k *checker) shared() {
	all := k.c.Principals
	for i := range all {
		for j := range i {
			a, b, ok := overlap(all[j].ClientIDs, all[i].ClientIDs)
			if !ok || all[i].Name == all[j].Name {
				continue
			}
			k.warnAt(i, "client_ids", "client_ids: %q overlaps with %q of principal %q: either can take the other's clientId while it is free", b, a, cmp.Or(all[j].Name, strconv.Itoa(j+1)))
			break
		}
	}
}

// reachable warns of credentials that no listener can see.
func (k *checker) reachable() {
	sockets, certificates := false, false
	for _, text := range k.c.Listen {
		a, err := ParseAddress(text)
		sockets = sockets || err != nil || a.Scheme == "unix"
		certificates = certificates || err != nil || (a.Scheme == "tls" || a.Scheme == "wss") && k.c.TLS.ClientCAFile != ""
	}
	for i := range k.c.Principals {
		if p := &k.c.Principals[i]; p.UID != nil && !sockets {
			k.warnAt(i, "uid", "uid: no unix:// listener could tell it")
		} else if p.ClientCert != "" && !certificates {
			k.warnAt(i, "client_cert", "client_cert: no tls:// or wss:// listener with tls.client_ca_file could tell it")
		}
	}
}

// overlap returns the first pair of globs that some text matches both of.
func overlap(a, b []string) (string, string, bool) {
	for _, x := range a {
		for _, y := range b {
			if meet(x, y) {
				return x, y, true
			}
		}
	}
	return "", "", false
}

// meet reports whether some text matches both globs, of at most globBytesMax each: longer ones are
// not worth the square of their length.
func meet(a, b string) bool {
	const globBytesMax = 256
	if len(a) > globBytesMax || len(b) > globBytesMax {
		return a == b
	}
	x, y := []rune(a), []rune(b)
	// reach[j]: x[:i] and y[:j] can match the same text.
	reach := make([]bool, len(y)+1)
	for i := range len(x) + 1 {
		diagonal := false
		for j := range len(y) + 1 {
			above := reach[j]
			switch {
			case i == 0 && j == 0:
				reach[j] = true
			case i > 0 && x[i-1] == '*' || j > 0 && y[j-1] == '*':
				reach[j] = i > 0 && above || j > 0 && reach[j-1]
			default:
				reach[j] = i > 0 && j > 0 && diagonal && (x[i-1] == y[j-1] || x[i-1] == '?' || y[j-1] == '?')
			}
			diagonal = above
		}
	}
	return reach[len(y)]
}
