package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ahprelay/ahprelay/cmd/ahprelay/admin"
)

// tapOptions is what a tap is to show.
type tapOptions struct {
	service, client, method string
	kinds                   []string
	payload, json           bool
	count                   int
}

func (p *Program) tap() *cobra.Command {
	var t tapOptions
	cmd := &cobra.Command{
		Use:   "tap [--service S] [--client C] [--method M] [--kind K]… [--payload]",
		Short: "show live what the relay routes",
		Long: "Prints a line for each envelope as it is routed: notifications and requests that were passed on, how requests\n" +
			"ended, notifications that were dropped and requests that were refused. It shows payloads only with --payload. The\n" +
			"relay never waits for it: what goes by too fast is left out, and how much that was is said in its place.\n\n" + operatorHelp,
		Example: "  ahprelay tap\n  ahprelay tap --service protocol=git-object-reader --kind request,answer --payload\n  ahprelay tap --kind dropped --json | jq -r .word",
		Args:    between(0, 0, ""),
	}
	o := p.operate(cmd)
	flags := cmd.Flags()
	flags.StringVar(&t.service, "service", "", "only of this service: its id, or protocol=NAME")
	flags.StringVar(&t.client, "client", "", "only from or to this clientId")
	flags.StringVar(&t.method, "method", "", "only of this method of the service")
	flags.StringSliceVar(&t.kinds, "kind", nil, "only these kinds: notification, request, answer, dropped, refused")
	flags.BoolVar(&t.payload, "payload", false, "show payloads, too")
	flags.BoolVar(&t.json, "json", false, "print JSON")
	flags.IntVar(&t.count, "count", 0, "end after so many envelopes; 0: never")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := admin.CheckKinds(t.kinds); err != nil {
			return usage("--%w", err)
		}
		if t.count < 0 {
			return usage("--count: %d is negative", t.count)
		}
		ctx, stop := interruptible(cmd.Context())
		defer stop()
		return o.tap(ctx, &t)
	}
	return cmd
}

var errEnough = errors.New("enough envelopes")

func (o *operator) tap(ctx context.Context, t *tapOptions) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	defer c.Close()
	printed := 0
	err = c.Tap(ctx, t.query(), func(e *admin.Envelope, line []byte) error {
		if err := o.printEnvelope(e, line, t); err != nil {
			return err
		}
		if e.Kind != "missed" {
			printed++
		}
		if printed == t.count && t.count > 0 {
			return errEnough
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnough) || ctx.Err() != nil:
		return nil
	case errors.Is(err, io.EOF):
		return errors.New("the relay has ended the tap")
	}
	return err
}

func (t *tapOptions) query() url.Values {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("service", t.service)
	set("client", t.client)
	set("method", t.method)
	set("kind", strings.Join(t.kinds, ","))
	if t.payload {
		q.Set("payload", "true")
	}
	return q
}

func (o *operator) printEnvelope(e *admin.Envelope, line []byte, t *tapOptions) error {
	text := string(line)
	if !t.json {
		text = envelopeLine(e, t.payload)
	}
	if terminal(o.p.Out) || !t.json {
		text = printable(text)
	}
	_, err := fmt.Fprintln(o.p.Out, text)
	return err
}

// envelopeLine is an envelope as a line for people.
func envelopeLine(e *admin.Envelope, payload bool) string {
	at := time.UnixMicro(e.Time).Format("15:04:05.000000")
	if e.Kind == "missed" {
		return fmt.Sprintf("%s  … %d envelopes went by too fast to be shown", at, e.Missed)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %-12s  %s", at, e.Kind, orDash(cell(e.Sender)))
	arrow := " → "
	if e.Kind == "answer" {
		arrow = " ← "
	}
	b.WriteString(arrow + orDash(cell(e.Owner)))
	for _, part := range []string{cell(e.Protocol), cell(e.Service), cell(e.Method), e.Word} {
		if part != "" {
			b.WriteString("  " + part)
		}
	}
	if e.Code != 0 {
		fmt.Fprintf(&b, "  error %d", e.Code)
	}
	if e.RelayID != 0 {
		b.WriteString("  #" + strconv.FormatUint(e.RelayID, 10))
	}
	if e.Kind == "answer" {
		b.WriteString("  after " + (time.Duration(e.AgeMicros) * time.Microsecond).String())
	}
	fmt.Fprintf(&b, "  %s", size(int64(e.Bytes)))
	if payload && e.Payload != nil {
		b.WriteString("  " + metadataCell(e.Payload))
	}
	return b.String()
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
