package admin

import (
	"net/http"
	"runtime"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metric is one metric, read from a Stats.
type metric struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	one    func(*Stats) float64
	many   func(*Stats) map[string]float64 // by the value of the one label
	spread func(*Stats) Histogram
}

type number interface{ ~int | ~int64 | ~uint64 }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("ahprelay_"+name, help, labels, nil)
}

func gauge[N number](name, help string, of func(*Stats) N) metric {
	return metric{desc: describe(name, help), kind: prometheus.GaugeValue, one: func(s *Stats) float64 { return float64(of(s)) }}
}

func counter(name, help string, of func(*Stats) uint64) metric {
	return metric{desc: describe(name, help), kind: prometheus.CounterValue, one: func(s *Stats) float64 { return float64(of(s)) }}
}

func counters[V any](name, help, label string, of func(*Stats) map[string]V, value func(V) uint64) metric {
	return metric{desc: describe(name, help, label), kind: prometheus.CounterValue, many: func(s *Stats) map[string]float64 {
		all := map[string]float64{}
		for k, v := range of(s) {
			all[k] = float64(value(v))
		}
		return all
	}}
}

func durations(name, help string, of func(*Stats) Histogram) metric {
	return metric{desc: describe(name, help), spread: of}
}

func same(n uint64) uint64    { return n }
func frames(t Traffic) uint64 { return t.Frames }
func octets(t Traffic) uint64 { return t.Bytes }
func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}
func reloads(s *Stats) map[string]uint64 {
	return map[string]uint64{"ok": s.Reloads, "failed": s.ReloadsFailed}
}

// relayMetrics lists the metrics of the relay; docs/operations.md explains when to worry. The values of
// each label are a fixed set.
func relayMetrics() []metric {
	return []metric{
		gauge("ready", "1 while the relay takes connections, 0 while it starts or drains.", func(s *Stats) int { return truth(s.Ready) }),
		gauge("connections", "Connections, those that are being closed included.", func(s *Stats) int { return s.Connections }),
		counter("connections_opened_total", "Connections taken.", func(s *Stats) uint64 { return s.Opened }),
		counter("connections_refused_total", "Connections closed at once because too many others waited to be refused, or while draining.", func(s *Stats) uint64 { return s.Refused }),
		counters("connections_closed_total", "Connections closed by the relay, by the reason that their clients were told.", "reason", func(s *Stats) map[string]uint64 { return s.Closed }, same),
		gauge("services", "Services in the catalogue.", func(s *Stats) int { return s.Services }),
		gauge("subscriptions", "Connections that follow the catalogue.", func(s *Stats) int { return s.Subscriptions }),
		counter("catalog_changes_total", "Changes of the catalogue, each sent to all who may see it.", func(s *Stats) uint64 { return s.CatalogActions }),
		gauge("inflight_requests", "Requests whose callers wait for an answer.", func(s *Stats) int { return s.Inflight }),
		gauge("abandoned_requests", "Requests that timed out, were cancelled or whose caller is gone, and whose owner has not answered yet.", func(s *Stats) int { return s.Abandoned }),

		counters("received_frames_total", "Messages received, by kind.", "kind", func(s *Stats) map[string]Traffic { return s.Received }, frames),
		counters("received_bytes_total", "Bytes of messages received, by kind.", "kind", func(s *Stats) map[string]Traffic { return s.Received }, octets),
		counters("sent_frames_total", "Messages queued to be sent, by kind.", "kind", func(s *Stats) map[string]Traffic { return s.Sent }, frames),
		counters("sent_bytes_total", "Bytes of messages queued to be sent, by kind.", "kind", func(s *Stats) map[string]Traffic { return s.Sent }, octets),
		counter("socket_read_bytes_total", "Bytes read from clients.", func(s *Stats) uint64 { return s.BytesIn }),
		counter("socket_written_bytes_total", "Bytes that the kernel took for clients.", func(s *Stats) uint64 { return s.BytesOut }),

		counter("notifications_forwarded_total", "Notifications passed on to the owner of a service.", func(s *Stats) uint64 { return s.NotificationsForwarded }),
		counters("notifications_dropped_total", "Notifications not passed on, by reason.", "reason", func(s *Stats) map[string]uint64 { return s.NotificationsDropped }, same),
		counter("requests_forwarded_total", "Requests passed on to the owner of a service.", func(s *Stats) uint64 { return s.RequestsForwarded }),
		counter("requests_refused_total", "Requests to services answered with an error and not passed on.", func(s *Stats) uint64 { return s.RequestsRefused }),
		counters("requests_completed_total", "Requests that were passed on and have ended, by outcome.", "outcome", func(s *Stats) map[string]uint64 { return s.RequestsCompleted }, same),
		durations("request_duration_seconds", "From passing a request on to its end.", func(s *Stats) Histogram { return s.RequestSeconds }),
		counter("answers_dropped_total", "Answers that belonged to no request of their sender's.", func(s *Stats) uint64 { return s.AnswersDropped }),
		counter("answers_late_total", "Answers to requests that had ended.", func(s *Stats) uint64 { return s.AnswersLate }),
		counter("protocol_errors_total", "Lines that broke the protocol and were answered with -32700 or -32600.", func(s *Stats) uint64 { return s.ProtocolErrors }),
		counter("notifications_ignored_total", "Notifications to the relay itself that had no effect.", func(s *Stats) uint64 { return s.Ignored }),

		gauge("queue_bytes", "Unsent output and unfinished lines of all connections.", func(s *Stats) int64 { return s.QueueBytes }),
		gauge("catalog_bytes", "Encoded services of the catalogue.", func(s *Stats) int64 { return s.CatalogBytes }),
		gauge("replay_bytes", "Catalogue changes kept for reconnecting clients.", func(s *Stats) int64 { return s.ReplayBytes }),
		gauge("memory_bytes", "Queues, catalogue and replay together: what memory_bytes_max bounds.", func(s *Stats) int64 { return s.MemoryBytes }),
		gauge("memory_bytes_max", "The bound of memory_bytes; at it the connection that holds most is closed.", func(s *Stats) int64 { return s.MemoryBytesMax }),
		counters("reloads_total", "Reloads of the configuration, by result.", "result", reloads, same),
		gauge("taps", "Operators who look at what is routed.", func(s *Stats) int { return s.Taps }),
		durations("loop_turn_seconds", "For how long one piece of work kept the event loop; small reads are sampled.", func(s *Stats) Histogram { return s.TurnSeconds }),
		{desc: describe("loop_turn_seconds_max", "The longest turn of the event loop since the start."), kind: prometheus.GaugeValue, one: func(s *Stats) float64 { return s.TurnSecondsMax }},
	}
}

