// Package failure defines the form of the program's own refusals and failures: what, why, and what to do next.
package failure

import (
	"fmt"
	"net/http"
)

// The codes that several failures share. Some are also those of a server's refusals.
const (
	Conflict    = "CONFLICT"       // it conflicts with what is there
	NotAllowed  = "NOT_ALLOWED"    // the caller may not do it
	NotFound    = "NOT_FOUND"      // its target does not exist
	TimedOut    = "TIMED_OUT"      // what was waited for did not happen in time
	File        = "FILE"           // a file cannot be read or written
	AuditFailed = "AUDIT_FAILED"   // the log or a copy of it is not as it should be
	limit       = "LIMIT_EXCEEDED" // above a documented limit
	usage       = "USAGE"          // the command line is wrong
)

// Error is a refusal or failure of the program itself. Match it with errors.As.
type Error struct {
	// Status is the HTTP status with which a server would say the same; 0 leaves that to Code, then to Err. Read it
	// with HTTPStatus.
	Status int
	// Code identifies the error in one word, Message states it in a sentence.
	Code, Message string
	// Why and Next may be empty.
	Why, Next string
	Details   map[string]any
	Err       error
	// Partial says that the result exists, but lacks something: the exit code distinguishes it from a failure without a
	// result.
	Partial bool
	// Shown says that the answer has been printed already, and only the exit code is left.
	Shown bool
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// HTTPStatus returns the HTTP status with which a server would say the same; 0 leaves that to Err.
func (e *Error) HTTPStatus() int {
	if e.Status != 0 {
		return e.Status
	}
	switch e.Code {
	case usage:
		return http.StatusBadRequest
	case NotAllowed:
		return http.StatusForbidden
	case NotFound:
		return http.StatusNotFound
	case Conflict:
		return http.StatusConflict
	case limit:
		return http.StatusUnprocessableEntity
	case TimedOut:
		return http.StatusGatewayTimeout
	case AuditFailed:
		return http.StatusInternalServerError
	}
	return 0
}

// Usage returns the error for a command line that cannot be parsed, or asks for something impossible.
func Usage(format string, args ...any) *Error {
	return &Error{Code: usage, Message: fmt.Sprintf(format, args...)}
}

// WithWhy says why.
func (e *Error) WithWhy(format string, args ...any) *Error {
	e.Why = fmt.Sprintf(format, args...)
	return e
}

// WithNext says what to do next.
func (e *Error) WithNext(format string, args ...any) *Error {
	e.Next = fmt.Sprintf(format, args...)
	return e
}
