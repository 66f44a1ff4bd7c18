package bus

import (
	"fmt"
	"log/slog"
)

// serverLog routes the embedded server's warnings and errors to slog and drops its chatter.
type serverLog struct{ logger *slog.Logger }

func (l serverLog) Noticef(string, ...any) {}
func (l serverLog) Debugf(string, ...any)  {}
func (l serverLog) Tracef(string, ...any)  {}

func (l serverLog) Warnf(format string, v ...any) {
	l.logger.Warn("nats-server: " + fmt.Sprintf(format, v...))
}

func (l serverLog) Errorf(format string, v ...any) {
	l.logger.Error("nats-server: " + fmt.Sprintf(format, v...))
}

// Fatalf only logs: whether the process ends is for its owner to say.
func (l serverLog) Fatalf(format string, v ...any) {
	l.logger.Error("nats-server: " + fmt.Sprintf(format, v...))
}
