package api

import (
	"io"
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
		s.breakOff(w, r, out.written > 0, err)
	}
}

// breakOff ends an answer that failed: with an error if nothing was sent yet, otherwise so that the client notices the
// cut.
func (s *server) breakOff(w http.ResponseWriter, r *http.Request, begun bool, err error) {
	if !begun {
		s.fail(w, r, err)
		return
	}
	s.Logger.Error("a stream broke off", "path", r.URL.Path, "why", err)
	panic(http.ErrAbortHandler)
}

// counter counts the bytes written through it.
type counter struct {
	to      io.Writer
	written int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.written += int64(n)
	return n, err
}
