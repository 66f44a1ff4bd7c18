package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"maestro/api/compat"
	"maestro/commands"
	"maestro/internal/safetext"
	"maestro/service"
	"maestro/service/wire"
)

// statusOf returns the HTTP status of each kind of problem.
func statusOf(kind service.Kind) int {
	switch kind {
	case service.KindInvalid:
		return http.StatusBadRequest
	case service.KindUnauthenticated:
		return http.StatusUnauthorized
	case service.KindNotAllowed:
		return http.StatusForbidden
	case service.KindNotFound:
		return http.StatusNotFound
	case service.KindWrongMethod:
		return http.StatusMethodNotAllowed
	case service.KindConflict:
		return http.StatusConflict
	case service.KindTooLarge:
		return http.StatusRequestEntityTooLarge
	case service.KindWrongFormat:
		return http.StatusUnsupportedMediaType
	case service.KindRule:
		return http.StatusUnprocessableEntity
	case service.KindBusy:
		return http.StatusTooManyRequests
	case service.KindUnavailable:
		return http.StatusServiceUnavailable
	case service.KindTimeout:
		return http.StatusGatewayTimeout
	case service.KindInternal:
	}
	return http.StatusInternalServerError
}

// StatusOf returns the HTTP status of each code of refusal.
func StatusOf(code commands.Code) int { return statusOf(service.KindOf(code)) }

// httpProblem is a problem in the form of HTTP.
type httpProblem struct {
	compat.Problem

	status  int
	headers http.Header
}

// overHTTP gives a problem its HTTP status and headers.
func overHTTP(problem *service.Problem) *httpProblem {
	p := &httpProblem{
		Problem: compat.Problem{Problem: problem.Wire()},
		status:  statusOf(problem.Kind),
		headers: http.Header{},
	}
	if problem.Domain {
		p.StatusCode = p.status
	}
	if problem.RetryAfter > 0 {
		p.headers["Retry-After"] = []string{strconv.Itoa(int(problem.RetryAfter.Seconds()))}
	}
	if problem.Code == service.CodeStopping || problem.HangUp {
		p.headers["Connection"] = closes
	}
	if problem.Kind == service.KindUnauthenticated {
		challenge := `Bearer realm="maestro"`
		if problem.BadCredential {
			challenge += `, error="invalid_token"`
		}
		p.headers["Www-Authenticate"] = []string{challenge}
	}
	return p
}

// nameOf names a request for the log.
func nameOf(r *http.Request) service.CallName {
	return service.CallName{What: r.Method + " " + safetext.Printable(r.URL.Path), ID: requestID(r)}
}

// fail answers an authenticated caller with an error.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var caller *service.Caller
	if c, ok := r.Context().Value(callKey{}).(*call); ok {
		caller = c.Caller
		err = s.RecordRefusal(r.Context(), caller, err)
	}
	w.Header()[wire.HeaderSequence] = []string{sequenceText(s.HeadFor(caller))}
	s.refuse(w, r, caller, err)
}

// failed is fail for commands, whose refusals are recorded already.
func (s *server) failed(w http.ResponseWriter, r *http.Request, caller *service.Caller, err error) {
	w.Header()[wire.HeaderSequence] = []string{sequenceText(s.HeadFor(caller))}
	s.refuse(w, r, caller, err)
}

// refuse answers with an error and does nothing else. The caller is nil if unknown.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, caller *service.Caller, err error) {
	p := overHTTP(s.ProblemOf(caller, err, nameOf(r)))
	for name, values := range p.headers {
		w.Header()[name] = values
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(p); err != nil {
		s.Logger.Error("an error could not be written", "why", err)
	}
	w.Header()["Content-Type"] = s.jsonType
	w.WriteHeader(p.status)
	s.write(w, body.Bytes())
}

// write sends the last bytes of an answer. It ignores a client that is gone.
func (s *server) write(w http.ResponseWriter, body []byte) {
	_, err := w.Write(body)
	switch {
	case errors.As(err, new(*lostError)):
		s.Logger.Error("an answer broke off", "request", w.Header().Get(wire.HeaderRequestID), "why", err)
		panic(http.ErrAbortHandler) // otherwise the client takes it for a whole one
	case err != nil:
		s.Logger.Debug("a client went away before its answer", "why", err)
	}
}
