package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"syscall"

	"maestro/api/client"
	"maestro/internal/failure"
	"maestro/internal/files"
	"maestro/internal/home"
	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/agent"
	"maestro/workers/outbox"
)

// The exit codes, which scripts and agents act on.
const (
	ExitDone         = 0
	ExitFailed       = 1
	ExitNotFound     = 2
	ExitNoConnection = 3
	ExitNotAllowed   = 4
	ExitInvalid      = 5
	ExitConflict     = 6
	ExitTimedOut     = 7
	ExitPartial      = 8
	ExitInterrupted  = 130
)

// exitCode is the only place where errors become exit codes.
func exitCode(err error) int {
	var own *failure.Error
	var said *client.Error
	var unreachable *client.ConnectionError
	var problem *home.Problem
	var command *commandExit
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &command):
		return command.code
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &own) && own.Partial:
		return ExitPartial
	case errors.As(err, &own) && own.HTTPStatus() == 0 && own.Err != nil:
		return exitCode(own.Err)
	case errors.As(err, &own):
		return exitOf(own.HTTPStatus())
	case errors.As(err, &problem) && problem.NoHome:
		return ExitInvalid
	case errors.As(err, &problem) && problem.Hidden:
		return ExitNotAllowed
	case errors.As(err, &unreachable):
		return ExitNoConnection
	case errors.As(err, &said):
		return exitOf(said.Status)
	case errors.Is(err, context.DeadlineExceeded):
		return ExitTimedOut
	}
	return ExitFailed
}

func exitOf(status int) int {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return ExitNotAllowed
	case http.StatusNotFound:
		return ExitNotFound
	case http.StatusConflict:
		return ExitConflict
	case http.StatusBadRequest,
		http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity:
		return ExitInvalid
	case http.StatusGatewayTimeout:
		return ExitTimedOut
	}
	return ExitFailed
}

// explained is an error as it is shown: what, why, and what to do next.
type explained struct {
	code, message, why, next string
	details                  map[string]any
}

// Explain puts an error into words: what is wrong, why, and what to do next; the last two may be empty.
func Explain(err error) (what, why, next string) {
	e := explain(err)
	return e.message, e.why, e.next
}

func explain(err error) explained {
	var own *failure.Error
	var said *client.Error
	var unreachable *client.ConnectionError
	var busy *outbox.BusyError
	var kind *home.KindError
	var elsewhere *home.ElsewhereError
	var problem *home.Problem
	var stranger *client.StrangerError
	var denied *files.DeniedError
	var held *home.HeldError
	var agents *agent.ConfigError
	switch {
	case errors.As(err, &own):
		e := explained{
			code:    own.Code,
			message: own.Message,
			why:     own.Why,
			next:    own.Next,
			details: own.Details,
		}
		var exit *commandExit // the message says it
		if e.why == "" && own.Err != nil && !errors.As(own.Err, &exit) {
			e.why = own.Err.Error()
		}
		return e
	case errors.Is(err, context.Canceled) && !errors.As(err, &busy):
		return explained{
			code:    "INTERRUPTED",
			message: "Interrupted",
			next:    "try again; a command that is repeated with the same --key runs once",
		}
	case errors.As(err, &kind):
		return explained{
			code:    "HOME",
			message: kind.Path + " is " + kind.Is,
			why:     "in a home it must be " + kind.Want,
			next:    kind.Next(),
		}
	case errors.As(err, &agents):
		return explained{
			code:    "HOME",
			message: agents.Error(),
			why:     "no agent can be launched, not even one that needs no configuration",
			next:    agents.Fix,
		}
	case errors.As(err, &elsewhere):
		return explained{
			code:    "HOME",
			message: elsewhere.What(),
			why:     "the whole store must be in its home: the server locks it there, and renames parts of it",
			next:    elsewhere.Next(),
		}
	case errors.As(err, &problem):
		code := "HOME"
		if problem.NoHome {
			code = "NO_HOME"
		}
		return explained{
			code:    code,
			message: problem.What,
			why:     problem.Why,
			next:    problem.Next,
		}
	case errors.As(err, &unreachable) && errors.As(unreachable.Err, &stranger):
		return explained{
			code:    "NOT_MAESTRO",
			message: "There is no Maestro server at " + unreachable.URL,
			why:     stranger.Error(),
			next:    "start the server with `maestro serve`, or set MAESTRO_API_URL to where it listens",
		}
	case errors.As(err, &denied):
		return explained{
			code:    "DENIED",
			message: denied.What,
			why:     denied.Why,
			next:    denied.Next,
		}
	case errors.As(err, &unreachable) && tlsNext(unreachable) != "":
		return explained{
			code:    "NO_CONNECTION",
			message: "No secure connection to " + unreachable.URL,
			why:     whyInsecure(unreachable.Err),
			next:    tlsNext(unreachable),
		}
	case errors.As(err, &unreachable) && errors.As(unreachable.Err, &held) && held.Read:
		return explained{
			code:    "NO_CONNECTION",
			message: "No answer from " + unreachable.URL,
			why:     held.Error(),
			next: "set MAESTRO_API_URL to the address that it printed; to write again, stop it and run " +
				"`maestro serve`",
		}
	case errors.As(err, &unreachable) && isTimeout(unreachable.Err):
		return explained{
			code:    "NO_CONNECTION",
			message: "The server does not answer at " + unreachable.URL,
			why:     whyUnreached(unreachable.Err),
			next:    "it may be stopped or overloaded: look at its process and its log, then repeat the command",
		}
	case errors.As(err, &unreachable):
		return explained{
			code:    "NO_CONNECTION",
			message: "No answer from " + unreachable.URL,
			why:     whyUnreached(unreachable.Err),
			next:    "start the server with `maestro serve`, or set MAESTRO_API_URL to where it listens",
		}
	case errors.As(err, &said):
		e := explained{
			code:    said.Code,
			message: said.Message,
			why:     said.Why,
			next:    said.Next,
			details: map[string]any{},
		}
		if len(said.Details) > 0 && json.Unmarshal(said.Details, &e.details) != nil {
			e.details["details"] = said.Details
		}
		if e.why == wire.InvalidWhy { // the message says what is wrong
			e.why = ""
		}
		if e.next == wire.InvalidNext {
			e.next = ""
		}
		if e.next == wire.UnauthenticatedNext || said.Unproven {
			e.next = "check MAESTRO_TOKEN: its token was revoked, or is another server's"
		}
		e.detail("rule", said.Rule)
		e.detail("pointer", said.Pointer)
		return e
	case errors.As(err, &busy) && !errors.Is(err, context.Canceled):
		return explained{
			code:    "BUSY",
			message: "Another process of the session is delivering what was kept",
			next:    "try again; if this lasts, see what that process waits for",
		}
	case errors.Is(err, context.DeadlineExceeded):
		return explained{
			code:    failure.TimedOut,
			message: "The server did not answer in time",
			next:    "try again; a command that is repeated with the same --key runs once",
		}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrExist):
		return explained{code: failure.File, message: err.Error()}
	}
	return explained{code: "FAILED", message: err.Error()}
}

