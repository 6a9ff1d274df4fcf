package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/cmd/ahprelay/config"
)

const (
	defaultRelay = "tcp://127.0.0.1:7420"
	dialTimeout  = 10 * time.Second       // for connecting and the handshake
	dialPause    = 100 * time.Millisecond // between attempts to reach a relay that is not there yet
	closeTimeout = 5 * time.Second
)

// connection is the flags that both commands have.
type connection struct {
	p         *Program
	relay     string
	tokenFile string
	clientID  string
	trace     bool
	verbose   bool
}

// connect adds the flags to cmd.
func (p *Program) connect(cmd *cobra.Command) *connection {
	c := &connection{p: p}
	flags := cmd.Flags()
	flags.StringVar(&c.relay, "relay", p.getenv("AHPRELAY_RELAY", defaultRelay), "URL of the relay, tcp://host:port or unix:///path (env AHPRELAY_RELAY)")
	flags.StringVar(&c.tokenFile, "token-file", p.getenv("AHPRELAY_TOKEN_FILE", ""), "file with a bearer token to authenticate with (env AHPRELAY_TOKEN_FILE)")
	flags.StringVar(&c.clientID, "client-id", p.getenv("AHPRELAY_CLIENT_ID", ""), "clientId to use, random when empty (env AHPRELAY_CLIENT_ID)")
	flags.BoolVar(&c.trace, "trace", false, "print every message that crosses the wire to stderr, long ones shortened")
	flags.BoolVar(&c.verbose, "verbose", false, "say more on stderr")
	flags.Lookup("relay").DefValue = defaultRelay
	return c
}

func (p *Program) getenv(name, otherwise string) string {
	for _, pair := range p.Environ {
		if value, ok := strings.CutPrefix(pair, name+"="); ok && value != "" {
			return value
		}
	}
	return otherwise
}

// logger returns the logger on stderr.
func (c *connection) logger() *slog.Logger {
	level := slog.LevelWarn
	if c.verbose {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(c.p.Err, &slog.HandlerOptions{Level: level}))
}

// dial connects to the relay. For up to patience it tries again when nobody listens there.
func (c *connection) dial(ctx context.Context, patience time.Duration, opts ...client.Option) (*client.Client, error) {
	if _, err := config.ParseAddress(c.relay); err != nil {
		return nil, usage("--relay: %q %w", c.relay, err)
	}
	opts = append(opts, client.WithClientInfo("git-sidecar", c.p.Version), client.WithLogger(c.logger()))
	if c.clientID != "" {
		opts = append(opts, client.WithClientID(c.clientID))
	}
	if c.trace {
		opts = append(opts, client.WithTrace(c.p.tracer()))
	}
	if c.tokenFile != "" {
		text, err := os.ReadFile(c.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("reading the token: %w", err)
		}
		token := strings.TrimSpace(string(text))
		if token == "" {
			return nil, fmt.Errorf("reading the token: %s is empty", c.tokenFile)
		}
		opts = append(opts, client.WithToken(token))
	}
	until := time.Now().Add(patience)
	for {
		relay, err := c.attempt(ctx, opts)
		absent := errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
		if err == nil || !absent || time.Now().After(until) {
			return relay, err
		}
		select {
		case <-time.After(dialPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *connection) attempt(ctx context.Context, opts []client.Option) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	relay, err := client.Dial(ctx, c.relay, opts...)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", c.relay, err)
	}
	return relay, nil
}

// hangUp closes relay: requests that are being answered get their answers first.
func hangUp(relay *client.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = relay.Close(ctx) // what a relay that hangs has not taken by now is lost
}
