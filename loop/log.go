package loop

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ahprelay/ahprelay/relay"
)

// quiet passes gnet's own log lines on as what they are to an operator: of interest only when something
// is wrong.
type quiet struct{ log *slog.Logger }

func (q quiet) Debugf(format string, args ...any) {}
func (q quiet) Infof(format string, args ...any)  {}
func (q quiet) Warnf(format string, args ...any)  { q.log.Debug(fmt.Sprintf(format, args...)) }
func (q quiet) Errorf(format string, args ...any) { q.log.Debug(fmt.Sprintf(format, args...)) }
func (q quiet) Fatalf(format string, args ...any) { q.log.Error(fmt.Sprintf(format, args...)) }

const (
	notesPerSecond = 20 // log lines about clients
	noteSpan       = time.Second
)

// noteLog writes the core's notes to the log, at most so many a second.
type noteLog struct {
	log        *slog.Logger
	seen       uint64
	since      time.Duration
	written    int
	suppressed uint64
}

func (n *noteLog) drain(core *relay.Core, now time.Duration) {
	last := core.LastNote()
	if last == n.seen {
		return
	}
	if now >= n.since+noteSpan {
		if n.suppressed > 0 {
			n.log.Warn("log lines about clients were left out", "count", n.suppressed)
		}
		n.since, n.written, n.suppressed = now, 0, 0
	}
	for ; n.seen < last; n.seen++ {
		note, ok := core.Note(n.seen + 1)
		if !ok || n.written >= notesPerSecond {
			n.suppressed++
			continue
		}
		n.written++
		message, key, level := "limit reached", "limit", slog.LevelWarn
		if note.Kind == relay.NoteClosed {
			message, key = "connection closed", "reason"
		}
		if note.Word == relay.ReasonShutdown.String() {
			level = slog.LevelInfo // nobody's fault
		}
		n.log.Log(context.Background(), level, message, key, note.Word, "detail", note.Detail, "remote", note.Remote, "client", note.ClientID,
			"principal", note.Principal, "queueBytes", note.Queue)
	}
}
