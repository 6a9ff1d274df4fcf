package admin

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

func families(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	all, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return all
}

// value is that of the metric with the label's value, or of the only one.
func value(t *testing.T, f *dto.MetricFamily, label string) float64 {
	t.Helper()
	for _, m := range f.GetMetric() {
		if label == "" || len(m.GetLabel()) == 1 && m.GetLabel()[0].GetValue() == label {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	t.Fatalf("%s has no %q", f.GetName(), label)
	return 0
}

// TestMetrics: names, types, help texts and values.
func TestMetrics(t *testing.T) {
	w := newWorld(t, nil)
	_, release := scene(t, w)
	defer release()
	w.admin.ReloadFailed()
	w.admin.source.levels.clear()
	status, text, header := w.get("/metrics")
	if status != 200 || !strings.HasPrefix(header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Errorf("%d %v", status, header)
	}
	all := families(t, text)
	for _, tc := range []struct {
		name, label string
		want        float64
	}{
		{"ready", "", 1}, {"connections", "", 2}, {"connections_opened_total", "", 2}, {"connections_refused_total", "", 0}, {"connections_closed_total", "slowConsumer", 0},
		{"services", "", 1}, {"subscriptions", "", 0}, {"catalog_changes_total", "", 1}, {"inflight_requests", "", 1}, {"abandoned_requests", "", 0},
		{"received_frames_total", "notification", 2}, {"received_frames_total", "answer", 1}, {"sent_frames_total", "request", 2}, {"sent_frames_total", "notification", 1},
		{"notifications_forwarded_total", "", 1}, {"notifications_dropped_total", "unknownService", 1}, {"requests_forwarded_total", "", 2}, {"requests_refused_total", "", 0},
		{"requests_completed_total", "result", 1}, {"reloads_total", "failed", 1}, {"reloads_total", "ok", 0}, {"taps", "", 0}, {"build_info", "", 1},
	} {
		f := all["ahprelay_"+tc.name]
		if f == nil {
			t.Errorf("no %s", tc.name)
		} else if got := value(t, f, map[bool]string{true: "", false: tc.label}[tc.label == ""]); got != tc.want {
			t.Errorf("%s %s: %v, want %v", tc.name, tc.label, got, tc.want)
		}
	}
	h := all["ahprelay_request_duration_seconds"].GetMetric()[0].GetHistogram()
	if h.GetSampleCount() != 1 || h.GetSampleSum() <= 0 || len(h.GetBucket()) != 18 {
		t.Errorf("%v", h)
	}
	if all["go_goroutines"] == nil {
		t.Error("the Go runtime is missing")
	}
}

// TestMetricNames: the prefix, a help text that is a sentence, the suffixes that Prometheus asks for, and
// the same label values whatever clients do.
func TestMetricNames(t *testing.T) {
	w := newWorld(t, nil)
	series := func() (all []string) {
		_, text, _ := w.get("/metrics")
		for name, f := range families(t, text) {
			if !strings.HasPrefix(name, "ahprelay_") {
				if !regexp.MustCompile(`^(go|process)_`).MatchString(name) {
					t.Errorf("%s has a foreign prefix", name)
				}
				continue
			}
			counter := f.GetType() == dto.MetricType_COUNTER
			if help := f.GetHelp(); !strings.HasSuffix(help, ".") || counter != strings.HasSuffix(name, "_total") {
				t.Errorf("%s %s: %q", name, f.GetType(), help)
			}
			for _, m := range f.GetMetric() {
				all = append(all, fmt.Sprint(name, m.GetLabel()))
			}
		}
		slices.Sort(all)
		return all
	}
	before := series()
	_, release := scene(t, w)
	defer release()
	for i := range 50 {
		c := w.connect(fmt.Sprintf("client-%d", i))
		if _, err := c.Register(t.Context(), map[string]string{"protocol": fmt.Sprintf("protocol-%d", i)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	w.admin.source.levels.clear()
	if after := series(); !slices.Equal(before, after) {
		t.Errorf("series changed:\n%v\n%v", before, after)
	}
}
