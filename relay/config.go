package relay

// Overload says what happens to an owner whose unsent output exceeds half of Limits.QueueBytesSoft
// when a further notification for it arrives.
type Overload uint8

const (
	OverloadDrop       Overload = iota // drop the notification, count it, tell the owner later
	OverloadDisconnect                 // close the owner
)

// Config is everything that the core is told; it reads no file, clock or environment.
type Config struct {
	Limits           Limits
	Overload         Overload
	DefaultDirectory string // a file: URI given to clients, "" for none
	Version          string // of the program, reported in serverInfo
	Auth             Auth
	Principals       []Principal // empty: everybody is "anonymous" and may do everything
	SurplusMax       int         // connections beyond Limits.ConnectionsMax that may wait to be refused; 0: 64
}

// Auth describes the protected resource in RFC 9728 terms.
type Auth struct {
	Required     bool   `toml:"required"`
	Resource     string `toml:"resource"`      // identifier, an https URL
	ResourceName string `toml:"resource_name"` // for people; "ahprelay" when empty
}

// Principal is one [[principal]] of the configuration: who it is and what it may do. At most one of
// TokenSHA256, UID and ClientCert is set; a principal named "anonymous" has none of them.
type Principal struct {
	Name         string   `toml:"name"`
	TokenSHA256  string   `toml:"token_sha256"` // 64 hex digits
	UID          *int     `toml:"uid"`          // of the peer of a Unix socket
	ClientCert   string   `toml:"client_cert"`  // CN or SAN
	ClientIDs    []string `toml:"client_ids"`   // globs over clientId; absent: whatever no other principal claims
	Realm        string   `toml:"realm"`        // "" is "default"
	Register     []string `toml:"register"`     // globs over metadata.protocol
	Discover     []string `toml:"discover"`     // globs over protocol, or over owner/protocol
	Notify       []string `toml:"notify"`
	Request      []string `toml:"request"`
	Connections  int      `toml:"connections"` // quotas, 0: the global limit only
	Services     int      `toml:"services"`
	Inflight     int      `toml:"inflight"`
	CatalogBytes int      `toml:"catalog_bytes"`
}

// DefaultConfig returns the configuration of a relay without a configuration file.
func DefaultConfig() Config {
	return Config{Limits: DefaultLimits(), Version: "dev", Auth: Auth{Resource: "https://ahprelay.localhost"}}
}
