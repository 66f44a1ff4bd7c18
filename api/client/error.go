package client

import (
	"encoding/json"
	"fmt"
	"net/http"

	"maestro/internal/syntax"
	"maestro/service/wire"
)

// Error is a negative answer of the server. Match it with errors.As.
type Error struct {
	wire.Problem
	// Status is the HTTP status.
	Status int `json:"-"`
	// Unproven says that the server did not prove that it knows the token: it is another one than the token's, and got
	// neither token nor command. A server proves that it knows its own tokens even after they were revoked.
	Unproven bool `json:"-"`
}

func (e *Error) Error() string { return e.Message }

// Missing returns what does not exist, if that is the reason; otherwise nil.
func (e *Error) Missing() *wire.Missing {
	var missing wire.Missing
	if json.Unmarshal(e.Details, &missing) != nil || missing.Kind == "" {
		return nil
	}
	return &missing
}

// Denied returns who may not use the command, if permissions refused it altogether; otherwise nil.
func (e *Error) Denied() *wire.Denied {
	var denied wire.Denied
	if json.Unmarshal(e.Details, &denied) != nil || denied.Caller == "" {
		return nil
	}
	return &denied
}

// ConnectionError says that no answer arrived: nothing listens at the address, or the connection broke. A command may
// have been executed.
type ConnectionError struct {
	URL string
	Err error
}

func (e *ConnectionError) Error() string { return "no answer from " + e.URL + ": " + e.Err.Error() }

func (e *ConnectionError) Unwrap() error { return e.Err }

// codeForeign is the code of an answer that is not Maestro's.
const codeForeign = "HTTP_ERROR"

// errorOf reads an error's body, and creates an Error for a server that is not ours.
func errorOf(resp *http.Response) *Error {
	e := &Error{Status: resp.StatusCode}
	body, err := readAll(resp)
	if err == nil {
		err = json.Unmarshal(body, e)
	}
	e.Status = resp.StatusCode
	if err != nil || e.Message == "" {
		return &Error{Status: resp.StatusCode, Problem: wire.Problem{
			Code:    codeForeign,
			Message: fmt.Sprintf("the server answered %s", resp.Status),
			Why:     "the answer is not one of Maestro's",
			Next:    "check the server's address",
		}}
	}
	return e
}

func notOurs(resp *http.Response, err error) error {
	return &Error{Status: resp.StatusCode, Problem: wire.Problem{
		Code:    codeForeign,
		Message: "the server's answer is not what was expected: " + syntax.Plain(err).Error(),
		Next:    "check the server's address and version",
	}}
}
