package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"

	"maestro/internal/disk"
)

// serverLog routes the embedded server's warnings and errors to slog and drops the rest.
type serverLog struct {
	logger *slog.Logger
	// failed is called with a file that could not be read or written. It may be nil.
	failed func(error)

	// warned is the last warning, and fatal is why the server gave up; nil if there is none.
	warned, fatal atomic.Pointer[string]
}

func (l *serverLog) Noticef(string, ...any) {}
func (l *serverLog) Debugf(string, ...any)  {}
func (l *serverLog) Tracef(string, ...any)  {}

func (l *serverLog) Warnf(format string, v ...any) {
	said := disk.Shown(strings.TrimSpace(fmt.Sprintf(format, v...)))
	l.warned.Store(&said)
	l.logger.Warn("nats-server: " + said)
}

func (l *serverLog) Errorf(format string, v ...any) {
	said := disk.Shown(fmt.Sprintf(format, v...))
	if l.failed != nil {
		if err := failedFile(v); err != nil {
			l.failed(err)
		} else if strings.Contains(strings.ToLower(format), criticalWrite) {
			l.failed(errors.New(said))
		}
	}
	l.logger.Error("nats-server: " + said)
}

// criticalWrite occurs, in lower case, in the server's message that a stream accepts no more writes. The message may
// give the cause only as text.
const criticalWrite = "critical write error"

// failedFile returns the first error among a message's arguments that names a file.
func failedFile(words []any) error {
	for _, word := range words {
		var path *fs.PathError
		if err, ok := word.(error); ok && errors.As(err, &path) && !stagingIsGone(path) {
			return &fs.PathError{Op: path.Op, Path: disk.Shown(path.Path), Err: path.Err}
		}
	}
	return nil
}

// stagingIsGone reports that the server looked for the rest of an interrupted batch and did not find it. That is not a
// failure: the batch was not acknowledged, and its first part stays. Earlier versions staged batches in memory.
func stagingIsGone(err *fs.PathError) bool {
	return err.Op == "stat" && errors.Is(err, fs.ErrNotExist) && filepath.Base(filepath.Dir(err.Path)) == "batches"
}

// Fatalf notes that the server gave up. Its owner decides whether the process ends.
func (l *serverLog) Fatalf(format string, v ...any) {
	said := disk.Shown(fmt.Sprintf(format, v...))
	l.fatal.Store(&said)
	l.logger.Error("nats-server: " + said)
}
