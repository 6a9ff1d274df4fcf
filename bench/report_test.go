//go:build linux

package bench

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Spread
	}{
		{nil, Spread{}},
		{[]float64{3}, Spread{3, 3, 3}},
		{[]float64{5, 1, 3}, Spread{3, 1, 5}},
		{[]float64{8, 1, 3, 2}, Spread{2.5, 1, 8}},
	} {
		if got := SpreadOf(c.values); got != c.want {
			t.Errorf("SpreadOf(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

func TestPercentiles(t *testing.T) {
	h := newLatency()
	for i := range 1000 {
		if err := h.RecordValue(int64(i+1) * 1000); err != nil {
			t.Fatal(err)
		}
	}
	got := *percentiles(h)
	for name, pair := range map[string][2]float64{"p50": {got.P50, 500}, "p99": {got.P99, 990}, "p99.9": {got.P999, 999}, "max": {got.Max, 1000}} {
		if pair[0] < pair[1]*0.998 || pair[0] > pair[1]*1.002 { // three digits are kept
			t.Errorf("%s is %v, want %v", name, pair[0], pair[1])
		}
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "–", 0.1234: "0.123", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 1234: "1,234", 1234567: "1,234,567", -1234: "-1,234", 999999: "999,999"} {
		if got := Number(v); got != want {
			t.Errorf("Number(%v) = %q, want %q", v, got, want)
		}
	}
	if got := Between(Spread{2, 1, 3}); got != "2.00 (1.00–3.00)" {
		t.Errorf("Between gives %q", got)
	}
}

func TestLimit(t *testing.T) {
	for _, c := range []struct {
		scenario          Scenario
		server, generator float64
		want              string
	}{
		{Scenario{}, 0.99, 0.4, "server"},
		{Scenario{}, 0.4, 0.99, "generator"},
		{Scenario{}, 0.99, 0.97, "both"},
		{Scenario{}, 0.5, 0.5, "neither"},
		{Scenario{}, 1.7, 0.5, "server"},
		{Scenario{OneCore: true, Outstanding: 64}, 0.6, 0.39, "shared core"},
		{Scenario{Outstanding: 1}, 0.3, 0.3, "round trip"},
		{Scenario{Every: 1}, 0.3, 1, ""},
	} {
		if got := limit(&c.scenario, true, c.server, c.generator); got != c.want {
			t.Errorf("limit(%v, %v) = %q, want %q", c.server, c.generator, got, c.want)
		}
	}
}

func sampleReport() *Report {
	o := DefaultOptions()
	f, g := &fake{}, &Relay{Binary: "/nonexistent", Label: "other"}
	o.Systems = []System{f, g}
	r := newReport(&o)
	for i, system := range o.Systems {
		for j, size := range []int{16, 1024} {
			s := &Scenario{Name: []string{"notify-16", "notify-1k-dense"}[j], Title: "title", Group: "notify", Kind: Dense, Size: size, X: float64(size)}
			v := float64(1 + i + j)
			r.Rows = append(r.Rows, newRow(&o, s, system, []Sample{
				{PerSecond: 1e6 * v, ServerMicros: v, UserMicros: v / 2, ServerLoad: 1, GeneratorLoad: 0.5, Resident: 12 << 20, Latency: &Percentiles{10, 20, 30, 40}, Figures: Figures{"things": v}},
				{PerSecond: 3e6 * v, ServerMicros: 3 * v, UserMicros: v, ServerLoad: 1, GeneratorLoad: 0.7, Resident: 14 << 20, Latency: &Percentiles{12, 22, 32, 42}, Figures: Figures{"things": v}},
			}))
		}
	}
	return r
}

const wantTable = `scenario         system  messages/s  CPU µs/message    user   server  load  RSS MiB  p50 µs  p99   p99.9  limited by  
notify-16        fake    2,000,000   2.00 (1.00–3.00)  0.750  100 %   60 %  13.0     11.0    21.0  31.0   server      things 1.00
notify-1k-dense  fake    4,000,000   4.00 (2.00–6.00)  1.50   100 %   60 %  13.0     11.0    21.0  31.0   server      things 2.00
notify-16        other   4,000,000   4.00 (2.00–6.00)  1.50   100 %   60 %  13.0     11.0    21.0  31.0   server      things 2.00
notify-1k-dense  other   6,000,000   6.00 (3.00–9.00)  2.25   100 %   60 %  13.0     11.0    21.0  31.0   server      things 3.00
`

func TestTable(t *testing.T) {
	var b bytes.Buffer
	if err := sampleReport().WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	if b.String() != wantTable {
		t.Errorf("got\n%swant\n%s", b.String(), wantTable)
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	r := sampleReport()
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Rows) != 4 || back.Rows[0].ServerMicros != (Spread{2, 1, 3}) || back.Rows[3].Samples[1].Latency.P999 != 32 || back.Settings != r.Settings {
		t.Errorf("came back as %+v", back)
	}
}

func TestPlotsAreSVG(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plots")
	if err := sampleReport().WritePlots(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"throughput-dense", "cpu-dense", "latency-notify-16", "latency-notify-1k-dense"} {
		f, err := os.Open(filepath.Join(dir, name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		elements := 0
		for d := xml.NewDecoder(f); ; elements++ {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if elements < 20 {
			t.Errorf("%s has %d elements", name, elements)
		}
	}
	// Charts without rows are not drawn.
	if _, err := os.Stat(filepath.Join(dir, "services.svg")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("services.svg: %v", err)
	}
}

func TestDisturbanceIsSaid(t *testing.T) {
	r := sampleReport()
	var b bytes.Buffer
	if err := r.warn(&b); err != nil || b.Len() > 0 {
		t.Errorf("a quiet machine: %q, %v", b.String(), err)
	}
	r.Rows[1].OthersLoad = SpreadOf([]float64{0.8})
	want := "The machine was not quiet: in 1 of 4 rows other processes used up to 0.80 CPUs. Take these figures as hints.\n"
	if err := r.warn(&b); err != nil || b.String() != want {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

func TestTicks(t *testing.T) {
	var labels []string
	ticks := decades{}.Ticks(0.3, 2500)
	for _, tick := range ticks {
		if tick.Label != "" {
			labels = append(labels, tick.Label)
		}
	}
	if want := "0.5 1 2 5 10 20 50 100 200 500 1k 2k"; strings.Join(labels, " ") != want {
		t.Errorf("labels %q, want %q", labels, want)
	}
	if len(ticks) != 7+9+9+9+2 {
		t.Errorf("%d ticks", len(ticks))
	}
}
