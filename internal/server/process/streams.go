package process

import (
	"bytes"
	"io"
	"os"
	"os/signal"
	"syscall"

	"maestro/internal/lines"
)

// Streams returns writers with bounded queues for a server's output: a reader that does not read, or has ended, neither
// blocks the server nor ends it. Output to out waits for the earlier lines of log. done waits a short time for the
// readers.
func Streams(stdout, stderr io.Writer, logFormat string) (out, log io.Writer, done func()) {
	signal.Ignore(syscall.SIGPIPE) // the end of a reader would end the process
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP) // so would the end of a terminal; children inherit ignored signals
	logs := lines.NewQueue(stderr, func(dropped int) []byte {
		var line bytes.Buffer
		NewLog(&line, logFormat, "warn").Warn("lines of this log were dropped because nobody read them in time",
			"count", dropped)
		return line.Bytes()
	})
	results := lines.NewQueue(stdout, nil)
	return behind{logs, results}, logs, func() {
		logs.Close()
		results.Close()
		signal.Stop(hangUps)
	}
}

// behind writes a line once the log's earlier lines are written, or nobody reads those.
type behind struct {
	log *lines.Queue
	out io.Writer
}

func (b behind) Write(line []byte) (int, error) {
	b.log.Settle()
	return b.out.Write(line)
}
