package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
)

// serverLog routes the embedded server's warnings and errors to slog and drops its chatter.
type serverLog struct {
	logger *slog.Logger
	// failed is told of a file that could not be read or written; nil if nobody is.
	failed func(error)
}

func (l serverLog) Noticef(string, ...any) {}
func (l serverLog) Debugf(string, ...any)  {}
func (l serverLog) Tracef(string, ...any)  {}

func (l serverLog) Warnf(format string, v ...any) {
	l.logger.Warn("nats-server: " + fmt.Sprintf(format, v...))
}

func (l serverLog) Errorf(format string, v ...any) {
	for _, x := range v {
		var path *fs.PathError
		if err, ok := x.(error); ok && l.failed != nil && errors.As(err, &path) && !stagingIsGone(path) {
			l.failed(err)
		}
	}
	l.logger.Error("nats-server: " + fmt.Sprintf(format, v...))
}

// stagingIsGone reports that the server looked for a batch that a kill or a power cut interrupted and did not find the
// rest of it. That is no failure: nobody was told of the batch, and its first part stays. See staging.
func stagingIsGone(err *fs.PathError) bool {
	return err.Op == "stat" && errors.Is(err, fs.ErrNotExist) && filepath.Base(filepath.Dir(err.Path)) == "batches"
}

// Fatalf only logs: whether the process ends is for its owner to say.
func (l serverLog) Fatalf(format string, v ...any) {
	l.logger.Error("nats-server: " + fmt.Sprintf(format, v...))
}
