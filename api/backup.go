package api

import (
	"io"
	"net/http"

	"maestro/commands"
	"maestro/events"
	"maestro/projections"
	"maestro/service"
)

func (s *server) backupRoutes() {
	s.mux.HandleFunc("GET /api/backup", s.open(s.backup))
}

// backup streams an archive of everything up to the present head. It holds every secret that agents ever wrote, so it
// is the admin's alone.
func (s *server) backup(w http.ResponseWriter, r *http.Request) {
	c := callOf(r.Context())
	var head events.Head
	var err error
	s.Handler.View(func(state *projections.State) {
		head = state.Head()
		err = s.At(state, c.Caller).Permit("audit:export", "")
	})
	switch {
	case err != nil:
	case c.By.Access != commands.AccessAdmin:
		err = &service.Problem{
			Kind:    service.KindNotAllowed,
			Code:    string(commands.CodeNotAllowed),
			Message: "A backup is not allowed for " + c.By.String(),
			Why:     "it holds everything",
			Next:    "use the admin token",
			Rule:    "audit:export",
		}
	case s.Backup == nil:
		err = service.NotFound("Backup", "of this server")
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/x-tar")
	header["Maestro-Sequence"] = []string{sequenceText(head.Sequence)}
	out := &counter{to: w}
	if err := s.Backup(r.Context(), out, head); err != nil {
		s.breakOff(w, r, out.written > 0, err)
	}
}

// breakOff ends an answer that failed: with an error if nothing was sent, else so that the client sees that it is cut.
func (s *server) breakOff(w http.ResponseWriter, r *http.Request, begun bool, err error) {
	if !begun {
		s.fail(w, r, err)
		return
	}
	s.Logger.Error("a stream broke off", "path", r.URL.Path, "why", err)
	panic(http.ErrAbortHandler)
}

// counter counts what goes through it.
type counter struct {
	to      io.Writer
	written int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.written += int64(n)
	return n, err
}
