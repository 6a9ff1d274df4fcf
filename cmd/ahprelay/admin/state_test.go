package admin

import (
	"context"
	"encoding/json"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ahprelay/ahprelay/client"
	"github.com/ahprelay/ahprelay/loop"
	"github.com/ahprelay/ahprelay/relay"
)

func itoa(n int) string { return strconv.Itoa(n) }

// scene fills a world: an owner with a service that answers "now" and never "later", a caller with one
// request in flight, and two notifications, one of them to nobody.
func scene(t *testing.T, w *world) (service string, hold func()) {
	t.Helper()
	owner, caller := w.connect("owner"), w.connect("caller")
	release := make(chan struct{})
	s, err := owner.Register(t.Context(), json.RawMessage(`{"protocol":"p","n":1.0,"s":"<\u0041\ud800>"}`), func(ctx context.Context, r *client.Request) (any, error) {
		if r.Method == "later" {
			<-release
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	id := s.ID()
	if err := caller.Call(t.Context(), id, "now", nil, nil); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- caller.Call(context.Background(), id, "later", nil, nil) }()
	_ = caller.Notify(id, "n", 1)
	_ = caller.Notify("nobody", "n", 1)
	if err := caller.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "the request to be in flight", func() bool {
		w.admin.source.levels.clear()
		r, err := w.admin.statsNow()
		return err == nil && r.Inflight >= 1
	})
	return id, func() { close(release); <-ended }
}

func TestStats(t *testing.T) {
	w := newWorld(t, nil)
	_, release := scene(t, w)
	defer release()
	_, body, header := w.get("/api/stats", w.bearer()...)
	s := decode[Stats](t, body)
	if header.Get("Content-Type") != "application/json" || header.Get("Cache-Control") != "no-store" {
		t.Error(header)
	}
	if s.Connections != 2 || s.Services != 1 || s.Inflight != 1 || s.Opened != 2 || !s.Ready || s.Draining || s.Version != "1.2.3" || s.Abandoned != 0 {
		t.Errorf("%s", body)
	}
	if s.NotificationsForwarded != 1 || s.NotificationsDropped["unknownService"] != 1 || s.RequestsForwarded != 2 || s.RequestsCompleted["result"] != 1 {
		t.Errorf("%s", body)
	}
	if s.Sent["notification"].Frames != 1 || s.Sent["request"].Frames != 2 || s.Received["answer"].Frames != 1 || s.Received["notification"].Frames != 2 {
		t.Errorf("%s", body)
	}
	if n := slices.Max(s.RequestSeconds.Counts); n != 1 || len(s.RequestSeconds.Counts) != len(s.RequestSeconds.Bounds)+1 {
		t.Errorf("%+v", s.RequestSeconds)
	}
	if len(s.TurnSeconds.Counts) != len(s.TurnSeconds.Bounds)+1 || s.MemoryBytes <= 0 || s.CatalogBytes <= 0 {
		t.Errorf("%s", body)
	}
	if status, _, _ := w.get("/api/stats?x=1", w.bearer()...); status != 400 {
		t.Errorf("with a parameter: %d", status)
	}
}

func TestLists(t *testing.T) {
	w := newWorld(t, nil)
	id, release := scene(t, w)
	defer release()
	_, body, _ := w.get("/api/connections?sort=services", w.bearer()...)
	connections := decode[List[Connection]](t, body)
	if connections.Total != 2 || connections.Matched != 2 || len(connections.Items) != 2 {
		t.Fatalf("%s", body)
	}
	c := connections.Items[0]
	if c.ClientID != "owner" || c.State != "open" || c.ClientName != "test" || c.ClientVersion != "9" || c.Principal != "anonymous" || c.Transport != "tcp" ||
		c.Services != 1 || c.Protocol == "" || c.FramesIn == 0 || c.BytesOut == 0 || c.ID == "" || c.CatalogBytes == 0 || connections.Items[1].Inflight != 1 {
		t.Errorf("%s", body)
	}
	_, body, _ = w.get("/api/services", w.bearer()...)
	services := decode[List[Service]](t, body)
	if len(services.Items) != 1 || services.Items[0].ServiceID != id || services.Items[0].ClientID != "owner" || services.Items[0].Forwarded != 3 || services.Items[0].Inflight != 1 ||
		!strings.Contains(body, `"metadata":{"protocol":"p","n":1.0,"s":"<\u0041\ud800>"}`) {
		t.Errorf("%s", body)
	}
	_, body, _ = w.get("/api/requests", w.bearer()...)
	requests := decode[List[Request]](t, body)
	if len(requests.Items) != 1 || requests.Items[0].Caller != "caller" || requests.Items[0].Owner != "owner" || requests.Items[0].Service != id || requests.Items[0].Abandoned || requests.Items[0].RelayID == 0 {
		t.Errorf("%s", body)
	}
	for path, want := range map[string][2]int{
		"/api/connections?q=OWN": {1, 1}, "/api/connections?q=test+caller": {1, 1}, "/api/connections?q=nobody": {0, 0}, "/api/connections?limit=1": {2, 1}, "/api/connections?limit=0": {2, 0},
		"/api/services?q=protocol": {1, 1}, "/api/services?q=zzz": {0, 0}, "/api/requests?q=caller": {1, 1}, "/api/requests?q=zzz": {0, 0},
	} {
		_, body, _ := w.get(path, w.bearer()...)
		l := decode[List[json.RawMessage]](t, body)
		if l.Matched != want[0] || len(l.Items) != want[1] || l.Items == nil {
			t.Errorf("%s: %s", path, body)
		}
	}
	for path, want := range map[string]string{
		"/api/connections?sort=x":  `{"error":"sort: \"x\", must be one of queueBytes, framesIn, bytesOut, services, inflight, ageSeconds, idleSeconds"}`,
		"/api/services?limit=-1":   `{"error":"limit: \"-1\", must be 0 to 100000"}`,
		"/api/services?limit=1e9":  `{"error":"limit: \"1e9\", must be 0 to 100000"}`,
		"/api/requests?order=asc":  `{"error":"unknown parameter \"order\", must be q, sort or limit"}`,
		"/api/tap?kind=x":          `{"error":"kind: \"x\", must be one of notification, request, answer, dropped, refused"}`,
		"/api/tap?payload=yes":     `{"error":"payload: \"yes\", must be true or false"}`,
		"/api/tap?sevice=protocol": `{"error":"unknown parameter \"sevice\", must be service, client, method, kind or payload"}`,
	} {
		if status, body, _ := w.get(path, w.bearer()...); status != 400 || body != want+"\n" {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// TestClosings: what the relay closed, and why, without a word of what was sent.
func TestClosings(t *testing.T) {
	w := newWorld(t, nil)
	nc, err := net.Dial("tcp", strings.TrimPrefix(w.url, "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := nc.Write([]byte("GET /secret HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	var body string
	until(t, "the closing", func() bool {
		w.admin.source.notes.clear()
		_, body, _ = w.get("/api/closings", w.bearer()...)
		return decode[List[Closing]](t, body).Total == 1
	})
	c := decode[List[Closing]](t, body).Items[0]
	if c.Kind != "closed" || c.Reason != "protocolErrors" || c.Remote != nc.LocalAddr().String() || c.Principal != "anonymous" || c.Number != 1 || time.Since(c.Time).Abs() > time.Minute {
		t.Errorf("%+v", c)
	}
	if strings.Contains(body, "secret") {
		t.Error("it tells what was sent")
	}
	if _, body, _ := w.get("/api/closings?q=protocolerrors+closed", w.bearer()...); decode[List[Closing]](t, body).Matched != 1 {
		t.Error(body)
	}
}

// counting counts how often the loop is hopped onto.
type counting struct {
	Loop
	hops atomic.Int64
}

func (c *counting) Inspect(ctx context.Context, f func(*relay.Core, time.Duration)) error {
	c.hops.Add(1)
	return c.Loop.Inspect(ctx, f)
}

// TestLoopIsSpared: however many ask, the loop is asked once for each moment, and never when nobody asks.
func TestLoopIsSpared(t *testing.T) {
	w := newWorld(t, nil)
	count := &counting{Loop: w.relay}
	s := newSource(count)
	defer s.close()
	done := make(chan struct{})
	for range 50 {
		go func() {
			for range 20 {
				if _, err := s.levels.get(); err != nil {
					t.Error(err)
				}
			}
			done <- struct{}{}
		}()
	}
	start := time.Now()
	for range 50 {
		<-done
	}
	if hops, most := count.hops.Load(), int64(time.Since(start)/fresh)+2; hops > most {
		t.Errorf("%d hops for 1000 questions, want at most %d", hops, most)
	}
	if w.admin.source.levels.reading.at != (time.Time{}) {
		t.Error("nobody asked, and the loop was asked")
	}
}

// TestStuckLoop: when the loop does not answer, the admin server does, and says so.
func TestStuckLoop(t *testing.T) {
	w := newWorld(t, nil)
	free := make(chan struct{})
	stuck := make(chan struct{})
	go func() {
		_ = w.relay.Inspect(context.Background(), func(*relay.Core, time.Duration) { close(stuck); <-free })
	}()
	<-stuck
	status, body, _ := w.get("/livez")
	if status != 503 || !strings.HasPrefix(body, "the event loop does not answer") {
		t.Errorf("%d %s", status, body)
	}
	if status, body, _ := w.get("/readyz"); status != 200 || body != "ready\n" {
		t.Errorf("%d %s", status, body)
	}
	// Who asks right afterwards does not wait another two seconds.
	if status, _, _ := w.get("/livez"); status != 503 {
		t.Errorf("%d", status)
	}
	close(free)
	until(t, "life", func() bool { status, body, _ := w.get("/livez"); return status == 200 && body == "live\n" })
}

func TestReadiness(t *testing.T) {
	w := newWorld(t, nil)
	w.admin.ready.Store(false)
	if status, body, _ := w.get("/readyz"); status != 503 || body != "starting\n" {
		t.Errorf("%d %s", status, body)
	}
	w.admin.Ready()
	w.admin.Draining()
	if status, body, _ := w.get("/readyz"); status != 503 || body != "draining\n" {
		t.Errorf("%d %s", status, body)
	}
	if err := w.operator().Ready(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "503 Service Unavailable: draining") {
		t.Error(err)
	}
	if status, _, _ := w.get("/livez"); status != 200 {
		t.Errorf("%d", status)
	}
}

func TestRates(t *testing.T) {
	earlier := &Stats{UptimeSeconds: 10, BytesIn: 100, NotificationsDropped: map[string]uint64{"overload": 3}, Received: map[string]Traffic{"request": {Frames: 5}}}
	later := &Stats{UptimeSeconds: 12, BytesIn: 300, NotificationsDropped: map[string]uint64{"overload": 4, "unknownService": 1}, Received: map[string]Traffic{"request": {Frames: 9}},
		RequestsRefused: 2, RequestsCompleted: map[string]uint64{"result": 9, "timeout": 2}}
	got := RatesBetween(earlier, later)
	if want := (Rates{Seconds: 2, BytesIn: 100, Dropped: 1, FramesReceived: 2, Failed: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := RatesBetween(later, earlier); got != (Rates{}) {
		t.Errorf("of another process: %+v", got)
	}
}

func TestClient(t *testing.T) {
	w := newWorld(t, nil)
	_, release := scene(t, w)
	defer release()
	c := w.operator()
	if l, err := c.Connections(t.Context(), url.Values{"q": {"owner"}}); err != nil || l.Matched != 1 {
		t.Errorf("%+v %v", l, err)
	}
	if l, err := c.Services(t.Context(), nil); err != nil || l.Total != 1 || string(l.Items[0].Metadata) != `{"protocol":"p","n":1.0,"s":"<\u0041\ud800>"}` {
		t.Errorf("%+v %v", l, err)
	}
	if l, err := c.Requests(t.Context(), nil); err != nil || l.Total != 1 {
		t.Errorf("%+v %v", l, err)
	}
	if l, err := c.Closings(t.Context(), nil); err != nil || l.Total != 0 {
		t.Errorf("%+v %v", l, err)
	}
	addr := w.admin.listener.Addr().String()
	stranger, err := NewClient(addr, "", getenv(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	_, err = stranger.Stats(t.Context())
	if want := "the admin server at " + addr + " answers 401 Unauthorized: the admin token is missing or wrong; it is in " + w.admin.token.file; err == nil || err.Error() != want {
		t.Error(err)
	}
	if _, err := NewClient(addr, "/nonexistent", getenv("")); err == nil || err.Error() != "reading the admin token: open /nonexistent: no such file or directory" {
		t.Error(err)
	}
	w.admin.Close()
	if _, err := c.Stats(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "no admin server answers at "+addr+": ") {
		t.Error(err)
	}
}

var _ Loop = (*loop.Server)(nil)
