package config

import "github.com/ahprelay/ahprelay/relay"

// Key is one thing that can be set: by its Name in the file, by its Flag, by its Env.
type Key struct {
	Name string // as in the file, with the table in front: limits.frame_bytes_max
	Doc  string // for people, complete sentences unnecessary; lines of the example file's comment
	Zero string // how the example spells a zero duration, "" for "0s"

	field func(*Config) any // a pointer to the value inside a Config
}

// Keys lists every key but those of [[principal]], in the order of the file.
func Keys() []Key { return keys }

var keys = []Key{
	{Name: "listen", Doc: "where clients connect: tcp://host:port, unix:///path, ws://host:port, and tls://host:port\nand wss://host:port with [tls]", field: func(c *Config) any { return &c.Listen }},
	{Name: "unix_mode", Doc: "mode of Unix sockets that the relay makes, octal", field: func(c *Config) any { return &c.UnixMode }},
	{Name: "origins", Doc: "web pages that may connect to ws:// and wss://, as scheme://host[:port]; pages of the relay's\nown address may, and programs that are no browsers", field: func(c *Config) any { return &c.Origins }},
	{Name: "admin", Doc: "HTTP: /livez /readyz /metrics /debug/pprof/ and the status page; loopback host:port or\nunix:///path; \"\" turns it off", field: func(c *Config) any { return &c.Admin }},
	{Name: "admin_token_sha256", Doc: "SHA-256 of the admin token as 64 hex digits; \"\": made at start, written to a 0600 file", field: func(c *Config) any { return &c.AdminTokenSHA256 }},
	{Name: "default_directory", Doc: "file: URI given to clients; \"\" for none", field: func(c *Config) any { return &c.DefaultDirectory }},
	{Name: "overload", Doc: "what notifications to an owner that does not read do: \"drop\" them, or \"disconnect\" the owner", field: func(c *Config) any { return &c.Overload }},
	{Name: "coalesce", Zero: "0us", Doc: "pause before reading again from a sender that writes message by message, at most 1ms; 0: off", field: func(c *Config) any { return &c.Coalesce }},
	{Name: "log_level", Doc: "debug, info, warn or error", field: func(c *Config) any { return &c.LogLevel }},
	{Name: "log_format", Doc: "text, json, or auto: text on a terminal, JSON otherwise", field: func(c *Config) any { return &c.LogFormat }},
	{Name: "allow_anonymous_remote", Doc: "permits listening beyond loopback without principals, and plaintext listeners beyond loopback\nwith token principals: both trust everybody on that network", field: func(c *Config) any { return &c.AllowAnonymousRemote }},

	{Name: "limits.frame_bytes_max", Doc: "one message, LF excluded", field: limit(func(l *relay.Limits) any { return &l.FrameBytesMax })},
	{Name: "limits.depth_max", Doc: "nesting of a message, the outermost value counting 1", field: limit(func(l *relay.Limits) any { return &l.DepthMax })},
	{Name: "limits.id_bytes_max", Doc: "a request id as spelled on the wire, quotes included", field: limit(func(l *relay.Limits) any { return &l.IDBytesMax })},
	{Name: "limits.client_id_bytes_max", Doc: "a clientId, decoded", field: limit(func(l *relay.Limits) any { return &l.ClientIDBytesMax })},
	{Name: "limits.method_bytes_max", Doc: "an application's method name, decoded", field: limit(func(l *relay.Limits) any { return &l.MethodBytesMax })},
	{Name: "limits.metadata_bytes_max", Doc: "metadata of one service; must leave 1024 bytes of frame_bytes_max", field: limit(func(l *relay.Limits) any { return &l.MetadataBytesMax })},
	{Name: "limits.protocol_errors_max", Doc: "lines answered with -32700 or -32600, then the connection is closed", field: limit(func(l *relay.Limits) any { return &l.ProtocolErrorsMax })},
	{Name: "limits.connections_max", Doc: "0: RLIMIT_NOFILE less a reserve; needs a restart", field: limit(func(l *relay.Limits) any { return &l.ConnectionsMax })},
	{Name: "limits.memory_bytes_max", Doc: "outputs, tails, catalogue and replay of all connections together;\n0: half of the smaller of cgroup and machine", field: limit(func(l *relay.Limits) any { return &l.MemoryBytesMax })},
	{Name: "limits.services_max", Doc: "services in all; needs a restart", field: limit(func(l *relay.Limits) any { return &l.ServicesMax })},
	{Name: "limits.services_per_connection_max", Doc: "at most services_max", field: limit(func(l *relay.Limits) any { return &l.ServicesPerConnectionMax })},
	{Name: "limits.catalog_bytes_max", Doc: "the whole catalogue; with frame_bytes_max at most queue_bytes_hard: a snapshot must fit", field: limit(func(l *relay.Limits) any { return &l.CatalogBytesMax })},
	{Name: "limits.subscriptions_per_connection_max", Doc: "channels", field: limit(func(l *relay.Limits) any { return &l.SubscriptionsPerConnectionMax })},
	{Name: "limits.catalog_changes_per_second_max", Doc: "per connection, burst 256; 0: off", field: limit(func(l *relay.Limits) any { return &l.CatalogChangesPerSecondMax })},
	{Name: "limits.replay_actions", Doc: "catalogue changes kept for reconnect; 0: always a snapshot; needs a restart", field: limit(func(l *relay.Limits) any { return &l.ReplayActions })},
	{Name: "limits.resume_entries", Doc: "clientIds remembered for reconnect; 0: none; needs a restart", field: limit(func(l *relay.Limits) any { return &l.ResumeEntries })},
	{Name: "limits.slots_max", Doc: "requests in flight in all; needs a restart", field: limit(func(l *relay.Limits) any { return &l.SlotsMax })},
	{Name: "limits.inflight_per_connection_max", Doc: "requests in flight of one caller, at most slots_max", field: limit(func(l *relay.Limits) any { return &l.InflightPerConnectionMax })},
	{Name: "limits.inflight_per_service_max", Doc: "requests in flight to one service", field: limit(func(l *relay.Limits) any { return &l.InflightPerServiceMax })},
	{Name: "limits.request_timeout", Doc: "of a request without timeoutMs, at most request_timeout_max", field: limit(func(l *relay.Limits) any { return &l.RequestTimeout })},
	{Name: "limits.request_timeout_max", Doc: "the cap of timeoutMs", field: limit(func(l *relay.Limits) any { return &l.RequestTimeoutMax })},
	{Name: "limits.handshake_timeout", Doc: "from the accept to a finished handshake", field: limit(func(l *relay.Limits) any { return &l.HandshakeTimeout })},
	{Name: "limits.idle_timeout", Doc: "0: off", field: limit(func(l *relay.Limits) any { return &l.IdleTimeout })},
	{Name: "limits.stall_timeout", Doc: "without the peer taking a byte of the output that waits", field: limit(func(l *relay.Limits) any { return &l.StallTimeout })},
	{Name: "limits.drain_timeout", Doc: "for requests in flight at SIGTERM; 0: none", field: limit(func(l *relay.Limits) any { return &l.DrainTimeout })},
	{Name: "limits.queue_bytes_soft", Doc: "unsent output past which requests to a connection fail, half of it for notifications", field: limit(func(l *relay.Limits) any { return &l.QueueBytesSoft })},
	{Name: "limits.queue_bytes_hard", Doc: "unsent output past which a connection is closed", field: limit(func(l *relay.Limits) any { return &l.QueueBytesHard })},

	{Name: "auth.required", Doc: "true: nobody does anything before authenticating", field: func(c *Config) any { return &c.Auth.Required }},
	{Name: "auth.resource", Doc: "identifier of this relay in the sense of RFC 9728, an https URL", field: func(c *Config) any { return &c.Auth.Resource }},
	{Name: "auth.resource_name", Doc: "its name for people", field: func(c *Config) any { return &c.Auth.ResourceName }},

	{Name: "tls.cert_file", Doc: "certificate chain, PEM, leaf first; reloaded by SIGHUP", field: func(c *Config) any { return &c.TLS.CertFile }},
	{Name: "tls.key_file", Doc: "its private key, PEM", field: func(c *Config) any { return &c.TLS.KeyFile }},
	{Name: "tls.client_ca_file", Doc: "authorities of client certificates, PEM; \"\": clients are not asked for one", field: func(c *Config) any { return &c.TLS.ClientCAFile }},
}

func limit(of func(*relay.Limits) any) func(*Config) any {
	return func(c *Config) any { return of(&c.Limits) }
}

// fixed names the keys that a running relay cannot change: they bind sockets, size tables or were
// given to clients already.
var fixed = []string{
	"listen", "unix_mode", "origins", "admin", "admin_token_sha256", "default_directory", "coalesce", "log_format",
	"limits.connections_max", "limits.services_max", "limits.slots_max", "limits.replay_actions", "limits.resume_entries",
}

// byName returns the key called name, as in the file.
func byName(name string) (Key, bool) {
	for _, k := range keys {
		if k.Name == name {
			return k, true
		}
	}
	return Key{}, false
}

// names returns what each key is called by of.
func names(of func(Key) string) []string {
	all := make([]string, len(keys))
	for i, k := range keys {
		all[i] = of(k)
	}
	return all
}
