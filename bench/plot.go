//go:build linux

package bench

import (
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// chart is one plot: a value of every row of some groups over the rows' X.
type chart struct {
	file, title, x, y string
	rows              func(*Row) bool
	value             func(*Row) Spread
	logY              bool
}

func inGroup(group string) func(*Row) bool {
	return func(r *Row) bool { return r.Group == group }
}

func micros(r *Row) Spread { return r.ServerMicros }

func charts() []chart {
	kind := func(k Kind) func(*Row) bool {
		return func(r *Row) bool { return r.Group == "notify" && (r.Kind == k || r.X < 1<<10) }
	}
	size, connections, services := "bytes a body", "connections a side", "services"
	return []chart{
		{file: "throughput-string", title: "Messages per second, 1→1, one long string", x: size, y: "messages/s", rows: kind(String), value: func(r *Row) Spread { return r.PerSecond }, logY: true},
		{file: "throughput-dense", title: "Messages per second, 1→1, token-dense JSON", x: size, y: "messages/s", rows: kind(Dense), value: func(r *Row) Spread { return r.PerSecond }, logY: true},
		{file: "cpu-string", title: "Server CPU per message, 1→1, one long string", x: size, y: "µs", rows: kind(String), value: micros, logY: true},
		{file: "cpu-dense", title: "Server CPU per message, 1→1, token-dense JSON", x: size, y: "µs", rows: kind(Dense), value: micros, logY: true},
		{file: "connections", title: "Server CPU per message and number of connections", x: connections, y: "µs", rows: inGroup("connections"), value: micros},
		{file: "services", title: "Server CPU per message and number of services", x: services, y: "µs", rows: inGroup("services"), value: micros},
		{file: "observers", title: "Server CPU per action that reaches an observer", x: "observers", y: "µs", rows: inGroup("churn"), value: micros},
		{file: "pieces", title: "Server CPU per message that arrives in pieces of 100 bytes", x: "KiB a message", y: "µs", rows: inGroup("pieces"), value: micros, logY: true},
	}
}

// WritePlots draws what the report has rows for, one SVG file a chart, into dir, which is made.
func (r *Report) WritePlots(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing plots: %w", err)
	}
	for _, c := range charts() {
		if err := r.draw(&c, dir); err != nil {
			return err
		}
	}
	return r.drawLatency(dir)
}

// draw draws one chart; one with less than two points a system is left out.
func (r *Report) draw(c *chart, dir string) error {
	p := newPlot(c.title, c.x, c.y)
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, decades{}
	drawn := false
	for i, system := range r.Systems {
		points := r.series(c, system.Name)
		if len(points.XYs) < 2 {
			continue
		}
		if err := addSeries(p, system.Name, i, points); err != nil {
			return fmt.Errorf("drawing %s: %w", c.file, err)
		}
		drawn = true
	}
	if !drawn {
		return nil
	}
	if c.logY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
	} else {
		p.Y.Min = 0
	}
	return save(p, dir, c.file)
}

// points are medians with their spread.
type points struct {
	plotter.XYs
	plotter.YErrors
}

func (r *Report) series(c *chart, system string) points {
	var s points
	for i := range r.Rows {
		row := &r.Rows[i]
		v := c.value(row)
		if row.System != system || !c.rows(row) || v.Median <= 0 || row.X <= 0 {
			continue
		}
		s.XYs = append(s.XYs, plotter.XY{X: row.X, Y: v.Median})
		s.YErrors = append(s.YErrors, struct{ Low, High float64 }{v.Median - v.Min, v.Max - v.Median})
	}
	return s
}

func addSeries(p *plot.Plot, name string, index int, s points) error {
	line, dots, err := plotter.NewLinePoints(s.XYs)
	if err != nil {
		return err
	}
	bars, err := plotter.NewYErrorBars(s)
	if err != nil {
		return err
	}
	c := hue(name, index)
	line.Color, dots.Color, bars.Color = c, c, c
	line.Width, dots.Radius, dots.Shape = vg.Points(1.2), vg.Points(2), draw.CircleGlyph{}
	p.Add(line, dots, bars)
	p.Legend.Add(name, line, dots)
	return nil
}

// drawLatency draws bars of the percentiles of every timed scenario.
func (r *Report) drawLatency(dir string) error {
	var names []string
	for i := range r.Rows {
		if r.Rows[i].P50.Median > 0 && !slices.Contains(names, r.Rows[i].Scenario) {
			names = append(names, r.Rows[i].Scenario)
		}
	}
	for _, name := range names {
		if err := r.drawPercentiles(name, dir); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) drawPercentiles(scenario, dir string) error {
	var p *plot.Plot
	for i, system := range r.Systems {
		row := r.find(scenario, system.Name)
		if row == nil || row.P50.Median <= 0 {
			continue
		}
		if p == nil {
			p = newPlot("Latency: "+row.Title, "percentile", "µs")
			p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
			p.X.Tick.Marker = plot.ConstantTicks{{Value: 1, Label: "50"}, {Value: 2, Label: "99"}, {Value: 3, Label: "99.9"}}
			p.X.Min, p.X.Max = 0.8, 3.2
		}
		var s points
		for x, v := range []Spread{row.P50, row.P99, row.P999} {
			s.XYs = append(s.XYs, plotter.XY{X: float64(x + 1), Y: v.Median})
			s.YErrors = append(s.YErrors, struct{ Low, High float64 }{v.Median - v.Min, v.Max - v.Median})
		}
		if err := addSeries(p, system.Name, i, s); err != nil {
			return fmt.Errorf("drawing the latency of %s: %w", scenario, err)
		}
	}
	return save(p, dir, "latency-"+scenario)
}

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(8)
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	return p
}

func save(p *plot.Plot, dir, name string) error {
	if err := p.Save(16*vg.Centimeter, 11*vg.Centimeter, filepath.Join(dir, name+".svg")); err != nil {
		return fmt.Errorf("drawing %s: %w", name, err)
	}
	return nil
}

// hue gives each system its color, the same in every chart: floors are gray, the relay is red.
func hue(system string, index int) color.Color {
	switch system {
	case "bytes":
		return color.Gray{0xb0}
	case "gnet":
		return color.Gray{0x60}
	case "ahprelay":
		return color.RGBA{0xd6, 0x27, 0x28, 0xff}
	}
	palette := []color.RGBA{
		{0x1f, 0x77, 0xb4, 0xff}, {0x17, 0xbe, 0xcf, 0xff}, {0x2c, 0xa0, 0x2c, 0xff}, {0x94, 0x67, 0xbd, 0xff},
		{0x8c, 0x56, 0x4b, 0xff}, {0xff, 0x7f, 0x0e, 0xff},
	}
	return palette[index%len(palette)]
}
