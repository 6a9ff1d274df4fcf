// Package config is the configuration of the ahprelay program: one Config, set by flags, by
// environment variables, by a TOML file and by defaults, in that order of precedence.
//
// The package knows every key in one table (see Keys), from which the parser, the environment, the
// flags, the example file and "config show" are made, so that none can know a key that another does
// not. It opens the configuration file and reads what the kernel says of the machine's memory; it
// binds nothing and starts nothing. A Config that was loaded is owned by the caller, and nothing here
// keeps a reference to it.
package config

import (
	"io/fs"
	"log/slog"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// Config is a whole configuration file.
type Config struct {
	Listen               []string // tcp://host:port, unix:///path, ws://host:port, tls://host:port, wss://host:port
	UnixMode             fs.FileMode
	Origins              []string // of web pages that may open WebSockets: scheme://host[:port]
	Admin                string   // host:port or unix:///path, "" for none
	AdminTokenSHA256     string   // 64 hex digits, or "": made at start
	DefaultDirectory     string   // a file: URI, or ""
	Overload             relay.Overload
	Coalesce             time.Duration
	LogLevel             slog.Level
	LogFormat            string // auto, text or json
	AllowAnonymousRemote bool
	Limits               relay.Limits
	Auth                 relay.Auth
	TLS                  TLS
	Principals           []relay.Principal
}

// TLS names the files behind tls:// and wss:// listeners; all are PEM.
type TLS struct {
	CertFile     string // certificate chain, leaf first
	KeyFile      string
	ClientCAFile string // authorities for client certificates, "" asks for none
}

// Default returns the configuration of a relay that was told nothing.
func Default() Config {
	return Config{
		Listen:    []string{"tcp://127.0.0.1:7420"},
		UnixMode:  0o600,
		Origins:   []string{},
		Admin:     "127.0.0.1:7421",
		Overload:  relay.OverloadDrop,
		LogLevel:  slog.LevelInfo,
		LogFormat: "auto",
		Limits:    relay.DefaultLimits(),
		Auth:      relay.Auth{Resource: "https://ahprelay.localhost", ResourceName: "ahprelay"},
	}
}

// Relay returns what the core is to be told. Limits.MemoryBytesMax is resolved with memory; the
// principals are shared with c, which must not change them afterwards.
func (c *Config) Relay(version string, memory Memory) relay.Config {
	limits := c.Limits
	limits.MemoryBytesMax = memory.Resolve(limits.MemoryBytesMax)
	return relay.Config{
		Limits:           limits,
		Overload:         c.Overload,
		DefaultDirectory: c.DefaultDirectory,
		Version:          version,
		Auth:             c.Auth,
		Principals:       c.Principals,
	}
}
