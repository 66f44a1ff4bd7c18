package commands

import "fmt"

// Limit is one documented bound. docs/limits.md is generated from the rows below.
type Limit struct {
	// Name identifies the limit in errors and in docs/limits.md.
	Name string
	// Value is the largest number that is allowed, in Unit.
	Value int64
	Unit  string
	// Bounds says what the number counts, Answer what a caller above it gets.
	Bounds string
	Answer string
}

// LimitGroup is a section of docs/limits.md.
type LimitGroup struct {
	Title string
	// Intro is a paragraph above the table; may be empty.
	Intro  string
	Limits []Limit
}

// What a caller above a limit gets.
const (
	answerTooLarge = "413 `TOO_LARGE`"
	answerLimit    = "422 `LIMIT_EXCEEDED`"
)

// Limits gives every limit that the server enforces, in the order of docs/limits.md.
func Limits() []LimitGroup {
	return []LimitGroup{
		{Title: "Request bodies", Intro: "The server checks these while it reads a JSON body, before it decides anything.", Limits: []Limit{
			LimitBody, LimitNames, LimitDepth, LimitValues,
		}},
		{Title: "Sessions", Limits: []Limit{LimitLateReports}},
	}
}

// MaxRequest is the longest body of a request, in bytes.
const MaxRequest = 1 << 20

// Limits of request bodies.
var (
	LimitBody = Limit{
		Name: "body-bytes", Value: MaxRequest, Unit: "bytes", Answer: answerTooLarge,
		Bounds: "a request body; a manifest has a limit of its own",
	}
	LimitNames = Limit{
		Name: "json-names", Value: 1000, Unit: "names", Answer: answerLimit,
		Bounds: "names in one JSON object",
	}
	LimitDepth = Limit{
		Name: "json-depth", Value: 64, Unit: "levels", Answer: answerLimit,
		Bounds: "JSON objects and lists inside each other",
	}
	LimitValues = Limit{
		Name: "json-values", Value: 20_000, Unit: "values", Answer: answerLimit,
		Bounds: "values in one JSON body, at all levels together",
	}
)

// LimitLateReports bounds what a session adds to the log after its end.
var LimitLateReports = Limit{
	Name: "late-reports", Value: 1000, Unit: "reports", Answer: answerLimit,
	Bounds: "reports that one session delivers after its end",
}

// exceeded is the refusal of a caller that is above a limit. what names the thing that is too large: "metadata".
func (l Limit) exceeded(pointer, what string, have int64) *Refusal {
	code, number := CodeLimit, fmt.Sprintf("has %d", have)
	if l.Answer == answerTooLarge {
		code = CodeTooLarge
	}
	if have <= 0 {
		number = "has more"
	}
	return &Refusal{
		Code: code, Pointer: pointer, Message: fmt.Sprintf("%s has at most %d %s (limit %s); this %s", what, l.Value, l.Unit, l.Name, number),
		Why: l.Name + " bounds " + l.Bounds, Next: "ask for less; docs/limits.md lists all limits",
	}
}
