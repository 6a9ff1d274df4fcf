package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/ahprelay/ahprelay/cmd/ahprelay/admin"
)

// rowsMax is how many entries of a list "top" asks for.
const rowsMax = 500

// intervalMin is how often the relay's numbers change at most.
const intervalMin = 250 * time.Millisecond

func (p *Program) top() *cobra.Command {
	var once, asJSON bool
	var interval time.Duration
	cmd := &cobra.Command{
		Use:   "top [--once] [--json]",
		Short: "watch connections, services, requests in flight and rates",
		Long: "Shows what the relay does, again every --interval: connections with their queues, services, requests in flight\n" +
			"with their age, closings with their reasons, and rates. With --once it prints everything once, after watching the\n" +
			"rates for one interval; with --json each round is one line of JSON.\n\n" + operatorHelp,
		Example: "  ahprelay top\n  ahprelay top --once\n  ahprelay top --once --json | jq '.connections.items[] | select(.queueBytes > 0)'",
		Args:    between(0, 0, ""),
	}
	o := p.operate(cmd)
	cmd.Flags().BoolVar(&once, "once", false, "print once and end")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().DurationVar(&interval, "interval", time.Second, "time between two rounds, at least 250ms")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if interval < intervalMin {
			return usage("--interval: %v, must be at least %v", interval, intervalMin)
		}
		if !once && !asJSON && (!terminal(p.Out) || !terminal(p.In)) {
			return usage("top needs a terminal; use --once or --json")
		}
		ctx, stop := interruptible(cmd.Context())
		defer stop()
		c, err := o.client()
		if err != nil {
			return err
		}
		defer c.Close()
		t := &topper{p: p, client: c, admin: o.admin, interval: interval}
		if once || asJSON {
			return t.print(ctx, once, asJSON)
		}
		return t.watch(ctx)
	}
	return cmd
}

// topper watches a relay.
type topper struct {
	p        *Program
	client   *admin.Client
	admin    string // address
	interval time.Duration
}

// round is what one look at the relay shows; a list that was not asked for is nil.
type round struct {
	Stats       *admin.Stats                  `json:"stats"`
	Rates       admin.Rates                   `json:"rates"`
	Connections *admin.List[admin.Connection] `json:"connections,omitempty"`
	Services    *admin.List[admin.Service]    `json:"services,omitempty"`
	Requests    *admin.List[admin.Request]    `json:"requests,omitempty"`
	Closings    *admin.List[admin.Closing]    `json:"closings,omitempty"`
}

// pane is one of the lists.
type pane struct {
	name  string
	sorts []string // by which it can be sorted, the first being the default
	ask   func(ctx context.Context, c *admin.Client, q url.Values, r *round) error
	table func(r *round) grid
}

// ask takes a look: the numbers, and the lists of some panes.
func (t *topper) ask(ctx context.Context, before *admin.Stats, q url.Values, panes ...*pane) (*round, error) {
	r := &round{}
	var err error
	if r.Stats, err = t.client.Stats(ctx); err != nil {
		return nil, err
	}
	r.Rates = admin.RatesBetween(before, r.Stats)
	for _, p := range panes {
		if err := p.ask(ctx, t.client, q, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// print prints rounds without a terminal.
func (t *topper) print(ctx context.Context, once, asJSON bool) error {
	before, err := t.client.Stats(ctx)
	for err == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(t.interval):
		}
		var r *round
		if r, err = t.ask(ctx, before, url.Values{"limit": {strconv.Itoa(rowsMax)}}, panes...); err != nil {
			break
		}
		before = r.Stats
		if asJSON {
			err = printJSON(t.p.Out, r)
		} else {
			err = t.printText(t.p.Out, r)
		}
		if once {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil // interrupted: that is how watching ends
	}
	return err
}

func (t *topper) printText(out io.Writer, r *round) error {
	for _, line := range t.summary(r) {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	for _, p := range panes {
		g := p.table(r)
		if _, err := fmt.Fprintf(out, "\n%s: %s\n", p.name, g.count()); err != nil {
			return err
		}
		if len(g.rows) == 0 {
			continue
		}
		for _, line := range g.lines() {
			if _, err := fmt.Fprintln(out, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// summary is the numbers, as lines.
func (t *topper) summary(r *round) []string {
	s, k := r.Stats, &r.Rates
	state := "ready"
	if s.Draining {
		state = "draining"
	} else if !s.Ready {
		state = "starting"
	}
	up := time.Duration(s.UptimeSeconds * float64(time.Second)).Round(time.Second)
	return []string{
		fmt.Sprintf("ahprelay %s  %s  up %s  at %s", cell(s.Version), state, up, t.admin),
		fmt.Sprintf("connections %d  services %d  following %d  in flight %d  abandoned %d  unsent %s  memory %s of %s",
			s.Connections, s.Services, s.Subscriptions, s.Inflight, s.Abandoned, size(s.QueueBytes), size(s.MemoryBytes), size(s.MemoryBytesMax)),
		fmt.Sprintf("a second: in %s msg %s  out %s msg %s  notifications %s  dropped %s  requests %s  failed %s",
			rate(k.FramesReceived), size(int64(k.BytesIn)), rate(k.FramesSent), size(int64(k.BytesOut)), rate(k.Notifications), rate(k.Dropped), rate(k.Requests), rate(k.Failed)),
	}
}

// rate is a number a second, for people.
func rate(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.1fM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.1fk", v/1e3)
	case v > 0 && v < 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// age is a number of seconds, for people.
func age(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < 48*time.Hour:
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}
