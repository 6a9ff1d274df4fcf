package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// problem is one thing that is wrong, or odd, about a configuration.
type problem struct {
	keys []string // involved, the most telling first
	text string   // one line that names the keys as the file does
}

// coalesceMax is where a pause stops being one: senders would be starved, not merged.
const coalesceMax = time.Millisecond

// checker collects problems of c.
type checker struct {
	c        *Config
	problems []problem
	warnings []problem
}

func (k *checker) refuse(key, format string, args ...any) {
	k.problems = append(k.problems, problem{[]string{key}, fmt.Sprintf(format, args...)})
}

// check returns everything that is wrong with c, and everything that is legal but odd.
func (c *Config) check() (problems, warnings []problem) {
	k := &checker{c: c}
	k.program()
	k.limits()
	k.auth()
	k.tls()
	k.principals()
	k.exposure()
	return k.problems, k.warnings
}

// program checks the keys outside of any table.
func (k *checker) program() {
	c := k.c
	if len(c.Listen) == 0 {
		k.refuse("listen", "listen: needs at least one address")
	}
	for i, text := range c.Listen {
		if _, err := ParseAddress(text); err != nil {
			k.refuse("listen", "listen: %q %v", text, err)
		}
		if slices.Contains(c.Listen[:i], text) && !strings.HasSuffix(text, ":0") {
			k.refuse("listen", "listen: %q is there twice", text)
		}
	}
	for _, text := range c.Origins {
		if err := checkOrigin(text); err != nil {
			k.refuse("origins", "origins: %q %v", text, err)
		}
	}
	if c.Admin != "" {
		if _, err := ParseAdmin(c.Admin); err != nil {
			k.refuse("admin", "admin: %q %v", c.Admin, err)
		}
	}
	if c.AdminTokenSHA256 != "" && !hexadecimal(c.AdminTokenSHA256) {
		k.refuse("admin_token_sha256", "admin_token_sha256: want the 64 hex digits of a SHA-256")
	}
	if c.DefaultDirectory != "" {
		if err := checkFileURI(c.DefaultDirectory); err != nil {
			k.refuse("default_directory", "default_directory: %q %v", c.DefaultDirectory, err)
		}
	}
	if c.Coalesce < 0 || c.Coalesce > coalesceMax {
		k.refuse("coalesce", "coalesce: %v, must be between 0 and %v", c.Coalesce, coalesceMax)
	}
	if !slices.Contains([]string{"auto", "text", "json"}, c.LogFormat) {
		k.refuse("log_format", "log_format: want \"auto\", \"text\" or \"json\", got %q", c.LogFormat)
	}
}

// limits passes on what relay.Limits says of itself.
func (k *checker) limits() {
	err := k.c.Limits.Validate()
	if err == nil {
		return
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		p := problem{text: line}
		for word := range strings.FieldsSeq(line) {
			if _, ok := byName("limits." + word); ok {
				p.keys = append(p.keys, "limits."+word)
			}
		}
		k.problems = append(k.problems, p)
	}
}

func (k *checker) auth() {
	a := k.c.Auth
	if err := checkResource(a.Resource); err != nil {
		k.refuse("auth.resource", "auth.resource: %q %v", a.Resource, err)
	}
	if !a.Required {
		return
	}
	for i := range k.c.Principals {
		if len(credentials(&k.c.Principals[i])) > 0 {
			return
		}
	}
	k.refuse("auth.required", "auth.required is true, but no [[principal]] has a credential: nobody could do anything")
}

func (k *checker) tls() {
	t := k.c.TLS
	if (t.CertFile == "") != (t.KeyFile == "") {
		key := "tls.cert_file"
		if t.CertFile == "" {
			key = "tls.key_file"
		}
		k.refuse(key, "tls.cert_file and tls.key_file: both or neither")
	}
	for _, text := range k.c.Listen {
		a, err := ParseAddress(text)
		if err == nil && (a.Scheme == "tls" || a.Scheme == "wss") && t.CertFile == "" && t.KeyFile == "" {
			k.refuse("listen", "listen: %q needs tls.cert_file and tls.key_file", text)
		}
	}
}

// exposure checks who could come in from other machines, and with what on the wire.
func (k *checker) exposure() {
	c := k.c
	if c.AllowAnonymousRemote {
		return
	}
	tokens := slices.ContainsFunc(c.Principals, tokenHolder)
	for _, text := range c.Listen {
		a, err := ParseAddress(text)
		if err != nil || a.Loopback() {
			continue
		}
		if len(c.Principals) == 0 {
			k.refuse("listen", "listen: %q is reachable beyond loopback and there is no [[principal]]: anybody could do anything; set allow_anonymous_remote = true if that is meant", text)
		} else if tokens && a.Plaintext() {
			k.refuse("listen", "listen: %q is plaintext beyond loopback and a [[principal]] has token_sha256: tokens could be read on the way; use tls:// or wss://, or set allow_anonymous_remote = true if that network is trusted", text)
		}
	}
}

// hexadecimal reports whether text is a SHA-256 in hex.
func hexadecimal(text string) bool {
	return len(text) == 64 && strings.Trim(text, "0123456789abcdefABCDEF") == ""
}
