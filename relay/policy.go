package relay

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/ahprelay/ahprelay/codec"
	"github.com/ahprelay/ahprelay/table"
)

// What a principal may do with one service. A row of these, one a principal, hangs at every service, so
// that checking a right costs one load.
const (
	rightDiscover uint8 = 1 << iota
	rightNotify
	rightRequest
	rightsAll = rightDiscover | rightNotify | rightRequest
)

const (
	anonymousName     = "anonymous"
	defaultRealm      = "default"
	principalBytesMax = 1024 // of a principal's name as a JSON string
	principalsMax     = 4096
)

// usage is what one principal has taken, over all its connections and across reloads.
type usage struct {
	index                                         int32
	name                                          string
	connections, services, inflight, catalogBytes table.Quota
}

// principal is one configured principal, compiled.
type principal struct {
	Principal
	name  string
	realm string
	label []byte // name as a JSON string
	token [sha256.Size]byte
	epoch uint64 // moves on when what it may see or do changes
	usage int32  // index of Core.usages
}

type rowKey struct {
	owner       int32
	protocol    string
	hasProtocol bool
}

// policy is the compiled configuration of section 7 of the contract. Rights rows are made once for each
// (owner, protocol) and shared.
type policy struct {
	principals []principal
	anonymous  int32
	open       bool // nothing is configured: everybody may do everything
	powerless  bool // others are configured, but nobody named anonymous
	rows       map[rowKey][]uint8
}

// credentialKind says by what a connection has its principal.
type credentialKind uint8

const (
	credentialNone credentialKind = iota
	credentialToken
	credentialUID
	credentialCert
)

// credential is what made a connection the principal that it is; it is looked up again on a reload.
type credential struct {
	kind  credentialKind
	token [sha256.Size]byte
}

// compile checks the principals of a configuration and makes its policy. Usages are kept by name.
func (c *Core) compile(config *Config) (*policy, error) {
	if err := validatePrincipals(config.Principals); err != nil {
		return nil, err
	}
	p := &policy{open: len(config.Principals) == 0, rows: map[rowKey][]uint8{}, anonymous: -1}
	for _, pc := range config.Principals {
		p.add(pc)
	}
	for i := range p.principals {
		if p.principals[i].name == anonymousName {
			p.anonymous = int32(i)
		}
	}
	if p.anonymous < 0 {
		p.anonymous = int32(len(p.principals))
		anybody := Principal{Name: anonymousName}
		if p.open {
			all := []string{"*"}
			anybody.Register, anybody.Discover, anybody.Notify, anybody.Request = all, all, all, all
		}
		p.add(anybody)
		p.powerless = !p.open
	}
	if config.Auth.Required {
		// Who has to authenticate first may do nothing, whatever else is configured.
		nobody := &p.principals[p.anonymous]
		nobody.Register, nobody.Discover, nobody.Notify, nobody.Request = nil, nil, nil, nil
	}
	for i := range p.principals {
		p.principals[i].usage = c.usageOf(&p.principals[i])
	}
	return p, nil
}

func (p *policy) add(pc Principal) {
	pr := principal{Principal: pc, name: pc.Name, realm: pc.Realm, label: codec.AppendQuoted(nil, pc.Name)}
	if pr.realm == "" {
		pr.realm = defaultRealm
	}
	if pc.TokenSHA256 != "" {
		_, _ = hex.Decode(pr.token[:], []byte(pc.TokenSHA256)) // validated
	}
	p.principals = append(p.principals, pr)
}

func validatePrincipals(list []Principal) error {
	var errs []error
	names, tokens, uids, certs := map[string]bool{}, map[string]bool{}, map[int]bool{}, map[string]bool{}
	if len(list) > principalsMax {
		errs = append(errs, fmt.Errorf("more than %d principals", principalsMax))
	}
	for _, p := range list {
		refuse := func(bad bool, format string, args ...any) {
			if bad {
				errs = append(errs, fmt.Errorf("principal %q: "+format, append([]any{p.Name}, args...)...))
			}
		}
		kinds := 0
		for _, set := range []bool{p.TokenSHA256 != "", p.UID != nil, p.ClientCert != ""} {
			if set {
				kinds++
			}
		}
		refuse(p.Name == "" || len(p.Name) > 128, "name must have 1 to 128 bytes")
		refuse(strings.Contains(p.Name, "/"), "name must not contain a slash")
		refuse(names[p.Name], "configured twice")
		refuse(p.Name == anonymousName && kinds != 0, "it is who has no credential")
		refuse(p.Name != anonymousName && kinds != 1, "exactly one of token_sha256, uid and client_cert is needed")
		names[p.Name] = true
		if p.TokenSHA256 != "" {
			raw, err := hex.DecodeString(p.TokenSHA256)
			refuse(err != nil || len(raw) != sha256.Size, "token_sha256 must be 64 hexadecimal digits")
			refuse(tokens[strings.ToLower(p.TokenSHA256)], "another principal has the same token_sha256")
			tokens[strings.ToLower(p.TokenSHA256)] = true
		}
		if p.UID != nil {
			refuse(*p.UID < 0, "uid must not be negative")
			refuse(uids[*p.UID], "another principal has the same uid")
			uids[*p.UID] = true
		}
		if p.ClientCert != "" {
			refuse(certs[p.ClientCert], "another principal has the same client_cert")
			certs[p.ClientCert] = true
		}
		refuse(p.Connections < 0 || p.Services < 0 || p.Inflight < 0 || p.CatalogBytes < 0, "quotas must not be negative")
	}
	return errors.Join(errs...)
}

