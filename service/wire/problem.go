package wire

import "encoding/json"

// Problem is a negative answer.
type Problem struct {
	// IsError is always true.
	IsError bool `json:"error"`
	// Code identifies the problem in one word, Message states it in a sentence, Why names the rule, Next says what to
	// do.
	Code    string `json:"code"`
	Message string `json:"message"`
	Why     string `json:"why"`
	Next    string `json:"next"`
	// Rule is the row of the permission table that refused, Pointer the faulty place in the body.
	Rule    string `json:"rule,omitempty"`
	Pointer string `json:"pointer,omitempty"`
	// Details has its own form for some codes: [OverLimit], [NotReached], [Denied], [Missing], or the faults of a
	// manifest.
	Details json.RawMessage `json:"details,omitempty"`
}

// The codes of problems with the server or with a call, which several places give or match. The domain's own codes are
// those of commands.Code.
const (
	CodeUnauthenticated = "UNAUTHENTICATED"    // the caller is not known
	CodeOrigin          = "ORIGIN_NOT_ALLOWED" // a page of another origin
	CodeTimeout         = "TIMEOUT"            // the server did not finish in time
	CodeUnavailable     = "UNAVAILABLE"        // the server cannot do it now
	CodeRedacted        = "TEXT_REDACTED"      // the text was removed for good
	CodeLogDamaged      = "LOG_DAMAGED"        // the answer lacks acknowledged events
	CodeClock           = "CLOCK"              // the machine's clock cannot be believed
	CodeStopping        = "STOPPING"           // the server is stopping: ask again
)

// Denied says who may not use a command, and what they may use. It is in the details of NOT_ALLOWED if the permissions
// do not let the caller use the command at all.
type Denied struct {
	Caller string `json:"caller"`
	// For names who may use it; "" if the caller's role may, and this caller may not.
	For string `json:"for,omitempty"`
	// Instead is the command line that may do what the caller meant.
	Instead string `json:"instead,omitempty"`
}

// Missing says what does not exist: its kind, such as "Project", and the id by which it was named. It is in the details
// of NOT_FOUND.
type Missing struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// OverLimit says which limit a call exceeds.
type OverLimit struct {
	Limit string  `json:"limit"`
	Value float64 `json:"value"`
	Burst float64 `json:"burst,omitempty"`
	// RetryAfter is when to call again, in seconds.
	RetryAfter int `json:"retryAfter"`
}

// NotReached says how far the views have got.
type NotReached struct {
	Head uint64 `json:"head"`
}

// InvalidWhy and InvalidNext are the texts of an error about a field that gives no better reason.
const (
	InvalidWhy  = "a field is missing or wrong"
	InvalidNext = "correct it and send it again"
	// UnauthenticatedNext is that of a call without a valid credential, if nothing better is known.
	UnauthenticatedNext = "send `Authorization: Bearer <token>`"
)
