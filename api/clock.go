package api

import (
	"net/http"

	"maestro/commands"
	"maestro/projections"
	"maestro/service"
	"maestro/service/wire"
)

// Clock is what the server tells the time by.
type Clock interface {
	// Status says how it stands.
	Status() wire.ClockStatus
	// Confirm takes the machine's wall clock to be right from now on, and reports whether it was in doubt.
	Confirm() (now wire.ClockStatus, changed bool)
}

func (s *server) clockRoutes() {
	s.mux.HandleFunc("GET /api/clock", s.clockStatus)
	s.mux.HandleFunc("POST /api/clock/confirm", s.confirmClock)
}

func (s *server) clockStatus(w http.ResponseWriter, r *http.Request) {
	if s.Clock == nil {
		s.fail(w, r, service.NotFound("Clock", "of this server"))
		return
	}
	s.show(w, r, s.Clock.Status())
}

// confirmClock is the operator's: it is no event, since it says nothing of the project's work and the times of the
// events after it show it. The server's log records it.
func (s *server) confirmClock(w http.ResponseWriter, r *http.Request) {
	c := callOf(r.Context())
	var err error
	s.Handler.View(func(state *projections.State) { err = s.At(state, c.Caller).Permit("token:revoke", "") })
	switch {
	case err != nil || c.By.Kind != commands.ActorUser:
		err = &service.Problem{
			Kind:    service.KindNotAllowed,
			Code:    string(commands.CodeNotAllowed),
			Message: "Confirming the clock is not allowed for " + c.By.String(),
			Why:     "every later event is stamped by it",
			Next:    "use the admin token",
		}
	case s.Clock == nil:
		err = service.NotFound("Clock", "of this server")
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	status, changed := s.Clock.Confirm()
	if changed {
		s.Logger.Warn("the wall clock was confirmed; events follow it again", "by", c.By.String(), "time", status.Time)
	}
	s.show(w, r, wire.ConfirmedClock{ClockStatus: status, Changed: changed})
}

// Warning is what an operator should know of a server that works.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Next    string `json:"next"`
}

// warnings gives what /readyz says beside that the server is ready.
func (s *server) warnings() []Warning {
	var all []Warning
	if s.Clock != nil {
		if status := s.Clock.Status(); status.Warning != "" {
			all = append(all, Warning{"CLOCK", status.Warning, status.Next})
		}
	}
	if s.Warnings != nil {
		all = append(all, s.Warnings()...)
	}
	return all
}
