package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"maestro/commands"
	"maestro/engine"
	"maestro/events"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// Kind classifies problems by what the caller can do about them. Each interface maps it to a form of its own, such as
// an HTTP status.
type Kind int

// The kinds of problems.
const (
	KindInternal        Kind = iota // the server failed; its log says why
	KindInvalid                     // a field is missing or wrong
	KindUnauthenticated             // the caller is not known
	KindNotAllowed                  // the caller's permissions do not cover it
	KindNotFound                    // it never existed, or it was deleted
	KindWrongMethod                 // the resource exists, but does not support this method
	KindConflict                    // it conflicts with the current state
	KindTooLarge                    // above the size limit
	KindWrongFormat                 // not JSON
	KindRule                        // the current state does not permit it
	KindBusy                        // over a quota: try later
	KindUnavailable                 // the server cannot do it now
	KindTimeout                     // the server did not finish in time
)

// Problem is a negative answer. [wire.Problem] is the part of it that is sent.
type Problem struct {
	Code, Message, Why, Next, Rule, Pointer string
	// Details has its own form for some codes; nil for the others.
	Details any

	Kind Kind `json:"-"`
	// Domain says that the domain's rules refuse, not the interface.
	Domain bool `json:"-"`
	// RetryAfter is when to try again; 0 if unknown.
	RetryAfter time.Duration `json:"-"`
	// BadCredential says that the caller showed an invalid credential.
	BadCredential bool `json:"-"`
	// HangUp says that the caller's connection has to be closed after the answer.
	HangUp bool `json:"-"`
}

func (p *Problem) Error() string { return p.Message }

// Wire returns the problem in the form that every interface sends.
func (p *Problem) Wire() wire.Problem {
	sent := wire.Problem{
		IsError: true,
		Code:    p.Code,
		Message: p.Message,
		Why:     p.Why,
		Next:    p.Next,
		Rule:    p.Rule,
		Pointer: p.Pointer,
	}
	if p.Details == nil {
		return sent
	}
	var details bytes.Buffer
	encoder := json.NewEncoder(&details)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(p.Details) == nil { // each is one of our types, and can be encoded
		sent.Details = details.Bytes()
	}
	return sent
}

// InvalidRequest returns a problem with a request that does not concern the domain.
func InvalidRequest(pointer, message string) *Problem {
	return NewProblem(KindInvalid, string(commands.CodeInvalid), pointer, message)
}

// NewProblem returns a problem with a request.
func NewProblem(kind Kind, code, pointer, message string) *Problem {
	return &Problem{
		Kind:    kind,
		Code:    code,
		Message: message,
		Pointer: pointer,
	}
}

// Invalid returns a refusal of the domain's rules that is found before the domain decides.
func Invalid(pointer, format string, args ...any) *commands.Refusal {
	return &commands.Refusal{Code: commands.CodeInvalid, Pointer: pointer, Message: fmt.Sprintf(format, args...)}
}

// NotFound returns the refusal for an object that does not exist.
func NotFound(kind, id string) *Problem {
	return &Problem{
		Kind:    KindNotFound,
		Domain:  true,
		Code:    string(commands.CodeNotFound),
		Details: &wire.Missing{Kind: kind, ID: safetext.Printable(id)},
		Message: kind + " with id '" + safetext.Printable(id) + "' not found",
		Next:    commands.ListOf(kind),
	}
}

// NoPart returns the refusal of a server that lacks a part, and why.
func NoPart(part, why string) *Problem {
	return &Problem{
		Kind:    KindNotFound,
		Code:    string(commands.CodeNotFound),
		Message: "This server has no " + part,
		Why:     why,
		Next:    "ask the server that serves the project",
	}
}

// KindOf returns the kind of each code of refusal.
func KindOf(code commands.Code) Kind {
	switch code {
	case commands.CodeInvalid:
		return KindInvalid
	case commands.CodeNotAllowed:
		return KindNotAllowed
	case commands.CodeNotFound:
		return KindNotFound
	case commands.CodeConflict, commands.CodeKeyReused:
		return KindConflict
	case commands.CodeTooLarge:
		return KindTooLarge
	case commands.CodeRule, commands.CodeLimit:
		return KindRule
	}
	return KindInternal
}

// CallName names a call in the log: what it asks for, and its id.
type CallName struct{ What, ID string }