// collector reads the metrics of the relay.
type collector struct {
	all   []metric
	stats func() (*Stats, error)
}

func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.all {
		ch <- m.desc
	}
}

func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s, err := c.stats()
	if err != nil {
		ch <- prometheus.NewInvalidMetric(c.all[0].desc, err)
		return
	}
	for _, m := range c.all {
		switch {
		case m.one != nil:
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.one(s))
		case m.many != nil:
			for label, v := range m.many(s) {
				ch <- prometheus.MustNewConstMetric(m.desc, m.kind, v, label)
			}
		default:
			count, cumulative := m.spread(s).cumulative()
			ch <- prometheus.MustNewConstHistogram(m.desc, count, m.spread(s).Sum, cumulative)
		}
	}
}

// cumulative is the histogram as Prometheus has them: each bucket with all below.
func (h Histogram) cumulative() (count uint64, buckets map[float64]uint64) {
	buckets = make(map[float64]uint64, len(h.Bounds))
	for i, n := range h.Counts {
		count += n
		if i < len(h.Bounds) {
			buckets[h.Bounds[i]] = count
		}
	}
	return count, buckets
}

// metrics answers /metrics. The registry is made when somebody asks for the first time.
func (s *Server) metrics() http.HandlerFunc {
	handler := sync.OnceValue(func() http.Handler {
		registry := prometheus.NewRegistry()
		build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "ahprelay_build_info", Help: "1; the labels say what is running.",
			ConstLabels: prometheus.Labels{"version": s.config.Version, "commit": s.config.Commit, "go": runtime.Version()}})
		build.Set(1)
		registry.MustRegister(build, &collector{all: relayMetrics(), stats: s.statsNow},
			collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	})
	return func(w http.ResponseWriter, r *http.Request) { handler().ServeHTTP(w, r) }
}
