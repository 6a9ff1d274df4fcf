package cli

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/ahprelay/ahprelay/cmd/ahprelay/admin"
)

// grid is a table of text, whose cells are safe to print.
type grid struct {
	head    []string // a head that starts with a space is of a column of numbers, which is set flush right
	rows    [][]string
	matched int
	total   int
}

// count says how many entries there are.
func (g *grid) count() string {
	switch {
	case len(g.rows) < g.matched:
		return fmt.Sprintf("%d of %d shown", len(g.rows), g.matched)
	case g.matched < g.total:
		return fmt.Sprintf("%d of %d", g.matched, g.total)
	}
	return strconv.Itoa(g.total)
}

// lines are the head and the rows, with aligned columns.
func (g *grid) lines() []string {
	widths := make([]int, len(g.head))
	for _, row := range append([][]string{g.head}, g.rows...) {
		for i, c := range row {
			widths[i] = max(widths[i], ansi.StringWidth(strings.TrimPrefix(c, " ")))
		}
	}
	lines := []string{g.line(g.head, widths)}
	for _, row := range g.rows {
		lines = append(lines, g.line(row, widths))
	}
	return lines
}

func (g *grid) line(row []string, widths []int) string {
	var b strings.Builder
	for i, c := range row {
		c = strings.TrimPrefix(c, " ")
		pad := strings.Repeat(" ", widths[i]-ansi.StringWidth(c))
		if strings.HasPrefix(g.head[i], " ") {
			b.WriteString(pad + c)
		} else if b.WriteString(c); i < len(row)-1 {
			b.WriteString(pad)
		}
		if i < len(row)-1 {
			b.WriteString("  ")
		}
	}
	return b.String()
}

// panes are the lists that "top" shows.
var panes = []*pane{
	{name: "connections", sorts: []string{"queueBytes", "framesIn", "bytesOut", "inflight", "services", "idleSeconds", "ageSeconds"}, table: connectionGrid,
		ask: func(ctx context.Context, c *admin.Client, q url.Values, r *round) (err error) {
			r.Connections, err = c.Connections(ctx, q)
			return err
		}},
	{name: "services", sorts: []string{"forwarded", "inflight", "dropped"}, table: serviceGrid,
		ask: func(ctx context.Context, c *admin.Client, q url.Values, r *round) (err error) {
			r.Services, err = c.Services(ctx, q)
			return err
		}},
	{name: "requests", sorts: []string{"ageSeconds"}, table: requestGrid,
		ask: func(ctx context.Context, c *admin.Client, q url.Values, r *round) (err error) {
			r.Requests, err = c.Requests(ctx, q)
			return err
		}},
	{name: "closings", table: closingGrid,
		ask: func(ctx context.Context, c *admin.Client, q url.Values, r *round) (err error) {
			r.Closings, err = c.Closings(ctx, q)
			return err
		}},
}

func connectionGrid(r *round) grid {
	g := grid{head: []string{"CLIENT", "PRINCIPAL", "FROM", "STATE", " SERVICES", " INFLIGHT", " UNSENT", " FRAMES IN", " BYTES OUT", " IDLE", " AGE"}}
	if r.Connections == nil {
		return g
	}
	g.total, g.matched = r.Connections.Total, r.Connections.Matched
	for _, c := range r.Connections.Items {
		state := c.State
		if c.Shedding {
			state = "dropping"
		} else if c.Blocked {
			state = "not reading"
		}
		g.rows = append(g.rows, []string{orDash(cell(c.ClientID)), cell(c.Principal), cell(c.Transport + " " + c.Remote), state, strconv.Itoa(c.Services), strconv.Itoa(c.Inflight),
			size(int64(c.QueueBytes)), strconv.FormatUint(c.FramesIn, 10), size(int64(c.BytesOut)), age(c.IdleSeconds), age(c.AgeSeconds)})
	}
	return g
}

func serviceGrid(r *round) grid {
	g := grid{head: []string{"PROTOCOL", "OWNER", "SERVICE", " INFLIGHT", " FORWARDED", " LOST", "METADATA"}}
	if r.Services == nil {
		return g
	}
	g.total, g.matched = r.Services.Total, r.Services.Matched
	for _, s := range r.Services.Items {
		g.rows = append(g.rows, []string{orDash(cell(s.Protocol)), cell(s.ClientID), s.ServiceID, strconv.Itoa(s.Inflight), strconv.FormatUint(s.Forwarded, 10),
			strconv.FormatUint(s.Dropped, 10), metadataCell(s.Metadata)})
	}
	return g
}

func requestGrid(r *round) grid {
	g := grid{head: []string{" AGE", "CALLER", "ID", "OWNER", "PROTOCOL", "SERVICE", "STATE"}}
	if r.Requests == nil {
		return g
	}
	g.total, g.matched = r.Requests.Total, r.Requests.Matched
	for _, q := range r.Requests.Items {
		state := "waiting"
		if q.Abandoned {
			state = "abandoned"
		}
		g.rows = append(g.rows, []string{age(q.AgeSeconds), orDash(cell(q.Caller)), cell(q.ID), cell(q.Owner), orDash(cell(q.Protocol)), q.Service, state})
	}
	return g
}

func closingGrid(r *round) grid {
	g := grid{head: []string{"TIME", "WHAT", "REASON", "CLIENT", "PRINCIPAL", "FROM", " UNSENT", "DETAIL"}}
	if r.Closings == nil {
		return g
	}
	g.total, g.matched = r.Closings.Total, r.Closings.Matched
	for _, c := range r.Closings.Items {
		g.rows = append(g.rows, []string{c.Time.Local().Format("15:04:05"), c.Kind, c.Reason, orDash(cell(c.ClientID)), orDash(cell(c.Principal)), orDash(cell(c.Remote)),
			size(int64(c.QueueBytes)), cell(c.Detail)})
	}
	return g
}
