package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/codec"
)

// registerGrace is how long jobs may finish after the first signal.
const registerGrace = 5 * time.Second

func (p *Program) register() *cobra.Command {
	r := &registration{p: p}
	cmd := &cobra.Command{
		Use:   "register --metadata JSON (--echo | --log | --exec CMD)",
		Short: "be a service, until interrupted",
		Long: "Registers one service and prints its id on stdout, again whenever it changes after a reconnect.\n\n" +
			"--echo answers each request with its params. --log prints what arrives, one JSON object a line, and answers\n" +
			"null; the id is then a line {\"kind\":\"registered\",\"serviceId\":…} too. --exec runs CMD with /bin/sh for each\n" +
			"request, params on stdin, method in $AHP_METHOD, sender in $AHP_SENDER; what it prints must be JSON and is the\n" +
			"result, a non-zero exit becomes an error with the last line of its stderr. When the request is cancelled CMD's\n" +
			"process group is killed. Notifications are ignored by --echo and --exec.",
		Example: "  ahprelay register --metadata '{\"protocol\":\"echo\"}' --echo\n  ahprelay register --metadata '{\"protocol\":\"sum\"}' --exec 'jq add' --jobs 8",
		Args:    between(0, 0, ""),
	}
	r.conn = p.connect(cmd)
	cmd.Flags().StringVar(&r.metadata, "metadata", "", "what the service says of itself, a JSON object (required)")
	cmd.Flags().BoolVar(&r.echo, "echo", false, "answer with the params")
	cmd.Flags().BoolVar(&r.log, "log", false, "print what arrives")
	cmd.Flags().StringVar(&r.exec, "exec", "", "shell command to run for each request")
	cmd.Flags().IntVar(&r.jobs, "jobs", 4, "commands of --exec to run at once")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := r.check(cmd.Flags().Changed("exec")); err != nil {
			return err
		}
		return r.run(cmd.Context())
	}
	return cmd
}

// registration is a service made by the command line.
type registration struct {
	p        *Program
	conn     *connection
	metadata string
	echo     bool
	log      bool
	exec     string
	jobs     int

	mu sync.Mutex // of the output
}

func (r *registration) check(exec bool) error {
	modes := 0
	for _, on := range []bool{r.echo, r.log, exec} {
		if on {
			modes++
		}
	}
	if modes != 1 {
		return usage("want exactly one of --echo, --log and --exec")
	}
	if exec && r.exec == "" {
		return usage("--exec: the command is empty")
	}
	if r.jobs < 1 || r.jobs > 4096 {
		return usage("--jobs: %d, must be between 1 and 4096", r.jobs)
	}
	if r.metadata == "" {
		return usage("--metadata is missing: a JSON object such as '{\"protocol\":\"echo\"}'")
	}
	raw, err := checkJSON([]byte(r.metadata), "--metadata")
	if err != nil {
		return &usageError{err}
	}
	if codec.KindOf(raw) != codec.Object {
		return usage("--metadata: want a JSON object")
	}
	return nil
}

// run serves until a signal or the loss of the connection for good.
func (r *registration) run(ctx context.Context) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	opts := []client.Option{client.WithOnEvent(r.event)}
	handler, commands := r.answer, (*commands)(nil)
	if r.exec != "" {
		commands = newCommands(r.p, r.exec)
		handler = commands.answer
		opts = append(opts, client.WithConcurrency(r.jobs))
	}
	cl, err := r.conn.dial(ctx, opts...)
	if err != nil {
		return err
	}
	if commands != nil {
		commands.outputBytesMax = max(cl.Limits().FrameBytes, 64<<10)
	}
	err = r.serve(ctx, cl, handler)
	grace, cancel := context.WithTimeout(context.Background(), registerGrace)
	defer cancel()
	grace, unhook := interruptible(grace) // from here on a signal cuts the end short
	defer unhook()
	stop()              // not earlier: a signal that nobody waits for ends the program, and its commands would live on
	_ = cl.Close(grace) // ends the handlers' contexts when grace is over
	if commands != nil {
		commands.wait()
	}
	return err
}

func (r *registration) serve(ctx context.Context, cl *client.Client, handler client.Handler) error {
	var opts []client.ServiceOption
	if r.log {
		opts = append(opts, client.OnNotify(r.logNotification))
	}
	service, err := cl.Register(ctx, json.RawMessage(r.metadata), handler, opts...)
	if err != nil {
		return fmt.Errorf("registering: %w", err)
	}
	if err := r.announce(service.ID()); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-cl.Closed():
		return fmt.Errorf("the connection is lost: %w", cl.Err())
	}
}

// announce prints the id of the service.
func (r *registration) announce(id string) error {
	if r.log {
		return r.print(arrival{Kind: "registered", ServiceID: id})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := fmt.Fprintln(r.p.Out, id)
	return err
}

func (r *registration) event(ev client.Event) {
	r.conn.reportEvent(ev)
	again, ok := ev.(client.Reconnected)
	if !ok {
		return
	}
	for _, id := range again.Services {
		if err := r.announce(id); err != nil {
			fmt.Fprintf(r.p.Err, "ahprelay: %v\n", err)
		}
	}
	for _, err := range again.Failed {
		fmt.Fprintf(r.p.Err, "ahprelay: the relay refuses the service now: %s\n", printable(err.Error()))
	}
}

// answer handles requests for --echo and --log.
func (r *registration) answer(_ context.Context, q *client.Request) (any, error) {
	if r.echo {
		return q.Params, nil
	}
	err := r.print(arrival{Kind: "request", ServiceID: q.Service.ID(), Sender: &q.Sender, Principal: q.SenderPrincipal, Method: &q.Method, Params: q.Params})
	if err != nil {
		return nil, errors.New("the service cannot log")
	}
	return nil, nil
}

func (r *registration) logNotification(_ context.Context, n *client.Notification) {
	if err := r.print(arrival{Kind: "notification", ServiceID: n.Service.ID(), Sender: &n.Sender, Principal: n.SenderPrincipal, Method: &n.Method, Params: n.Params}); err != nil {
		fmt.Fprintf(r.p.Err, "ahprelay: %v\n", err)
	}
}

// arrival is one line of --log.
type arrival struct {
	Kind      string          `json:"kind"` // registered, request or notification
	ServiceID string          `json:"serviceId"`
	Sender    *string         `json:"sender,omitempty"`
	Principal string          `json:"principal,omitempty"`
	Method    *string         `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
}

func (r *registration) print(a arrival) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return printJSON(r.p.Out, a)
}
