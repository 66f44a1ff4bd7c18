package agent

import "time"

// Observation is something that an agent's output shows: one of the types below.
type Observation interface{ observation() }

// Reader reads the output of one run, line by line. It accepts any bytes: a line that it cannot read shows nothing. It
// is not safe for concurrent use.
type Reader interface {
	// Read returns what a line shows. The line has no line end. A line that was cut shows nothing.
	Read(line []byte) []Observation
}

// Began: the agent has begun, or continues a conversation.
type Began struct {
	Conversation string // for Launch.Conversation
	Model        string // "" if the CLI does not say
}

// Called: the agent calls a tool. The call may be running already.
type Called struct {
	ID   string // of this call in the output; Returned has the same
	Tool string
	// Key is the same for the hook's payload of this call ([HookCall].Key). Several calls can have the same key: each
	// of them has a decision of its own. It is "" for what the CLI does not ask the hook about.
	Key string
	// Command is the command line of a shell tool, otherwise "".
	Command string
	// Summary says what the call is about: its command, path or arguments, in at most 200 bytes. It is the same for
	// the same call, so that repetitions can be counted.
	Summary  string
	Subagent bool // an agent that the agent started calls it
	// Ran: the call has passed the hook. Codex prints only such calls. Claude Code and Gemini print a call before they
	// ask the hook, and a denied one returns with Failed.
	Ran bool
}

// Returned: a tool call has ended.
type Returned struct {
	ID     string
	Failed bool
	Text   string // what it answered, in at most maxText bytes
}

// Said: the agent says something.
type Said struct{ Text string }

// Used is what the agent has used since the Used before it, for one model. Add them up.
type Used struct {
	Model      string // "" if the CLI does not say
	Turns      int64  // answers of the model
	Input      int64  // input tokens, including cached ones
	Cached     int64  // input tokens that were read from a cache
	Output     int64  // output tokens, including those for reasoning
	Reasoning  int64  // output tokens for reasoning, where the CLI says so
	CostMicros int64  // millionths of a US dollar, where the CLI says so
}

// Retrying: the model's API has failed, and the CLI will try again.
type Retrying struct {
	Status  int // HTTP status, 0 if unknown
	Reason  string
	Attempt int
	After   time.Duration // until the next attempt, 0 if unknown
	Until   time.Time     // when the limit ends, zero if unknown
}

// Ended: the agent has said that it is done, or why it cannot go on. An agent that ends without saying so was killed,
// or has crashed. OK does not mean that the task is done: an agent whose calls were all denied ends with OK.
type Ended struct {
	OK     bool
	Cause  Cause // "" if OK
	Reason string
}

// Cause is why an agent ended without success.
type Cause string

// The causes.
const (
	CauseTurns   Cause = "turns"   // it used up its turns
	CauseLogin   Cause = "login"   // the model's API does not accept its login
	CauseLimit   Cause = "limit"   // the API limits its rate or its budget
	CauseModel   Cause = "model"   // the API fails, or does not know the model
	CauseStopped Cause = "stopped" // a signal interrupted it
	CauseOther   Cause = "other"
)

func (Began) observation()    {}
func (Called) observation()   {}
func (Returned) observation() {}
func (Said) observation()     {}
func (Used) observation()     {}
func (Retrying) observation() {}
func (Ended) observation()    {}

// maxText bounds a text in an observation, and maxSummary a summary.
const (
	maxText    = 16 << 10
	maxSummary = 200
)