// usageOf finds or makes the usage of a principal and sets its quotas.
func (c *Core) usageOf(pr *principal) int32 {
	var u *usage
	for _, known := range c.usages {
		if known.name == pr.name {
			u = known
		}
	}
	if u == nil {
		u = &usage{index: int32(len(c.usages)), name: pr.name}
		c.usages = append(c.usages, u)
	}
	u.connections.Max, u.services.Max = pr.Connections, pr.Services
	u.inflight.Max, u.catalogBytes.Max = pr.Inflight, pr.CatalogBytes
	return u.index
}

// identify finds the principal of a new connection by what its transport proves.
func (p *policy) identify(info PeerInfo) (int32, credential) {
	for i := range p.principals {
		pr := &p.principals[i]
		if pr.UID != nil && info.UID == *pr.UID {
			return int32(i), credential{kind: credentialUID}
		}
		for _, name := range info.CertNames {
			if pr.ClientCert != "" && pr.ClientCert == name {
				return int32(i), credential{kind: credentialCert}
			}
		}
	}
	return p.anonymous, credential{}
}

// byToken finds the principal with a token, in a time that does not depend on how far one matches.
func (p *policy) byToken(sum [sha256.Size]byte) (int32, bool) {
	found := int32(-1)
	for i := range p.principals {
		pr := &p.principals[i]
		if subtle.ConstantTimeCompare(pr.token[:], sum[:]) == 1 && pr.TokenSHA256 != "" {
			found = int32(i)
		}
	}
	return found, found >= 0
}

// mayBe reports whether a principal may use a clientId. One without client_ids may use those that no
// other principal's globs claim.
func (p *policy) mayBe(principal int32, clientID string) bool {
	if own := p.principals[principal].ClientIDs; own != nil {
		return globs(own, clientID)
	}
	for i := range p.principals {
		if globs(p.principals[i].ClientIDs, clientID) {
			return false
		}
	}
	return true
}

// mayRegister reports whether a principal may offer a protocol.
func (p *policy) mayRegister(principal int32, protocol string, has bool) bool {
	return matches(p.principals[principal].Register, "", protocol, has)
}

// row returns the rights of every principal on a service with this owner and protocol.
func (p *policy) row(owner int32, protocol string, has bool) []uint8 {
	key := rowKey{owner, protocol, has}
	if row, ok := p.rows[key]; ok {
		return row
	}
	if len(p.rows) >= rowsMax {
		clear(p.rows) // services keep theirs
	}
	row := make([]uint8, len(p.principals))
	own := &p.principals[owner]
	for i := range row {
		pr := &p.principals[i]
		if pr.realm != own.realm {
			continue
		}
		for _, r := range []struct {
			bit   uint8
			globs []string
		}{{rightDiscover, pr.Discover}, {rightNotify, pr.Notify}, {rightRequest, pr.Request}} {
			if matches(r.globs, own.name, protocol, has) {
				row[i] |= r.bit
			}
		}
	}
	if len(protocol) <= rowKeyMax {
		p.rows[key] = row
	}
	return row
}

// Protocols are chosen by clients: so many rows are shared, for protocols of at most so many bytes.
const (
	rowsMax   = 4096
	rowKeyMax = 256
)

// matches reports whether a service matches one of the globs. One with a slash is over owner/protocol
// where there is an owner, so that a service cannot pass for another owner's by a slash in its protocol;
// all others are over the protocol. A service without a protocol matches only "*".
func matches(list []string, owner, protocol string, has bool) bool {
	for _, g := range list {
		switch {
		case g == "*":
			return true
		case !has:
		case owner != "" && strings.Contains(g, "/"):
			if glob(g, owner+"/"+protocol) {
				return true
			}
		case glob(g, protocol):
			return true
		}
	}
	return false
}

func globs(list []string, s string) bool {
	for _, g := range list {
		if glob(g, s) {
			return true
		}
	}
	return false
}

// lostSight returns a row for those who could see by the first row and cannot by the second, nil for
// nobody.
func lostSight(before, after []uint8) []uint8 {
	var lost []uint8
	for i := range min(len(before), len(after)) {
		if before[i]&rightDiscover != 0 && after[i]&rightDiscover == 0 {
			if lost == nil {
				lost = make([]uint8, len(before))
			}
			lost[i] = rightDiscover
		}
	}
	return lost
}

// gainedSight returns a row for those who can see by the second row and could not by the first, nil for
// nobody.
func gainedSight(before, after []uint8) []uint8 { return lostSight(after, before) }
