package wire

import "encoding/json"

// EnvSocket names the socket of an agent's supervisor, through which the agent's programs reach the server without a
// secret. EnvWorkspace names the directory that holds the workspaces of sessions.
const (
	EnvSocket    = "MAESTRO_SOCKET"
	EnvWorkspace = "MAESTRO_WORKSPACE"
)

// The programs of which an agent's processes consist: the first argument of maestro. The second is the session.
const (
	ProgramSupervisor = "agent-run"
	ProgramConfined   = "agent-exec"
	ProgramHook       = "hook"
)

// HookPath is where a supervisor decides about the tool calls of its agent: the body is what the agent's program says
// about the call, the answer a [HookAnswer].
const HookPath = "/hook"

// HeaderKeep asks a supervisor, if it is "true", to keep a command that the server cannot take now. The answer is then
// a [Kept] with status 202.
const HeaderKeep = "Maestro-Keep"

// HeaderDeadline says when the hook of an agent's program denies by itself, in RFC 3339: it may wait for its turn
// before its request is read. The hooks of older programs do not send it.
const HeaderDeadline = "Maestro-Deadline"

// CodeNoServer is the code of a supervisor's answer for a server that does not answer.
const CodeNoServer = "NO_SERVER"

// Kept says that a command waits in the outbox of its session.
type Kept struct {
	Kept    bool   `json:"kept"`
	Waiting int    `json:"waiting"`
	Key     string `json:"key"`
	// Why says why the server cannot take it now.
	Why string `json:"why,omitempty"`
}

// HookDecision is what a supervisor decides about a tool call.
type HookDecision string

// The decisions about a tool call. Whatever else a hook reads is no permission.
const (
	HookAllow HookDecision = "allow"
	HookDeny  HookDecision = "deny"
)

// HookAnswer is what the hook of an agent's program prints, and its exit code.
type HookAnswer struct {
	// Decision may be left to MarshalJSON. The supervisors of older programs do not send it.
	Decision HookDecision `json:"decision"`
	Stdout   string       `json:"stdout,omitempty"`
	Stderr   string       `json:"stderr,omitempty"`
	ExitCode int          `json:"exitCode"`
}

// MarshalJSON implements json.Marshaler. It names the decision that the exit code means, so that no answer lacks one.
func (a HookAnswer) MarshalJSON() ([]byte, error) {
	type plain HookAnswer
	if a.Decision == "" {
		a.Decision = HookDeny
		if a.ExitCode == 0 {
			a.Decision = HookAllow
		}
	}
	return json.Marshal(plain(a))
}
