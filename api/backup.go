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

const backupRefused = "No backup was made"

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
	if err == nil && c.By.Access == commands.AccessAdmin {
		err = s.WholeLog(r.Context(), backupRefused)
	}
	switch {
	case err != nil:
	case c.By.Access != commands.AccessAdmin:
		err = &service.Problem{
			Kind:    service.KindNotAllowed,
			Code:    string(commands.CodeNotAllowed),
			Message: "A backup is not allowed for " + c.By.String(),
			Why: "the home's key signs it for whoever restores it, and it also holds the long texts that no event " +
				"names: only the admin token may make one",
			Next: "use the admin token; `maestro audit export` writes the log, which this token may read",
			Rule: "audit:export",
		}
	case s.Backup == nil:
		err = &service.Problem{
			Kind:    service.KindUnavailable,
			Code:    "READ_ONLY",
			Message: "A read-only server makes no backup",
			Why:     "the server was started with --read-only, and writes and signs nothing",
			Next:    "stop it, start it without --read-only, and make the backup then",
		}
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
		err = s.NotWhole(r.Context(), backupRefused, err)
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
