package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// makeConfig makes up the configuration of a run: in most of them some limits are so small that they are
// hit.
func makeConfig(c Choices, about theme) relay.Config {
	config := relay.DefaultConfig()
	config.Limits.SlotsMax = 64
	config.Limits.InflightPerConnectionMax = 64
	if chance(c, 4) {
		config.DefaultDirectory = "file:///srv"
	}
	if chance(c, 6) {
		config.Overload = relay.OverloadDisconnect
	}
	if about == themeResume && c.Pick(2) == 0 { // there is something to come back to, and not all of it for everybody
		identities(c, &config)
		config.Auth.Required = false
		return config
	}
	if c.Pick(4) > 0 {
		tighten(c, &config.Limits)
		if config.Limits.ConnectionsMax > 0 {
			config.SurplusMax = 1 + c.Pick(2)
		}
	}
	identities(c, &config)
	must(config.Limits.Validate() == nil, "the simulation makes a configuration that is none: %v", config.Limits.Validate())
	return config
}

// tighten makes some of the limits small, in groups that belong together.
func tighten(c Choices, l *relay.Limits) {
	for _, change := range []func(){
		func() { l.FrameBytesMax, l.MetadataBytesMax = one(c, 1400, 2048), one(c, 64, 200, 376) },
		func() { l.DepthMax = one(c, 4, 5, 8) },
		func() { l.IDBytesMax = 16 },
		func() { l.ClientIDBytesMax = one(c, 1, 2, 4) },
		func() { l.MethodBytesMax = one(c, 1, 2, 5) },
		func() { l.ProtocolErrorsMax = one(c, 1, 2, 4) },
		func() { l.ConnectionsMax = one(c, 1, 2, 3, 4) },
		func() { l.ServicesMax = one(c, 1, 2, 4); l.ServicesPerConnectionMax = min(2, l.ServicesMax) },
		func() { l.ServicesPerConnectionMax = min(l.ServicesPerConnectionMax, one(c, 1, 2)) },
		func() { l.CatalogBytesMax = one(c, 1024, 1500) },
		func() { l.SubscriptionsPerConnectionMax = 1 },
		func() { l.CatalogChangesPerSecondMax = one(c, 0, 1, 20) },
		func() { l.ReplayActions = one(c, 0, 1, 2, 3) },
		func() { l.ResumeEntries = one(c, 0, 1, 2) },
		func() { l.SlotsMax = one(c, 1, 2, 3); l.InflightPerConnectionMax = l.SlotsMax },
		func() { l.InflightPerConnectionMax = min(l.InflightPerConnectionMax, one(c, 1, 2)) },
		func() { l.InflightPerServiceMax = one(c, 1, 2) },
		func() { times(c, l) },
		func() { queues(c, l) },
		func() { l.MemoryBytesMax = one(c, int64(4000), 9000, 20000) },
	} {
		if c.Pick(6) == 0 {
			change()
		}
	}
}

func times(c Choices, l *relay.Limits) {
	l.RequestTimeout = one(c, 50*time.Millisecond, time.Second)
	l.RequestTimeoutMax = one(c, time.Second, 3*time.Second)
	l.HandshakeTimeout = one(c, time.Second, 3*time.Second)
	l.IdleTimeout = one(c, 0, 2*time.Second)
	l.StallTimeout = one(c, time.Second, 2*time.Second)
	l.DrainTimeout = one(c, 0, time.Second)
}

// queues bounds outputs to what a few messages can fill.
func queues(c Choices, l *relay.Limits) {
	l.QueueBytesSoft = one(c, 1024, 3000)
	l.FrameBytesMax = min(l.FrameBytesMax, 8192)
	l.MetadataBytesMax = min(l.MetadataBytesMax, l.FrameBytesMax-1024)
	l.CatalogBytesMax = min(l.CatalogBytesMax, 2500)
	l.QueueBytesHard = 32 << 10
}

// tokens are the bearer tokens that exist, and one that never does.
var tokens = []string{"token-a", "token-b", "wrong"}

// identities makes up who there is and what each may do.
func identities(c Choices, config *relay.Config) {
	config.Principals, config.Auth.Required = nil, false
	if c.Pick(2) == 0 {
		return
	}
	for _, p := range []relay.Principal{
		{Name: "A", TokenSHA256: digest(tokens[0]), ClientIDs: one(c, nil, []string{"a*", "d?"})},
		{Name: "B", TokenSHA256: digest(tokens[1]), ClientIDs: one(c, nil, []string{"b*", "c"})},
		{Name: "U", UID: pointer(1000)},
		{Name: "C", ClientCert: "cn-c"},
		{Name: anonymous},
	} {
		if c.Pick(3) == 0 {
			continue
		}
		p.Realm = one(c, "", "", "", "", "default", "elsewhere")
		p.Register, p.Discover, p.Notify, p.Request = globList(c), globList(c), globList(c), globList(c)
		if chance(c, 5) {
			p.Connections, p.Services, p.Inflight, p.CatalogBytes = c.Pick(3), c.Pick(3), c.Pick(3), one(c, 0, 150, 400)
		}
		config.Principals = append(config.Principals, p)
	}
	config.Auth.Required = chance(c, 6)
	if chance(c, 3) {
		config.Auth.ResourceName = "the \"relay\""
	}
}

func globList(c Choices) []string {
	return one(c, all, all, all, all, all, all, []string{"p"}, []string{"g?t-*"}, []string{"A/*", "p"}, []string{"q/*"}, nil)
}

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func pointer(n int) *int { return &n }

// twice reports whether a configuration names a principal twice, which makes it a bad one.
func twice(config *relay.Config) bool {
	seen := map[string]bool{}
	for _, p := range config.Principals {
		if seen[p.Name] {
			return true
		}
		seen[p.Name] = true
	}
	return false
}
