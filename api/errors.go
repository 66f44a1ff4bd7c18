package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
)

// problem is the answer no, as it goes over the wire. It implements huma.StatusError.
type problem struct {
	IsError bool `json:"error"`
	// StatusCode stands only where the domain's rules refuse, as older clients know it.
	StatusCode int    `json:"statusCode,omitempty"`
	Code       string `json:"code"`
	Message    string `json:"message"`
	Why        string `json:"why"`
	Next       string `json:"next"`
	Rule       string `json:"rule,omitempty"`
	Pointer    string `json:"pointer,omitempty"`
	Details    any    `json:"details,omitempty"`

	status  int
	headers http.Header
}

func (p *problem) Error() string { return p.Message }

// GetStatus implements huma.StatusError.
func (p *problem) GetStatus() int { return p.status }

// GetHeaders implements huma.HeadersError.
func (p *problem) GetHeaders() http.Header { return p.headers }

// ContentType implements huma.ContentTypeFilter.
func (p *problem) ContentType(string) string { return "application/json; charset=utf-8" }

// routeInvalid is a 400 that the route itself raises: without statusCode.
func routeInvalid(pointer, message string) *problem {
	return routeProblem(http.StatusBadRequest, string(commands.CodeInvalid), pointer, message)
}

func routeProblem(status int, code, pointer, message string) *problem {
	return &problem{status: status, Code: code, Message: message, Pointer: pointer}
}

// invalid is a 400 of the domain's rules that a route finds before the domain does.
func invalid(pointer, format string, args ...any) *commands.Refusal {
	return &commands.Refusal{Code: commands.CodeInvalid, Pointer: pointer, Message: fmt.Sprintf(format, args...)}
}

func notFound(kind, id string) *problem {
	return &problem{
		status: http.StatusNotFound, StatusCode: http.StatusNotFound, Code: string(commands.CodeNotFound),
		Message: kind + " with id '" + printable(id) + "' not found",
	}
}

// statusOf gives the HTTP status of each code of refusal.
func statusOf(code commands.Code) int {
	switch code {
	case commands.CodeInvalid:
		return http.StatusBadRequest
	case commands.CodeNotAllowed:
		return http.StatusForbidden
	case commands.CodeNotFound:
		return http.StatusNotFound
	case commands.CodeConflict, commands.CodeKeyReused:
		return http.StatusConflict
	case commands.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case commands.CodeRule, commands.CodeLimit:
		return http.StatusUnprocessableEntity
	}
	return http.StatusInternalServerError
}

// problemOf is the one place where an error becomes an answer. What nobody foresaw is logged and not shown.
func (s *server) problemOf(r *http.Request, err error) *problem {
	var refusal *commands.Refusal
	var unavailable *engine.UnavailableError
	var p *problem
	switch {
	case errors.Is(err, errStopping):
		errors.As(errAskAgain(), &p)
	case errors.As(err, &p):
	case errors.As(err, &refusal):
		status := statusOf(refusal.Code)
		p = &problem{
			status: status, StatusCode: status, Code: string(refusal.Code), Message: refusal.Message, Why: refusal.Why,
			Next: refusal.Next, Rule: refusal.Rule, Pointer: refusal.Pointer,
		}
	case errors.As(err, &unavailable):
		s.Logger.Warn("a request could not be served", "method", r.Method, "path", printable(r.URL.Path), "why",
			engine.Shortened(err.Error(), longestProblem))
		p = &problem{
			status: http.StatusServiceUnavailable, Code: "UNAVAILABLE", Message: "The server takes no writes now",
			Why: unavailable.Why, Next: unavailable.Next, headers: http.Header{"Retry-After": {"1"}},
		}
	case errors.Is(err, events.ErrReadOnly):
		p = &problem{
			status: http.StatusServiceUnavailable, Code: "UNAVAILABLE", Message: "The server takes no writes now",
			Why: err.Error(), Next: engine.Advice(err), headers: http.Header{"Retry-After": {"1"}},
		}
	case errors.Is(err, context.DeadlineExceeded):
		p = &problem{
			status: http.StatusGatewayTimeout, Code: "TIMEOUT", Message: "The server did not finish in time",
			Why: "a command may have happened", Next: "try again with the same key",
		}
	case errors.Is(err, context.Canceled):
		p = &problem{status: http.StatusServiceUnavailable, Code: "CANCELLED", Message: "The caller went away"}
	default:
		s.Logger.Error("a request failed", "method", r.Method, "path", printable(r.URL.Path), "why",
			engine.Shortened(err.Error(), longestProblem))
		p = &problem{
			status:  http.StatusInternalServerError,
			Code:    "INTERNAL_ERROR",
			Message: "The server failed at this request",
			Why:     "its log says why",
			Next:    "try again with the same key; if it fails again, report it",
		}
	}
	return p.complete()
}

// complete fills in what every error says.
func (p *problem) complete() *problem {
	p.IsError = true
	why, next := commonWords(p.status)
	if p.Why == "" {
		p.Why = why
	}
	if p.Next == "" {
		p.Next = next
	}
	for _, text := range []*string{&p.Message, &p.Why, &p.Pointer} {
		*text = engine.Shortened(*text, longestProblem)
	}
	return p
}

// longestProblem bounds each text of an error, in bytes: some hold what the caller sent.
const longestProblem = 2 << 10

// commonWords says why and what next for errors whose message says it all.
func commonWords(status int) (why, next string) {
	switch status {
	case http.StatusBadRequest:
		return "a field is missing or wrong", "correct it and send it again"
	case http.StatusForbidden:
		return "the caller's permissions do not cover it", "see GET /api/commands"
	case http.StatusNotFound:
		return "it never existed, or it was deleted", "list what there is"
	case http.StatusConflict:
		return "it conflicts with the current state", "read the current state, then decide"
	case http.StatusRequestEntityTooLarge:
		return "a request has at most 1 MiB, an event 768 KiB", "say less, or split it"
	case http.StatusUnprocessableEntity:
		return "the current state does not allow it", "read the current state, then decide"
	}
	return "the request could not be served", "try again"
}

// fail answers an authenticated caller with an error.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	w.Header()["Maestro-Sequence"] = []string{sequenceText(s.head())}
	if c, ok := r.Context().Value(callKey{}).(*call); ok && c.over(r.Context()) != nil {
		err = c.over(r.Context())
	}
	if c, ok := r.Context().Value(callKey{}).(*call); ok {
		err = s.recordRefusal(r.Context(), c, err)
	}
	s.refuse(w, r, err)
}

// refuse answers with an error and nothing else.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := s.problemOf(r, err)
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

// write sends the last bytes of an answer. That the client is gone is not our failure.
func (s *server) write(w http.ResponseWriter, body []byte) {
	if _, err := w.Write(body); err != nil {
		s.Logger.Debug("a client went away before its answer", "why", err)
	}
}

// printable shortens foreign text for a message and takes out what a terminal would act on.
func printable(text string) string { return commands.Printable(text) }
