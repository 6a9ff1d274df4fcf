package config

import "github.com/ahprelay/ahprelay/relay"

// attribute is one key of [[principal]].
type attribute struct {
	name  string
	doc   string // comment of the example
	value string // of the example, as TOML
	field func(*relay.Principal) any
}

var attributes = []attribute{
	{"name", "for logs, metrics and owner/protocol globs; \"anonymous\" is who did not authenticate", `"git"`, func(p *relay.Principal) any { return &p.Name }},
	{"token_sha256", "of a bearer token, 64 hex digits; or one of the next two", `"bb5a52f42f9c9261ed4361f59422a1e30036e7c32b270c8807a419feca605023"`, func(p *relay.Principal) any { return &p.TokenSHA256 }},
	{"uid", "of the peer of a Unix socket", "1000", func(p *relay.Principal) any { return &p.UID }},
	{"client_cert", "CN or SAN of a client certificate", `"git.example"`, func(p *relay.Principal) any { return &p.ClientCert }},
	{"client_ids", "globs over clientId; absent: whatever no other principal claims; []: none", `["git-*"]`, func(p *relay.Principal) any { return &p.ClientIDs }},
	{"realm", "services are never visible across realms", `"default"`, func(p *relay.Principal) any { return &p.Realm }},
	{"register", "globs over metadata.protocol; a service without one matches only \"*\"", `["git-*"]`, func(p *relay.Principal) any { return &p.Register }},
	{"discover", "globs over protocol, or over owner/protocol", `["*"]`, func(p *relay.Principal) any { return &p.Discover }},
	{"notify", "likewise; needs discover too", `["*"]`, func(p *relay.Principal) any { return &p.Notify }},
	{"request", "likewise; needs discover too", `["*"]`, func(p *relay.Principal) any { return &p.Request }},
	{"connections", "quotas of this principal, 0: the global limit only", "0", func(p *relay.Principal) any { return &p.Connections }},
	{"services", "", "0", func(p *relay.Principal) any { return &p.Services }},
	{"inflight", "", "0", func(p *relay.Principal) any { return &p.Inflight }},
	{"catalog_bytes", "", "0", func(p *relay.Principal) any { return &p.CatalogBytes }},
}

// principalField returns a pointer to the value called name of p, nil when there is none.
func principalField(p *relay.Principal, name string) any {
	for _, a := range attributes {
		if a.name == name {
			return a.field(p)
		}
	}
	return nil
}

func principalKeys() []string {
	all := make([]string, len(attributes))
	for i, a := range attributes {
		all[i] = a.name
	}
	return all
}

// credentials names the keys by which p says who it is.
func credentials(p *relay.Principal) []string {
	var all []string
	if p.TokenSHA256 != "" {
		all = append(all, "token_sha256")
	}
	if p.UID != nil {
		all = append(all, "uid")
	}
	if p.ClientCert != "" {
		all = append(all, "client_cert")
	}
	return all
}
