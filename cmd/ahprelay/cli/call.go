package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"github.com/ahprelay/ahprelay/client"
)

func (p *Program) call() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "call SERVICE METHOD [PARAMS]",
		Short: "send one request and print its result",
		Long: "Sends a request to a service and prints the result, JSON as the service sent it. An error answer is printed\n" +
			"on stderr with its code, message and data.\n\n" + targetHelp + " PARAMS is JSON, null when absent; - reads it from standard input.",
		Example: "  ahprelay call protocol=git-object-reader getRefs '{\"repo\":\"demo\"}' --timeout 5s",
		Args:    between(2, 3, "SERVICE METHOD [PARAMS]"),
	}
	conn := p.connect(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait for the answer; 0: as long as the relay does")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := interruptible(cmd.Context())
		defer stop()
		if timeout < 0 {
			return usage("--timeout: %v is negative", timeout)
		}
		if err := checkTarget(args[0]); err != nil {
			return err
		}
		params, err := p.params(args[2:])
		if err != nil {
			return err
		}
		return conn.call(ctx, args[0], args[1], params, timeout)
	}
	return cmd
}

// params reads the optional argument PARAMS.
func (p *Program) params(args []string) (json.RawMessage, error) {
	if len(args) == 0 {
		return nil, nil
	}
	if args[0] != "-" {
		params, err := checkJSON([]byte(args[0]), "PARAMS")
		if err != nil {
			return nil, &usageError{err}
		}
		return params, nil
	}
	text, err := io.ReadAll(p.In)
	if err != nil {
		return nil, fmt.Errorf("reading PARAMS: %w", err)
	}
	return checkJSON(bytes.TrimSpace(text), "PARAMS on standard input")
}

func (c *connection) call(ctx context.Context, target, method string, params json.RawMessage, timeout time.Duration) error {
	cl, err := c.dial(ctx, client.WithoutReconnect())
	if err != nil {
		return err
	}
	defer hangUp(cl)
	id := target
	if strings.Contains(target, "=") {
		if id, err = resolve(ctx, cl, target); err != nil {
			return err
		}
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = answered(ctx, timeout)
		defer cancel()
	}
	var result json.RawMessage
	err = cl.Call(ctx, id, method, params, &result)
	var answer *client.Error
	switch {
	case errors.As(err, &answer):
		c.p.printError(answer)
		return &reported{err}
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted; the service was told to stop")
	case err != nil:
		return fmt.Errorf("calling %s: %w", method, err)
	}
	if terminal(c.p.Out) {
		result = []byte(printable(string(result)))
	}
	_, err = fmt.Fprintf(c.p.Out, "%s\n", result)
	return err
}

// printError prints an error answer: code and message in one line, data in another if there is any.
func (p *Program) printError(e *client.Error) {
	message := e.Message
	if message == "" {
		message = e.Code.Text()
	}
	fmt.Fprintf(p.Err, "ahprelay: error %d: %s\n", int(e.Code), printable(message))
	if len(e.Data) > 0 {
		fmt.Fprintf(p.Err, "data: %s\n", printable(string(e.Data)))
	}
}

// patient is a context whose deadline is what the relay is told, and which itself ends later: the
// relay's own answer, which says whether the service has seen the request, is to come first.
type patient struct {
	context.Context
	deadline time.Time
}

func (p patient) Deadline() (time.Time, bool) { return p.deadline, true }

func answered(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	deadline := time.Now().Add(timeout)
	ctx, cancel := context.WithDeadline(ctx, deadline.Add(2*time.Second))
	return patient{ctx, deadline}, cancel
}
