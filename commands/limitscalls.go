package commands

import "fmt"

// MaxRequest is the maximum size of a request's body, in bytes.
const MaxRequest = 1 << 20

// Limits of request bodies.
var (
	LimitBody = Limit{
		Name:   "body-bytes",
		Value:  MaxRequest,
		Unit:   "bytes",
		Code:   CodeTooLarge,
		Bounds: "a request body; a manifest has a limit of its own",
	}
	LimitNames = Limit{
		Name:   "json-names",
		Value:  1000,
		Unit:   "names",
		Code:   CodeLimit,
		Bounds: "names in one JSON object",
	}
	LimitDepth = Limit{
		Name:   "json-depth",
		Value:  64,
		Unit:   "levels",
		Code:   CodeLimit,
		Bounds: "JSON objects and lists inside each other",
	}
	LimitNumber = Limit{
		Name:   "json-number",
		Value:  100,
		Unit:   "characters",
		Code:   CodeLimit,
		Bounds: "one number in a JSON body; many readers of JSON fail at a longer one",
	}
	LimitValues = Limit{
		Name:   "json-values",
		Value:  20_000,
		Unit:   "values",
		Code:   CodeLimit,
		Bounds: "values in one JSON body, at all levels together",
	}
)

// LimitCallCommands bounds how long one call can keep the writer busy.
var LimitCallCommands = Limit{
	Name:  "call-commands",
	Value: 200,
	Unit:  "commands",
	Code:  CodeLimit,
	Bounds: "commands that one call causes or tries: a PATCH of an older client, a dry run after others, or " +
		"`?tree=true` and `?all=true` of a session, which count the sessions that live below, or are at work; " +
		"those of a user have no limit",
}

// CheckCall fails with a *Refusal if a call consists of more commands than the limit.
func CheckCall(n int) error {
	if int64(n) > LimitCallCommands.Value {
		return LimitCallCommands.exceeded("", "a call", int64(n))
	}
	return nil
}

// TooMuchToTry returns the refusal of a dry run whose first n commands were too much work.
func TooMuchToTry(n int) *Refusal {
	return &Refusal{
		Code:    CodeLimit,
		Message: fmt.Sprintf("Too much work for a dry run: it tried %d of the commands before this one", n),
		Next:    "try fewer at once",
	}
}
