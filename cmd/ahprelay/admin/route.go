package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/pprof"

	"github.com/goccy/go-json"
)

// routes lists everything that there is. What is open needs no token; the page's files are open because
// they are the same for everybody and hold nothing.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	open := func(pattern string, h http.HandlerFunc) { mux.Handle(pattern, h) }
	guarded := func(pattern string, h http.HandlerFunc) { mux.Handle(pattern, s.guard(h)) }

	open("GET /livez", s.livez)
	open("GET /readyz", s.readyz)
	open("GET /metrics", s.metrics())
	s.pageRoutes(open)

	guarded("GET /api/stats", s.apiStats)
	guarded("GET /api/connections", listing(s.source.connectionView()))
	guarded("GET /api/services", listing(s.source.serviceView()))
	guarded("GET /api/requests", listing(s.source.requestView()))
	guarded("GET /api/closings", listing(s.source.closingView()))
	guarded("GET /api/tap", s.tap)
	guarded("GET /api/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusNotFound, "no such route; there are stats, connections, services, requests, closings, tap")
	})

	guarded("GET /debug/pprof/", pprof.Index)
	guarded("GET /debug/pprof/cmdline", pprof.Cmdline)
	guarded("GET /debug/pprof/profile", pprof.Profile)
	guarded("GET /debug/pprof/symbol", pprof.Symbol)
	guarded("GET /debug/pprof/trace", pprof.Trace)
	return s.outer(mux)
}

// livez says that the loop answers; a loop that is stuck makes it fail.
func (s *Server) livez(w http.ResponseWriter, _ *http.Request) {
	if _, err := s.source.levels.get(); err != nil {
		text(w, http.StatusServiceUnavailable, "the event loop does not answer: "+err.Error())
		return
	}
	text(w, http.StatusOK, "live")
}

// readyz says whether it makes sense to connect.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	switch {
	case s.draining.Load():
		text(w, http.StatusServiceUnavailable, "draining")
	case !s.ready.Load():
		text(w, http.StatusServiceUnavailable, "starting")
	default:
		text(w, http.StatusOK, "ready")
	}
}

func (s *Server) apiStats(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawQuery != "" {
		fail(w, http.StatusBadRequest, "this route takes no parameters")
		return
	}
	answer(w, s.statsNow)
}

func (s *Server) statsNow() (*Stats, error) {
	r, err := s.source.levels.get()
	if err != nil {
		return nil, err
	}
	return s.stats(&r), nil
}

func listing[E, I any](v *view[E, I]) http.HandlerFunc {
	sorts := names(v.orders)
	return func(w http.ResponseWriter, r *http.Request) {
		q, err := parseQuery(r.URL.Query(), sorts)
		if err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		answer(w, func() (*List[I], error) { return v.list(q) })
	}
}

// answer writes what get returns as JSON.
func answer[T any](w http.ResponseWriter, get func() (T, error)) {
	v, err := get()
	if err != nil {
		fail(w, http.StatusServiceUnavailable, "the event loop does not answer: "+err.Error())
		return
	}
	body, err := json.MarshalWithOption(v, json.DisableHTMLEscape())
	if err != nil {
		fail(w, http.StatusInternalServerError, fmt.Sprintf("encoding the answer: %v", err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n'))
}

// failure is the body of every answer of /api/ that is none.
type failure struct {
	Error string `json:"error"`
}

func fail(w http.ResponseWriter, status int, message string) {
	body, err := json.MarshalWithOption(failure{message}, json.DisableHTMLEscape())
	if err != nil {
		panic(errors.New("admin: a string that is no JSON"))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

func text(w http.ResponseWriter, status int, line string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(line + "\n"))
}