// ProblemOf is the only place where an error becomes an answer. It logs unexpected errors and does not show them. call
// names the request, for the log. The caller is nil if unknown.
func (s *Service) ProblemOf(c *Caller, err error, call CallName) *Problem {
	var refusal *commands.Refusal
	var unavailable *engine.UnavailableError
	var p *Problem
	switch {
	case errors.Is(err, ErrStopping):
		p = askAgain()
	case errors.Is(err, context.Canceled) && s.Stopping.Err() != nil:
		// A stopping server interrupts the reads of its connections, and net/http may then treat a caller as gone that
		// still waits for its answer.
		p = askAgain()
	case errors.As(err, &p):
	case errors.As(err, &refusal):
		p = &Problem{
			Kind:    KindOf(refusal.Code),
			Domain:  true,
			Code:    string(refusal.Code),
			Message: refusal.Message,
			Why:     refusal.Why,
			Next:    refusal.Next,
			Rule:    refusal.Rule,
			Pointer: refusal.Pointer,
		}
		if m := refusal.Missing; m != nil {
			p.Details = (*wire.Missing)(m)
		}
		if d := refusal.Denied; d != nil {
			p.Details = (*wire.Denied)(d)
		}
	case errors.As(err, &unavailable):
		level := slog.LevelWarn
		known := errors.Is(err, events.ErrReadOnly) || errors.Is(err, events.ErrFull) || s.Health() != nil
		if known { // whoever found it has logged it once
			level = slog.LevelDebug
		}
		s.Logger.Log(context.Background(), level, "a request could not be served",
			"call", call.What, "request", call.ID, "why", safetext.Shorten(err.Error(), longestProblem))
		p = &Problem{
			Kind:       KindUnavailable,
			Code:       wire.CodeUnavailable,
			Message:    "The server takes no writes now",
			Why:        unavailable.Why,
			Next:       unavailable.Next,
			RetryAfter: time.Second,
		}
	case errors.Is(err, events.ErrReadOnly):
		p = &Problem{
			Kind:       KindUnavailable,
			Code:       wire.CodeUnavailable,
			Message:    "The server takes no writes now",
			Why:        err.Error(),
			Next:       engine.Advice(err),
			RetryAfter: time.Second,
		}
	case errors.Is(err, events.ErrUnreadable):
		p = &Problem{
			Kind:       KindUnavailable,
			Code:       wire.CodeUnavailable,
			Message:    "The server cannot read a part of its store now",
			Why:        err.Error(),
			Next:       engine.Advice(err),
			RetryAfter: time.Second,
		}
	case errors.Is(err, context.DeadlineExceeded):
		p = &Problem{
			Kind:    KindTimeout,
			Code:    wire.CodeTimeout,
			Message: "The server did not finish in time",
			Why:     "a command may have happened",
			Next:    "try again with the same key",
		}
	case errors.Is(err, context.Canceled):
		p = &Problem{Kind: KindUnavailable, Code: "CANCELLED", Message: "The caller went away"}
	default:
		s.Logger.Error("a request failed",
			"call", call.What, "request", call.ID, "why", safetext.Shorten(err.Error(), longestProblem))
		p = &Problem{
			Kind:    KindInternal,
			Code:    "INTERNAL_ERROR",
			Message: "The server failed to handle this request",
			Why:     "its log says why",
			Next: "try again with the same key; if it fails again, ask the operator to look for request " + call.ID +
				" in the server's log",
		}
	}
	p = p.Complete()
	s.advise(c, p)
	if p.Kind == KindNotFound && c != nil && c.past != nil {
		p.Why = "it did not exist after event " + strconv.FormatUint(c.past.Sequence(), 10) +
			": it was created later, was deleted before, or never existed"
		p.Next = "name another moment"
	}
	return p
}

// forGood reports whether the same call would meet the same problem later.
func (p *Problem) forGood() bool {
	switch p.Kind { //nolint:exhaustive // the others end with time
	case KindBusy, KindUnavailable, KindTimeout, KindInternal, KindUnauthenticated:
		return false
	}
	return true
}

// Complete sets the parts that every problem has.
func (p *Problem) Complete() *Problem {
	why, next := commonWords(p.Kind)
	if p.Why == "" {
		p.Why = why
	}
	if p.Next == "" {
		p.Next = next
	}
	for _, text := range []*string{&p.Message, &p.Why, &p.Pointer} {
		*text = safetext.Shorten(*text, longestProblem)
	}
	return p
}

// longestProblem bounds each text of a problem, in bytes: some include what the caller sent.
const longestProblem = 2 << 10

// commonWords returns the "why" and "next" texts of problems whose message is complete.
func commonWords(kind Kind) (why, next string) {
	switch kind { //nolint:exhaustive // the others have texts of their own
	case KindInvalid:
		return wire.InvalidWhy, wire.InvalidNext
	case KindNotAllowed:
		return "the caller's permissions do not cover it", "see `maestro commands`"
	case KindNotFound:
		return "it never existed, or it was deleted",
			"check it with `maestro project list`, `maestro task list` or `maestro session list`"
	case KindConflict:
		return "it conflicts with the current state", "read the current state, then decide"
	case KindTooLarge:
		return "a request has at most 1 MiB, an event 768 KiB", "shorten it, or split it"
	case KindRule:
		return "the current state does not allow it", "read the current state, then decide"
	}
	return "the request could not be served", "try again"
}
