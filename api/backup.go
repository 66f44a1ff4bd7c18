package api

import (
	"io"
	"log/slog"
	"net/http"

	"maestro/events"
	"maestro/service/wire"
)

func (s *server) backupRoutes() {
	s.handle("GET /api/backup", "A backup of the log and its texts", s.open(s.backup))
}

// backup streams an archive of everything up to the present head.
func (s *server) backup(w http.ResponseWriter, r *http.Request) {
	out := &counter{to: w}
	err := s.WriteBackup(r.Context(), callOf(r.Context()).Caller, out, func(head events.Head) {
		header := w.Header()
		header.Set("Content-Type", "application/x-tar")
		header[wire.HeaderSequence] = []string{sequenceText(head.Sequence)}
	})
	if err != nil {
		s.breakOff(w, r, out.written > 0, out.lost, err)
	}
}

// breakOff ends an answer that failed: with an error if nothing was sent yet, otherwise so that the client notices the
// cut. lost says that the client takes no more: then nothing is wrong with the server.
func (s *server) breakOff(w http.ResponseWriter, r *http.Request, begun, lost bool, err error) {
	if !begun {
		s.fail(w, r, err)
		return
	}
	level := slog.LevelError
	if lost || r.Context().Err() != nil {
		level = slog.LevelDebug
	}
	s.Logger.Log(r.Context(), level, "a stream broke off", "path", r.URL.Path, "request", requestID(r), "why", err)
	panic(http.ErrAbortHandler)
}

// counter counts the bytes written through it.
type counter struct {
	to      io.Writer
	written int64
	// lost says that the client takes no more.
	lost bool
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.written += int64(n)
	c.lost = c.lost || err != nil
	return n, err
}
