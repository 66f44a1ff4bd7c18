package process

import (
	"io"
	"log/slog"
)

// LogFormats are the formats of a server's log, LogLevels its levels, lowest first.
var (
	LogFormats = []string{"text", "json"}
	LogLevels  = []string{"debug", "info", "warn", "error"}
)

// NewLog returns the server's log. format is one of LogFormats, level one of LogLevels.
func NewLog(w io.Writer, format, level string) *slog.Logger {
	var least slog.Level
	_ = least.UnmarshalText([]byte(level)) // info if it is empty
	options := &slog.HandlerOptions{Level: least}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
