package cli

import (
	"io"
	"log/slog"
)

// newLogger makes the logger that log_format asks for: text on a terminal and JSON otherwise when that
// is auto. level may change later.
func newLogger(out io.Writer, format string, level *slog.LevelVar) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == "text" || format == "auto" && terminal(out) {
		return slog.New(slog.NewTextHandler(out, options))
	}
	return slog.New(slog.NewJSONHandler(out, options))
}
