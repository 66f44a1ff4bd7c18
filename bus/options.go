package bus

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Durability determines when an append is acknowledged.
type Durability int

const (
	// Always acknowledges after the fsync: an acknowledged event survives a power cut. It is the default.
	Always Durability = iota
	// Interval acknowledges after the write and syncs once a second: an acknowledged event survives kill -9, and a
	// power cut loses at most the last second.
	Interval
)

// String returns the value that `--durability` takes.
func (d Durability) String() string {
	switch d {
	case Always:
		return "always"
	case Interval:
		return "interval"
	}
	return fmt.Sprintf("Durability(%d)", int(d))
}

// ParseDurability parses "always" or "interval".
func ParseDurability(word string) (Durability, error) {
	switch word {
	case "always":
		return Always, nil
	case "interval":
		return Interval, nil
	}
	return Always, fmt.Errorf("durability %q is unknown: use always (fsync before the acknowledgement) or "+
		"interval (fsync every second)", word)
}

// Options configures a log.
type Options struct {
	// Dir is the store directory of the embedded server; it is created with mode 0700. Open requires it, Connect
	// ignores it.
	Dir string
	// Durability of the embedded server. Connect ignores it: the operator configures an external server.
	Durability Durability
	// Witnessed is the highest sequence that is recorded outside the store, such as in the head file. A log that is
	// shorter, or has a fault up to there, is damaged; a torn record after it is an append that was not acknowledged.
	// Only Open uses it.
	Witnessed uint64
	// HeadFile is the sequence in the head file, 0 if there is none that can be read. The head file lags by about a
	// second at most: only with it can Open distinguish damage from a hole that lazy syncs may have left.
	HeadFile uint64
	// Used is a path outside the store that shows that the store had a log; "" if there is none. A store without a log
	// is damaged then, and not a new one.
	Used string
	// locked says that the caller has locked the directory.
	locked bool
	// ReadOnly opens the store without a server and writes nothing; see Bus.Damage.
	ReadOnly bool
	// Replicas of the streams that Connect creates; 0 means 1. Open ignores it.
	Replicas int
	// Logger receives the server's warnings and errors; nil discards them.
	Logger *slog.Logger
	// Timeout is how long an append waits for its acknowledgement, and a read for its next page; 0 means 5 seconds.
	Timeout time.Duration
}

const defaultTimeout = 5 * time.Second

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Replicas <= 0 {
		o.Replicas = 1
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

var errClosed = errors.New("the bus is closed")
