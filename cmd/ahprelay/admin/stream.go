package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-json"

	"github.com/ahprelay/ahprelay/relay"
)

// Envelope is a line of /api/tap: one message as it was routed, or how many were missed before the next.
type Envelope struct {
	Time      int64           `json:"time"`              // microseconds since 1970
	Kind      string          `json:"kind"`              // notification, request, answer, dropped, refused; missed
	Sender    string          `json:"sender,omitempty"`  // clientId of who sent the notification or request
	Service   string          `json:"service,omitempty"` // id
	Owner     string          `json:"owner,omitempty"`   // clientId of the service's owner
	Protocol  string          `json:"protocol,omitempty"`
	Method    string          `json:"method,omitempty"`
	Word      string          `json:"word,omitempty"` // outcome of an answer, reason of a drop, limit of a refusal
	Code      int             `json:"code,omitempty"` // of the error that the relay made
	RelayID   uint64          `json:"relayId,omitempty"`
	AgeMicros int64           `json:"ageMicros,omitempty"` // of an answer: since its request
	Bytes     int             `json:"bytes"`               // of the payload
	Payload   json.RawMessage `json:"payload,omitempty"`
	Missed    uint64          `json:"missed,omitempty"`
}

const (
	tapPause   = 20 * time.Millisecond // between two writes: what comes meanwhile goes out together
	tapStalled = 10 * time.Second      // a reader that takes nothing for so long is let go
)

// parseTap reads the parameters of /api/tap.
func parseTap(values url.Values) (f tapFilter, err error) {
	for name := range values {
		switch value := values.Get(name); name {
		case "service":
			f.setService(value)
		case "client":
			f.client = value
		case "method":
			f.method = value
		case "kind":
			f.kinds = strings.Split(value, ",")
		case "payload":
			if f.payload = value == "true"; !f.payload && value != "false" {
				return f, fmt.Errorf("payload: %q, must be true or false", value)
			}
		default:
			return f, fmt.Errorf("unknown parameter %q, must be service, client, method, kind or payload", name)
		}
	}
	return f, CheckKinds(f.kinds)
}

// CheckKinds reports a kind that no envelope has.
func CheckKinds(kinds []string) error {
	for _, k := range kinds {
		if !slices.Contains(relay.EnvelopeKinds(), k) {
			return fmt.Errorf("kind: %q, must be one of %s", k, strings.Join(relay.EnvelopeKinds(), ", "))
		}
	}
	return nil
}

// tap streams envelopes as lines of JSON until the client goes or the server is closed.
func (s *Server) tap(w http.ResponseWriter, r *http.Request) {
	f, err := parseTap(r.URL.Query())
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	tp, err := s.taps.add(r.Context(), f)
	switch {
	case errors.Is(err, errTooManyTaps):
		fail(w, http.StatusServiceUnavailable, fmt.Sprintf("%d taps are open, which is as many as may be", tapsMax))
		return
	case err != nil:
		fail(w, http.StatusServiceUnavailable, "the event loop does not answer: "+err.Error())
		return
	}
	defer s.taps.remove(tp)
	w.Header().Set("Content-Type", "application/x-ndjson")
	control := http.NewResponseController(w)
	if control.Flush() != nil {
		return
	}
	var lines []byte
	for {
		select {
		case <-tp.wake:
		case <-r.Context().Done():
			return
		case <-s.taps.closed:
			return
		}
		var missed uint64
		if lines, missed = tp.take(lines); missed > 0 {
			lines = fmt.Appendf(lines, `{"time":%d,"kind":"missed","bytes":0,"missed":%d}`+"\n", time.Now().UnixMicro(), missed)
		}
		_ = control.SetWriteDeadline(time.Now().Add(tapStalled))
		if _, err := w.Write(lines); err != nil || control.Flush() != nil {
			return
		}
		select {
		case <-time.After(tapPause):
		case <-r.Context().Done():
			return
		}
	}
}
