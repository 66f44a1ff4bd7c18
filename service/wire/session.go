package wire

import (
	"strings"
	"time"

	"maestro/events"
)

// SessionID names a session.
type SessionID struct {
	ID string `path:"id" doc:"the session"`
}

// SessionFilter selects sessions.
type SessionFilter struct {
	ProjectID string `query:"projectId" doc:"of this project"`
	TaskID    string `query:"taskId" flag:"task <taskId>" doc:"that have this task"`
	Status    string `query:"status" flag:"status spawning|idle|running|working|completed|stopped|failed|lost" doc:"with this status; lost: its lease expired, and it has not ended"`
	Active    string `query:"active" doc:"true: that are not completed"`
	Living    string `query:"living" doc:"true: that have not ended"`
	SpawnedBy string `query:"spawnedBy" flag:"spawned-by <sessionId>" doc:"that this session or its predecessor spawned"`
	Name      string `query:"name" flag:"name <name>" doc:"with this name"`
	IDPrefix  string `query:"idPrefix" doc:"whose id begins like this"`
	Limit     string `query:"limit" flag:"limit <number>" doc:"only this many, the first ones"`
	Brief     string `query:"brief" doc:"true: without timelines and events"`
}

// StatusLost is a status that [SessionFilter] selects by. It is none of a session: a lost one keeps what it had.
const StatusLost = "lost"

// Credential is the secret of a session, with the rest of its environment.
type Credential struct {
	SessionID string          `json:"sessionId"`
	ProjectID string          `json:"projectId"`
	Strategy  events.Strategy `json:"strategy"`
	Token     string          `json:"token"`
	// Env are the variables to set for its commands, besides Maestro's own.
	Env map[string]string `json:"env,omitempty"`
	// Within are the directories out of which no link may lead its commands: those of the sessions above this one, as
	// far up as sessions ordered each other.
	Within []string `json:"within,omitempty"`
}

// RunnerCredentialOf names a session, and the runner that is to speak for it.
type RunnerCredentialOf struct {
	ID     string `path:"id" doc:"the session"`
	Runner string `query:"runner" doc:"the runner: your own, or terminal (default) for one that launches the agent by hand"`
}

// RunnerCredential lets a runner speak for one session, until the session is resumed.
type RunnerCredential struct {
	SessionID string `json:"sessionId"`
	Runner    string `json:"runner"`
	Token     string `json:"token"`
}

// LaunchLine is the command line with which a user launches, in a terminal, the agent of a session that no runner has.
// It needs no secret of the session.
func LaunchLine(session, role string) string {
	return "maestro session exec --unconfined " + session + " -- maestro " + role + " init --launch"
}

// SpawnLikeLine is the command line that spawns another session for the work of one that ended before its agent was
// launched, and so has nothing to resume.
func SpawnLikeLine(session string, strategy events.Strategy, tasks []string) string {
	line := "maestro session spawn --like " + session
	if strategy == events.StrategyQueue {
		return line
	}
	return line + " --task-ids " + strings.Join(tasks, ",")
}

const (
	// beatEvery is the time between two heartbeats, unless the lease is short: then beatsPerLease fit into it.
	beatEvery     = 10 * time.Second
	beatsPerLease = 3
)

// BeatAfter returns the time until the next heartbeat of a session with a lease; 0 is no lease.
func BeatAfter(lease time.Duration) time.Duration {
	if lease <= 0 {
		return beatEvery
	}
	return min(beatEvery, lease/beatsPerLease)
}

// Beat is the answer to a heartbeat.
type Beat struct {
	// Lease is how long the session may be silent before it is lost; 0 if the server does not watch it.
	Lease time.Duration
	// Ended says that the session has ended.
	Ended bool
}
