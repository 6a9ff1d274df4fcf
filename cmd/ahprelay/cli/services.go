package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"github.com/ahprelay/ahprelay/client"
)

func (p *Program) services() *cobra.Command {
	var watch, asJSON bool
	cmd := &cobra.Command{
		Use:   "services [--watch] [--json]",
		Short: "list the services that this client may discover",
		Long: "Prints the catalogue as this client sees it, in order of registration. With --watch it goes on with the\n" +
			"changes: + is a new service, ~ new metadata, - a service that is gone. With --json the list is one array,\n" +
			"and with --watch each line is {\"type\":\"set\"|\"removed\",\"service\":{…}}.",
		Example: "  ahprelay services\n  ahprelay services --watch --json | jq .service.serviceId",
		Args:    between(0, 0, ""),
	}
	conn := p.connect(cmd)
	cmd.Flags().BoolVar(&watch, "watch", false, "follow the changes")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, stop := interruptible(cmd.Context())
		defer stop()
		if watch {
			return conn.watchServices(ctx, asJSON)
		}
		return conn.listServices(ctx, asJSON)
	}
	return cmd
}

func (c *connection) listServices(ctx context.Context, asJSON bool) error {
	cl, err := c.dial(ctx, client.WithoutReconnect())
	if err != nil {
		return err
	}
	defer hangUp(cl)
	all, err := cl.Services(ctx)
	if err != nil {
		return fmt.Errorf("reading the catalogue: %w", err)
	}
	if asJSON {
		if all == nil {
			all = []client.ServiceInfo{}
		}
		return printJSON(c.p.Out, all)
	}
	w := tabwriter.NewWriter(c.p.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SERVICE\tCLIENT\tMETADATA")
	for _, s := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\n", cell(s.ID), cell(s.ClientID), metadataCell(s.Metadata))
	}
	return w.Flush()
}

// watchServices prints the changes of the catalogue until ctx ends.
func (c *connection) watchServices(ctx context.Context, asJSON bool) error {
	cl, err := c.dial(ctx, client.WithOnEvent(c.reportEvent))
	if err != nil {
		return err
	}
	defer hangUp(cl)
	catalog, err := cl.Watch(ctx)
	if err != nil {
		return fmt.Errorf("reading the catalogue: %w", err)
	}
	defer catalog.Close()
	w := &watcher{out: c.p.Out, json: asJSON, known: map[string]client.ServiceInfo{}}
	for ev := range catalog.Events() {
		if err := w.apply(ev); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil // interrupted: that is how a watch ends
	}
	return fmt.Errorf("following the catalogue: %w", catalog.Err())
}

// reportEvent tells the user what happens to a long-lived connection.
func (c *connection) reportEvent(ev client.Event) {
	switch ev := ev.(type) {
	case client.Disconnected:
		if ev.Reconnecting {
			fmt.Fprintf(c.p.Err, "ahprelay: disconnected, connecting again: %s\n", printable(fmt.Sprint(ev.Err)))
		}
	case client.Reconnected:
		fmt.Fprintln(c.p.Err, "ahprelay: connected again")
	case client.Closing:
		fmt.Fprintf(c.p.Err, "ahprelay: the relay closes this connection: %s: %s\n", printable(ev.Reason), printable(ev.Message))
	case client.Dropped:
		fmt.Fprintf(c.p.Err, "ahprelay: %d notifications to %s were dropped\n", ev.Count, printable(ev.ServiceID))
	}
}

// watcher prints catalogue events; known is what it has printed as there.
type watcher struct {
	out   io.Writer
	json  bool
	known map[string]client.ServiceInfo
	order []string // of known, as printed
}

func (w *watcher) apply(ev client.CatalogEvent) error {
	switch ev.Kind {
	case client.ServiceSet:
		return w.set(ev.Service)
	case client.ServiceRemoved:
		return w.removed(ev.Service.ID)
	}
	still := map[string]bool{}
	for _, s := range ev.Services {
		still[s.ID] = true
	}
	for _, id := range append([]string(nil), w.order...) {
		if !still[id] {
			if err := w.removed(id); err != nil {
				return err
			}
		}
	}
	for _, s := range ev.Services {
		if err := w.set(s); err != nil {
			return err
		}
	}
	return nil
}

func (w *watcher) set(s client.ServiceInfo) error {
	mark := "+"
	if old, ok := w.known[s.ID]; !ok {
		w.order = append(w.order, s.ID)
	} else if bytes.Equal(old.Metadata, s.Metadata) {
		return nil
	} else {
		mark = "~"
	}
	w.known[s.ID] = s
	return w.print(mark, "set", s)
}

func (w *watcher) removed(id string) error {
	s, ok := w.known[id]
	if !ok {
		return nil
	}
	delete(w.known, id)
	for i, other := range w.order {
		if other == id {
			w.order = append(w.order[:i], w.order[i+1:]...)
			break
		}
	}
	return w.print("-", "removed", s)
}

func (w *watcher) print(mark, kind string, s client.ServiceInfo) error {
	if w.json {
		return printJSON(w.out, struct {
			Type    string             `json:"type"`
			Service client.ServiceInfo `json:"service"`
		}{kind, s})
	}
	_, err := fmt.Fprintf(w.out, "%s %s %s %s\n", mark, cell(s.ID), cell(s.ClientID), metadataCell(s.Metadata))
	return err
}

// printJSON prints v as one line.
func printJSON(out io.Writer, v any) error {
	line, err := json.MarshalWithOption(v, json.DisableHTMLEscape())
	if err != nil {
		return fmt.Errorf("encoding JSON: %w", err)
	}
	if terminal(out) {
		line = []byte(printable(string(line)))
	}
	_, err = out.Write(append(line, '\n'))
	return err
}

// cell makes text fit a column.
func cell(s string) string {
	return strings.NewReplacer("\t", `\t`, "\n", `\n`, "\r", `\r`).Replace(printable(s))
}

func metadataCell(metadata json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, metadata); err != nil {
		return cell(string(metadata))
	}
	return printable(b.String())
}
