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
	// Details has its own form for some codes: [OverLimit], [NotReached], or the faults of a manifest.
	Details json.RawMessage `json:"details,omitempty"`
}

// CodeStopping is the code of an answer that tells the caller to ask again, because the server is stopping.
const CodeStopping = "STOPPING"

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
)
