package agent

import (
	"context"
	"io/fs"
	"time"

	"maestro/events"
)

// The names of the agents that need no configuration.
const (
	Claude = "claude"
	Codex  = "codex"
	Gemini = "gemini"
)

// Auto returns the agent for a kind of task (metadata.kind), by the roles in
// docs/spec/001-agent-launch-and-sandbox.md, "Agent Launch Commands": Gemini for architecture and design, Codex for
// review and fix, Claude for everything else.
func Auto(kind string) string {
	switch kind {
	case "architecture", "design":
		return Gemini
	case "review", "fix":
		return Codex
	}
	return Claude
}

// Launch is what is known about a run before it starts.
type Launch struct {
	SessionID, ProjectID string
	// Absolute directories, as in docs/spec/001-agent-launch-and-sandbox.md, "Directory Definitions". Target is where
	// the agent works: the working directory of the session's options, or else its project's.
	Workspace, Target, Orchestrator string
	// State is the absolute path of this agent's own directory. Each driver uses a directory below it, with its name.
	State string
	// Prompt and System are the rendered task prompt and system prompt. A resumed conversation has its system prompt
	// already, but the CLIs do not store it: pass it again.
	Prompt, System string
	// Hook is the command that judges a tool call: the absolute path of maestro, and arguments.
	Hook []string
	// HookSeconds is how long the shell line of the hook may take, 0 for what [HookLine] says.
	HookSeconds int
	Options     events.AgentOptions
	Model       string // "": the CLI's default
	// Conversation is the conversation to continue, as [Began] named it; "" begins one.
	Conversation string
	Skills       []Skill
	// Environ is the environment of the user, of which the agent gets only the few variables that it needs.
	Environ []string
	Root    bool // the agent runs as uid 0
	// Maestro is the directory with the maestro program. It is the first one in the agent's PATH.
	Maestro string
	// Temp is the agent's private directory for temporary files; "" leaves the user's.
	Temp string
}

// Skill is a folder with a SKILL.md.
type Skill struct {
	Name  string
	Files fs.FS
}

// Start is a prepared launch.
type Start struct {
	Path  string   // the program's absolute path
	Args  []string // without the program's name
	Env   []string
	Dir   string
	Stdin []byte // the whole standard input, to be closed after it
	// Output is the name of the file in the workspace that gets the standard output.
	Output string
	// ReadOnly are absolute paths of files that the agent must not be able to change, and that exist: the settings of
	// the hook. The next Prepare writes them again, so a change lasts no longer than the run.
	ReadOnly []string
	// ReadWrite are directories that the agent needs to write to, besides the workspace, the target and Temp.
	ReadWrite []string
	// CountTurns: the CLI has no limit of turns of its own. Stop it when [Used].Turns add up to the limit.
	CountTurns bool
	// Patience is how long the hook may wait for a person's decision. After that, deny the call, and tell the agent to
	// repeat it: Codex lets its model go on after half a minute, and if that ends its turn, the call is gone.
	Patience time.Duration
	// Interrupt: SIGINT ends the CLI together with its tool shells. Without it only killing the tree does.
	Interrupt bool
	// Secrets are the values of Env that must not appear in stored output.
	Secrets []string
}

// Driver starts and reads one kind of agent. It keeps no state and may be used by several goroutines.
type Driver interface {
	// Name returns the agent's name, such as "claude".
	Name() string
	// Prepare writes the files that the agent needs below Launch.State, for this user only, and returns how to start
	// it. It replaces what an earlier run left there that could change how the CLI behaves, and keeps conversations.
	// It fails with *MissingError if the program is not installed.
	Prepare(launch Launch) (*Start, error)
	// Check returns what prevents the agent from working, or nothing: the program is missing or too old, or it has no
	// login. run runs a program for a moment and returns what it prints; Check gives it absolute paths.
	Check(ctx context.Context, environ []string, run Run) []Finding
	// Reader returns a reader for the output of one run. before is what the earlier runs of the conversation have
	// used, because Codex counts these again; it is ignored by agents that do not.
	Reader(before Used) Reader
	// Guarded reports whether the program runs the hook before every tool call. A configured command has no hook:
	// nothing but its confinement limits what it does.
	Guarded() bool
	// Explain says what an exit code of the CLI means, "" if it means nothing in particular.
	Explain(exitCode int) string
}

// Run runs a program, with the arguments and the environment, and returns its standard output.
type Run func(ctx context.Context, path string, args, env []string) ([]byte, error)

// Finding is something that prevents an agent from working.
type Finding struct {
	ID      string // such as "agent-missing"
	Message string // what is wrong
	Path    string // the file or directory concerned, or ""
	Fix     string // what to do
}

// The ids of findings.
const (
	FindingMissing  = "agent-missing"
	FindingVersion  = "agent-version"
	FindingLogin    = "agent-login"
	FindingUnusable = "agent-unusable"
)
