package wire

import (
	"maestro/events"
	"maestro/projections"
)

// RunnerProtocol is the version of what runners, their supervisors and the server say to each other: requests and
// answers, each sent until there is an answer.
const RunnerProtocol = 1

// RunnerWorkOf asks what there is for a runner to do. What the runner says about itself is shown to the user.
type RunnerWorkOf struct {
	Name     string `path:"name" doc:"the runner"`
	Protocol string `query:"protocol" doc:"the version of the protocol that the runner speaks; 1"`
	Wait     string `query:"wait" doc:"how long to wait for something to change, such as 25s; at most 25s"`
	After    string `query:"after" doc:"wait until there is something else than in the answer with this digest"`
	Host     string `query:"host" doc:"the runner's machine"`
	Version  string `query:"version" doc:"the version of its program"`
	Limit    string `query:"limit" doc:"how many agents it runs at once"`
	Running  string `query:"running" doc:"how many agents it runs now"`
	Asking   string `query:"asking" doc:"how many of its runs wait for the answer to a failed check"`
	Layers   string `query:"layers" doc:"the layers of confinement that its machine offers, with commas between them"`

	Workspaces string `query:"workspaces" doc:"the directory of the workspaces of its agents"`
	SearchPath string `query:"searchPath" doc:"the PATH in which it looks for the programs of agents"`
}

// RunnerWork is what there is for a runner to do: the state of its sessions, in the order of their creation. A runner
// compares it with its processes, so an answer may be lost or come twice.
type RunnerWork struct {
	Protocol int `json:"protocol"`
	// Digest changes with the content.
	Digest   string          `json:"digest"`
	Sessions []RunnerSession `json:"sessions"`
	// More counts those that are not listed.
	More int `json:"more,omitempty"`
}

// RunnerState says what a runner has to do with a session.
type RunnerState string

// The states of a session for its runner.
const (
	WorkClaim   RunnerState = "claim"   // nobody has it: its next run may begin
	WorkRunning RunnerState = "running" // this runner has it, and its agent is to run
	WorkEnded   RunnerState = "ended"   // this runner has it, but it has ended: its agent is to end
)

// RunnerSession is a session of a runner.
type RunnerSession struct {
	ID        string `json:"id"`
	ProjectID string `json:"projectId"`
	// Role is worker or orchestrator: an orchestrator waits for the sessions that it spawns, so it takes no place of
	// theirs.
	Role  events.Role `json:"role"`
	State RunnerState `json:"state"`
	// Run is the number of the run that may begin, or that this runner has begun.
	Run int `json:"run"`
	// Conversation is the agent's own, of an earlier run.
	Conversation string `json:"conversation,omitempty"`
	// Resumes says that there was an earlier run.
	Resumes bool `json:"resumes,omitempty"`
	// Directory is where its project works; "" if that is not known.
	Directory string `json:"directory,omitempty"`
	// Agent is the agent that the session names; "" for the default.
	Agent string `json:"agent,omitempty"`
	// Network is how its manifest restricts the network; "" if it does not.
	Network string `json:"network,omitempty"`
	// Lost says that nothing was heard of its run in time.
	Lost bool `json:"lost,omitempty"`
}

// Runners are the runners that asked for work lately, by name.
type Runners struct {
	Runners []Runner `json:"runners"`
}

// On returns the runner that asked last of those that launch agents on a machine, and have a name; any name if that is
// "". It is nil if there is none.
func (r Runners) On(host, name string) (last *Runner) {
	for i, x := range r.Runners {
		if x.Workspaces != "" && x.Host == host && (name == "" || x.Name == name) &&
			(last == nil || x.SeenAt > last.SeenAt) {
			last = &r.Runners[i]
		}
	}
	return last
}

// Runner is what a runner said about itself last.
type Runner struct {
	Name    string   `json:"name"`
	Host    string   `json:"host,omitempty"`
	Version string   `json:"version,omitempty"`
	Layers  []string `json:"layers"`
	// Workspaces is the directory of the workspaces of its agents.
	Workspaces string `json:"workspaces,omitempty"`
	// SearchPath is the PATH in which it looks for the programs of agents: that of a service manager is often another
	// than a shell's.
	SearchPath string `json:"searchPath,omitempty"`
	// Limit is how many agents it runs at once, Running how many it runs now, Waiting how many sessions wait for it.
	Limit   int `json:"limit"`
	Running int `json:"running"`
	Waiting int `json:"waiting"`
	// Asking is how many of its runs wait for the answer to a failed check. Up to Limit of each role take no place.
	Asking int `json:"asking,omitempty"`
	// Workers and Orchestrators are the first that wait, in their order: each role has places of its own.
	Workers       []string `json:"workers,omitempty"`
	Orchestrators []string `json:"orchestrators,omitempty"`
	// SeenAt is when it asked last.
	SeenAt events.Millis `json:"seenAt"`
}

// RunnerAway begins the warning of a spawn for a runner that has not asked for work lately.
func RunnerAway(name string) string {
	return "no runner called '" + name + "' has asked for work lately"
}

// The names of runners that need no enrolment: the one inside `maestro serve`, unless it is given another name, and the
// one that launches an agent by hand, in a terminal.
const (
	LocalRunner    = "local"
	TerminalRunner = projections.TerminalRunner
)
