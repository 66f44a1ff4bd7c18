// Package failure holds the form in which the program itself refuses or fails: what, why, and what to do next.
package failure

import (
	"fmt"
	"net/http"
)

// Error is what the program itself refuses or fails at. Match it with errors.As.
type Error struct {
	// Status is HTTP's, so that it says in the same way what the server would; 0 leaves that to Err.
	Status int
	// Code says in one word what is wrong, Message in a sentence.
	Code, Message string
	// Why and Next may be empty.
	Why, Next string
	Details   map[string]any
	Err       error
	// Partial says that what was asked for is made, and lacks something: the exit code tells it from a failure, which
	// makes nothing.
	Partial bool
	// Shown says that the answer has been printed already, and only the exit code is left.
	Shown bool
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// Usage is a command line that cannot be understood, or asks for what cannot be.
func Usage(format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "USAGE", Message: fmt.Sprintf(format, args...)}
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