// whyUnreached explains why the server did not answer, without the terms of network calls.
func whyUnreached(err error) string {
	var name *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there"
	case errors.As(err, &name):
		return "there is no host " + name.Name
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed before the answer came"
	case isTimeout(err):
		return "the connection timed out"
	}
	return err.Error()
}

// isTimeout reports whether no answer came in time.
func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// onCommandLine returns the part of the command line that sets a pointer's field.
func (p *Printer) onCommandLine(pointer string) string {
	name, rest, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	written, ok := p.fieldNames[fieldNote+name]
	switch {
	case !ok:
		return pointer
	case rest != "":
		return written + " (" + pointer + ")"
	}
	return written
}

func (e *explained) detail(name, value string) {
	if value == "" {
		return
	}
	if e.details == nil {
		e.details = map[string]any{}
	}
	e.details[name] = value
}

// complain shows an error: as JSON on stdout if requested, otherwise as text on stderr.
func (p *Printer) complain(err error) {
	var own *failure.Error
	if errors.As(err, &own) && own.Shown {
		return
	}
	if command := (*commandExit)(nil); own == nil && errors.As(err, &command) {
		return // the command has explained it itself
	}
	e := explain(err)
	if p.nextFor != nil {
		e.next = p.nextFor(e.next)
	}
	if !p.JSON || p.answered || p.broken != nil {
		p.Say("maestro: %s\n", safetext.Continued(e.message))
		if pointer, ok := e.details["pointer"].(string); ok && pointer != "" {
			p.Say("  at:   %s\n", safetext.Continued(p.onCommandLine(pointer)))
		}
		for _, part := range [][2]string{{"why:  ", e.why}, {"next: ", e.next}} {
			if part[1] != "" {
				p.Say("  %s%s\n", part[0], safetext.Continued(part[1]))
			}
		}
		return
	}
	e.detail("why", e.why)
	p.WriteJSON(struct {
		Success    bool           `json:"success"`
		Error      string         `json:"error"`
		Message    string         `json:"message"`
		Details    map[string]any `json:"details,omitempty"`
		Suggestion string         `json:"suggestion,omitempty"`
	}{false, e.code, e.message, e.details, e.next})
}
