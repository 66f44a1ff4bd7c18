package wire

import "encoding/json"

// Problem is the answer no.
type Problem struct {
	// IsError is true.
	IsError bool `json:"error"`
	// Code names the problem in one word, Message states it in a sentence, Why names the rule, Next what to do.
	Code    string `json:"code"`
	Message string `json:"message"`
	Why     string `json:"why"`
	Next    string `json:"next"`
	// Rule is the row of the permission table that refused, Pointer the place in the body that is wrong.
	Rule    string `json:"rule,omitempty"`
	Pointer string `json:"pointer,omitempty"`
	// Details has a form of its own for some codes: [OverLimit], [NotReached], or the faults of a manifest.
	Details json.RawMessage `json:"details,omitempty"`
}

// CodeStopping is the code of an answer that tells the caller to ask again: the server is being stopped.
const CodeStopping = "STOPPING"

// OverLimit says over which limit a call is.
type OverLimit struct {
	Limit string  `json:"limit"`
	Value float64 `json:"value"`
	Burst float64 `json:"burst,omitempty"`
	// RetryAfter is when to call again, in seconds.
	RetryAfter int `json:"retryAfter"`
}

// NotReached says how far the views have come.
type NotReached struct {
	Head uint64 `json:"head"`
}

// InvalidWhy and InvalidNext are what an error says that is about a field and gives no better reason.
const (
	InvalidWhy  = "a field is missing or wrong"
	InvalidNext = "correct it and send it again"
)
