package commands

// MaxRequest is the maximum size of a request's body, in bytes.
const MaxRequest = 1 << 20

// Limits of request bodies.
var (
	LimitBody = Limit{
		Name:   "body-bytes",
		Value:  MaxRequest,
		Unit:   "bytes",
		Answer: answerTooLarge,
		Bounds: "a request body; a manifest has a limit of its own",
	}
	LimitNames = Limit{
		Name:   "json-names",
		Value:  1000,
		Unit:   "names",
		Answer: answerLimit,
		Bounds: "names in one JSON object",
	}
	LimitDepth = Limit{
		Name:   "json-depth",
		Value:  64,
		Unit:   "levels",
		Answer: answerLimit,
		Bounds: "JSON objects and lists inside each other",
	}
	LimitNumber = Limit{
		Name:   "json-number",
		Value:  100,
		Unit:   "characters",
		Answer: answerLimit,
		Bounds: "one number in a JSON body; many readers of JSON fail at a longer one",
	}
	LimitValues = Limit{
		Name:   "json-values",
		Value:  20_000,
		Unit:   "values",
		Answer: answerLimit,
		Bounds: "values in one JSON body, at all levels together",
	}
)

// LimitCallCommands bounds how long one call can keep the writer busy.
var LimitCallCommands = Limit{
	Name:   "call-commands",
	Value:  200,
	Unit:   "commands",
	Answer: answerLimit,
	Bounds: "commands that one call causes: a PATCH of an older client, or `?tree=true` of a session, which counts " +
		"those that live below; `?tree=true` of a user has no limit",
}

// CheckCall fails with a *Refusal if a call consists of more commands than the limit.
func CheckCall(n int) error {
	if int64(n) > LimitCallCommands.Value {
		return LimitCallCommands.exceeded("", "a call", int64(n))
	}
	return nil
}
