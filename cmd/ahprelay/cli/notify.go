package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"github.com/ahprelay/ahprelay/client"
)

func (p *Program) notify() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notify SERVICE METHOD [PARAMS|-]",
		Short: "send one notification, or one for each line of standard input",
		Long: "Sends a notification to a service; nothing tells whether it arrived. With - each line of standard input is\n" +
			"the params of one notification, blank lines aside.\n\n" + targetHelp + " PARAMS is JSON, null when absent.",
		Example: "  ahprelay notify protocol=log line '\"hello\"'\n  jq -c .events[] trace.json | ahprelay notify protocol=log event -",
		Args:    between(2, 3, "SERVICE METHOD [PARAMS|-]"),
	}
	conn := p.connect(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := interruptible(cmd.Context())
		defer stop()
		if err := checkTarget(args[0]); err != nil {
			return err
		}
		if len(args) == 3 && args[2] == "-" {
			return conn.notify(ctx, args[0], func(cl *client.Client, id string) error {
				return conn.notifyLines(ctx, cl, id, args[1])
			})
		}
		params, err := p.params(args[2:])
		if err != nil {
			return err
		}
		return conn.notify(ctx, args[0], func(cl *client.Client, id string) error {
			return cl.Notify(id, args[1], params)
		})
	}
	return cmd
}

// notify lets send send to the service that target means, and waits until the relay has read it all.
func (c *connection) notify(ctx context.Context, target string, send func(cl *client.Client, id string) error) error {
	cl, err := c.dial(ctx, client.WithoutReconnect())
	if err != nil {
		return err
	}
	defer hangUp(cl)
	id, err := resolve(ctx, cl, target)
	if err != nil {
		return err
	}
	if err := send(cl, id); err != nil {
		return fmt.Errorf("notifying: %w", err)
	}
	if err := cl.Flush(ctx); err != nil {
		return fmt.Errorf("notifying: %w", err)
	}
	return nil
}

// notifyLines sends one notification for each line of standard input. It stops at the first that is no
// JSON; what was sent before stays sent.
func (c *connection) notifyLines(ctx context.Context, cl *client.Client, id, method string) error {
	lines := bufio.NewScanner(c.p.In)
	lines.Buffer(nil, max(cl.Limits().FrameBytes, 64<<10))
	count := c.p.newProgress()
	defer count.end()
	ended := make(chan error, 1)
	go func() { // reading cannot be interrupted; an abandoned reader ends with the program
		number := 0
		for lines.Scan() {
			number++
			line := bytes.TrimSpace(lines.Bytes())
			if len(line) == 0 {
				continue
			}
			params, err := checkJSON(line, fmt.Sprintf("line %d of standard input", number))
			if err == nil {
				err = cl.Notify(id, method, json.RawMessage(params))
			}
			if err != nil {
				ended <- err
				return
			}
			count.add()
		}
		if errors.Is(lines.Err(), bufio.ErrTooLong) {
			ended <- fmt.Errorf("line %d of standard input is longer than the relay's frameBytes %d", number+1, cl.Limits().FrameBytes)
			return
		}
		ended <- lines.Err()
	}()
	select {
	case err := <-ended:
		if flushErr := cl.Flush(ctx); err == nil {
			err = flushErr
		}
		return err
	case <-ctx.Done():
		return errors.New("interrupted")
	}
}

// progress counts on stderr while that is a terminal.
type progress struct {
	p     *Program
	shown bool
	n     atomic.Int64
	last  time.Time
}

func (p *Program) newProgress() *progress {
	return &progress{p: p, shown: terminal(p.Err)}
}

// add counts one; not safe for concurrent use, except with end.
func (c *progress) add() {
	n := c.n.Add(1)
	if !c.shown {
		return
	}
	if now := time.Now(); now.Sub(c.last) > 100*time.Millisecond {
		c.last = now
		fmt.Fprintf(c.p.Err, "\r%d sent", n)
	}
}

func (c *progress) end() {
	if c.shown {
		fmt.Fprintf(c.p.Err, "\r%d sent\n", c.n.Load())
	}
}
