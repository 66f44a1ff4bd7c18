package main

import (
	"bytes"
	"io"
	"os"
	"os/signal"
	"syscall"

	"maestro/internal/cli"
	"maestro/internal/lines"
)

// printing has what a server writes wait for its readers in bounded queues: one that does not read, or ended, neither
// holds up the server nor ends it. done waits a short while for them.
func printing(a *cli.Run, logFormat string) (done func()) {
	signal.Ignore(syscall.SIGPIPE) // the end of a reader would end the process
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP) // so would the end of a terminal; what is ignored, children ignore too
	stderr := lines.NewQueue(a.Stderr, func(dropped int) []byte {
		var line bytes.Buffer
		newLogger(&line, logFormat, "warn").Warn("lines of this log were dropped because nobody read them in time", "count",
			dropped)
		return line.Bytes()
	})
	stdout := lines.NewQueue(a.Stdout, nil)
	a.Stderr, a.Stdout = stderr, behind{stderr, stdout}
	return func() {
		stderr.Close()
		stdout.Close()
		signal.Stop(hangUps)
	}
}

// behind writes a line when the log's lines before it are written, or nobody reads those.
type behind struct {
	log *lines.Queue
	out io.Writer
}

func (b behind) Write(line []byte) (int, error) {
	b.log.Settle()
	return b.out.Write(line)
}
