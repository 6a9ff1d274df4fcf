package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/cmd/ahprelay/config"
)

// defaultRelay is where client commands connect unless told otherwise.
const defaultRelay = "tcp://127.0.0.1:7420"

// dialTimeout bounds connecting and the handshake.
const dialTimeout = 10 * time.Second

// connection is the flags that every client command has.
type connection struct {
	p         *Program
	relay     string
	tokenFile string
	clientID  string
}

// connect adds the flags to cmd. They may come from the environment, as the keys of the configuration do.
func (p *Program) connect(cmd *cobra.Command) *connection {
	c := &connection{p: p}
	cmd.Flags().StringVar(&c.relay, "relay", p.getenv("AHPRELAY_RELAY", defaultRelay), "URL of the relay, tcp://host:port or unix:///path (env AHPRELAY_RELAY)")
	cmd.Flags().StringVar(&c.tokenFile, "token-file", p.getenv("AHPRELAY_TOKEN_FILE", ""), "file with a bearer token to authenticate with (env AHPRELAY_TOKEN_FILE)")
	cmd.Flags().StringVar(&c.clientID, "client-id", p.getenv("AHPRELAY_CLIENT_ID", ""), "clientId to use, random when empty (env AHPRELAY_CLIENT_ID)")
	cmd.Flags().Lookup("relay").DefValue = defaultRelay
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

// dial connects to the relay.
func (c *connection) dial(ctx context.Context, opts ...client.Option) (*client.Client, error) {
	if _, err := config.ParseAddress(c.relay); err != nil {
		return nil, usage("--relay: %q %w", c.relay, err)
	}
	opts = append(opts, client.WithClientInfo("ahprelay", c.p.build().Version))
	if c.clientID != "" {
		opts = append(opts, client.WithClientID(c.clientID))
	}
	if c.tokenFile != "" {
		token, err := readToken(c.tokenFile)
		if err != nil {
			return nil, err
		}
		opts = append(opts, client.WithToken(token))
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	cl, err := client.Dial(ctx, c.relay, opts...)
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) {
		return nil, fmt.Errorf("no relay answers at %s: %w", c.relay, err)
	}
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", c.relay, err)
	}
	return cl, nil
}

// readToken reads a token from a file; errors never contain it.
func readToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("reading the token: %s is empty", path)
	}
	return token, nil
}

// interruptible returns a context that ends with the first SIGINT or SIGTERM.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
}

// hangUp closes cl; what does not go out in a second is lost.
func hangUp(cl *client.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = cl.Close(ctx)
}
