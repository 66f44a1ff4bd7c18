package natslive

import (
	"fmt"
	"log/slog"
	"sync/atomic"
)

// serverLog routes what nats-server says to slog. What clients cause, such as a refused subscription, is for debugging
// only: anybody who can connect could otherwise fill the log.
type serverLog struct {
	logger *slog.Logger
	// fatal is why the server gave up; nil if it did not.
	fatal atomic.Pointer[string]
}

func (l *serverLog) Noticef(format string, v ...any) { l.debug(format, v) }
func (l *serverLog) Warnf(format string, v ...any)   { l.debug(format, v) }
func (l *serverLog) Errorf(format string, v ...any)  { l.debug(format, v) }
func (l *serverLog) Debugf(string, ...any)           {}
func (l *serverLog) Tracef(string, ...any)           {}

// Fatalf notes that the server gave up. Its owner decides whether the process ends.
func (l *serverLog) Fatalf(format string, v ...any) {
	said := fmt.Sprintf(format, v...)
	l.fatal.Store(&said)
}

func (l *serverLog) debug(format string, v []any) {
	l.logger.Debug("nats listener: " + fmt.Sprintf(format, v...))
}
