package events

import (
	"encoding/json"
	"fmt"
)

// Role determines a session's default set of commands (docs/spec/000-command-permissions.md, "Default Command Sets").
type Role string

// The roles (docs/spec/003-manifest-schema.md, "TypeScript Definition").
const (
	RoleWorker       Role = "worker"
	RoleOrchestrator Role = "orchestrator"
)

// Strategy says how a session works through its tasks
// (docs/spec/002-prompt-contract.md, "Workflow Matrix"; docs/spec/003-manifest-schema.md, "Worker Strategies").
type Strategy string

// The strategies (docs/spec/002-prompt-contract.md, "Workflow Matrix"): the first three are a worker's, the others an
// orchestrator's.
const (
	StrategySimple   Strategy = "simple"
	StrategyQueue    Strategy = "queue"
	StrategyTree     Strategy = "tree"
	StrategyDefault  Strategy = "default"
	StrategyBatching Strategy = "intelligent-batching"
	StrategyDAG      Strategy = "dag"
)

// Permissions are what a session may do, frozen when it was created.
type Permissions struct {
	Commands []string `json:"commands" doc:"every command id it may use, in the table's order"`
	Explicit bool     `json:"explicit,omitempty" doc:"the list was given as allowedCommands, not taken from role and strategy"`
}

// SessionStatus is the status of a session.
type SessionStatus string

// Session statuses. The last two are final.
const (
	SessionSpawning  SessionStatus = "spawning"
	SessionIdle      SessionStatus = "idle"
	SessionRunning   SessionStatus = "running"
	SessionWorking   SessionStatus = "working"
	SessionSaidDone  SessionStatus = "completed"
	SessionStopped   SessionStatus = "stopped"
	SessionEndFailed SessionStatus = "failed"
)

// SessionSpawned: a session was created with frozen permissions. No process has started yet.
type SessionSpawned struct {
	SessionID      string          `json:"sessionId" doc:"the new session"`
	Name           string          `json:"name" doc:"as people call it"`
	Role           Role            `json:"role" doc:"worker or orchestrator"`
	Strategy       Strategy        `json:"strategy" doc:"how it works through its tasks"`
	TaskIDs        []string        `json:"taskIds,omitempty" doc:"its tasks; the first is the primary one"`
	Started        []string        `json:"started,omitempty" doc:"the tasks that this moved from todo to in_progress"`
	Unmet          []string        `json:"unmetDependencies,omitempty" doc:"dependencies of its tasks that were not completed"`
	Strict         bool            `json:"strict,omitempty" doc:"before rules 3: the spawn was to be refused if there were any"`
	Forced         bool            `json:"forced,omitempty" doc:"forced, in spite of them"`
	Permissions    Permissions     `json:"permissions" doc:"what it may do"`
	SpawnedBy      string          `json:"spawnedBy,omitempty" doc:"the session that ordered it; absent: a user"`
	Queue          string          `json:"queue,omitempty" doc:"queue strategy: where it pulls from; its own has its id"`
	Queued         []string        `json:"queued,omitempty" doc:"the tasks that were pushed there, in order"`
	Timeout        int64           `json:"timeout,omitempty" doc:"milliseconds after which it is ended as failed"`
	Model          string          `json:"model,omitempty" doc:"model of the agent"`
	Agent          string          `json:"agent,omitempty" doc:"claude, codex, gemini or a configured one"`
	Skills         []string        `json:"skills,omitempty" doc:"skills to load"`
	Context        json.RawMessage `json:"context,omitempty" doc:"free, as given"`
	ManifestDigest string          `json:"manifestDigest,omitempty" doc:"digest of its manifest in MAESTRO_BLOBS"`
	Options        *AgentOptions   `json:"options,omitempty" doc:"how its agent is run, where that is not the default"`
	Runner         string          `json:"runner,omitempty" doc:"the runner that launches its agent; absent: whoever spawned it launches it"`
}

// AgentOptions say how a session's agent is run. They are fields of the spawn, of its event and of the manifest.
type AgentOptions struct {
	PermissionMode   string `json:"permissionMode,omitempty" flag:"acceptEdits|interactive|readOnly" doc:"what the agent may do without asking; acceptEdits if absent"`
	ThinkingMode     string `json:"thinkingMode,omitempty" flag:"auto|interleaved|disabled" doc:"how the model thinks; auto if absent"`
	MaxTurns         int    `json:"maxTurns,omitempty" absent:"any number of turns" doc:"how many turns the agent may take"`
	WorkingDirectory string `json:"workingDirectory,omitempty" flag:"<path>" doc:"where the agent works; the project's if absent"`
	TemplateID       string `json:"templateId,omitempty" flag:"template <templateId>" doc:"the template of its prompt"`
	Network          string `json:"network,omitempty" flag:"open|none|<ports>" doc:"what the agent may reach: none, or TCP ports such as 443,8080; open if absent"`
}

// SessionRegistered: the session started work. With created set, registering also created it.
type SessionRegistered struct {
	SessionID      string          `json:"sessionId" doc:"the session"`
	Created        *SessionCreated `json:"created,omitempty" doc:"what it is, if it was not known before"`
	ManifestDigest string          `json:"manifestDigest,omitempty" doc:"digest of the manifest that it begins with"`
	Role           Role            `json:"role,omitempty" doc:"with a manifest: as what it begins"`
	Forced         bool            `json:"forced,omitempty" doc:"forced, in spite of open dependencies of its tasks"`
}

// SessionCreated describes a session that was registered without a spawn.
type SessionCreated struct {
	Name        string            `json:"name" doc:"as people call it"`
	Role        Role              `json:"role" doc:"worker or orchestrator"`
	Strategy    Strategy          `json:"strategy" doc:"how it works through its tasks"`
	Status      SessionStatus     `json:"status" doc:"its first status"`
	TaskIDs     []string          `json:"taskIds,omitempty" doc:"its tasks"`
	Permissions Permissions       `json:"permissions" doc:"what it may do"`
	Env         map[string]string `json:"env,omitempty" doc:"environment, as the client gave it"`
	Metadata    json.RawMessage   `json:"metadata,omitempty" doc:"free, as given"`
	AgentID     string            `json:"agentId,omitempty" doc:"as the client names its agent"`
	Options     *AgentOptions     `json:"options,omitempty" doc:"with a manifest: how its agent is run, where that is not the default"`
}

// SessionUpdated: the fields that are present have new values.
type SessionUpdated struct {
	SessionID string            `json:"sessionId" doc:"the session"`
	Name      *string           `json:"name,omitempty" doc:"new name"`
	Status    *SessionStatus    `json:"status,omitempty" doc:"idle or working"`
	AgentID   *string           `json:"agentId,omitempty" doc:"new agent"`
	TaskIDs   *[]string         `json:"taskIds,omitempty" doc:"new tasks, all of them"`
	Forced    bool              `json:"forced,omitempty" doc:"forced, in spite of open dependencies, or of its end"`
	Env       map[string]string `json:"env,omitempty" doc:"merged into its environment"`
	// Variables may be removed again.
	RemovedEnv []string `json:"removedEnv,omitempty" doc:"names of the removed variables"`
	// A session's manifest may be issued again, with the same rights.
	ManifestDigest *string       `json:"manifestDigest,omitempty" doc:"digest of the manifest that counts from now on"`
	Options        *AgentOptions `json:"options,omitempty" doc:"with a manifest: how its agent is run from now on"`
}

// SessionCompleted: the session said that it is done. It may still report.
type SessionCompleted struct {
	SessionID string `json:"sessionId" doc:"the session"`
}

// SessionKilled: a caller with the right to do so ended the session.
type SessionKilled struct {
	SessionID string        `json:"sessionId" doc:"the session"`
	Reason    string        `json:"reason,omitempty" doc:"why"`
	Status    SessionStatus `json:"status" doc:"stopped, or failed"`
}

// SessionDeleted: the session is removed from the views; its history stays.
type SessionDeleted struct {
	SessionID string `json:"sessionId" doc:"the session"`
}

// SessionNoted: a timeline entry that changes no status.
type SessionNoted struct {
	SessionID string          `json:"sessionId" doc:"the session"`
	Type      string          `json:"type" doc:"kind of entry, such as milestone"`
	Message   string          `json:"message,omitempty" doc:"as said; absent: a bare event"`
	TaskID    string          `json:"taskId,omitempty" doc:"the task it is about"`
	Data      json.RawMessage `json:"data,omitempty" doc:"free, as given"`
	Blobs     Blobs           `json:"blobs,omitempty" doc:"digests of the long texts in MAESTRO_BLOBS, by field"`
}

// SessionTaskLinked: the task was linked to the session.
type SessionTaskLinked struct {
	SessionID string `json:"sessionId" doc:"the session"`
	TaskID    string `json:"taskId" doc:"the task"`
	Forced    bool   `json:"forced,omitempty" doc:"forced, in spite of open dependencies, or of the session's end"`
}

// SessionTaskUnlinked: the task was unlinked from the session.
type SessionTaskUnlinked struct {
	SessionID string `json:"sessionId" doc:"the session"`
	TaskID    string `json:"taskId" doc:"the task"`
}

var sessionEvents = []Entry{
	entry[SessionSpawned]("A session was ordered, its permissions frozen, its tasks started."),
	entry[SessionRegistered]("A session reported for work."),
	entry[SessionUpdated]("Fields of a session have new values."),
	entry[SessionCompleted]("A session said that it is done."),
	entry[SessionKilled]("A session was ended."),
	entry[SessionDeleted]("A session is gone from the views."),
	entry[SessionNoted]("An entry for a timeline that moves no status."),
	entry[SessionTaskLinked]("A task became one of a session's."),
	entry[SessionTaskUnlinked]("A task ceased to be one of a session's."),
}

// EventType implements Data.
func (*SessionSpawned) EventType() string { return "maestro.session.spawned.v1" }

// EventType implements Data.
func (*SessionRegistered) EventType() string { return "maestro.session.registered.v1" }

// EventType implements Data.
func (*SessionUpdated) EventType() string { return "maestro.session.updated.v1" }

// EventType implements Data.
func (*SessionCompleted) EventType() string { return "maestro.session.completed.v1" }

// EventType implements Data.
func (*SessionKilled) EventType() string { return "maestro.session.killed.v1" }

// EventType implements Data.
func (*SessionDeleted) EventType() string { return "maestro.session.deleted.v1" }

// EventType implements Data.
func (*SessionNoted) EventType() string { return "maestro.session.noted.v1" }

// EventType implements Data.
func (*SessionTaskLinked) EventType() string { return "maestro.session.task_linked.v1" }

// EventType implements Data.
func (*SessionTaskUnlinked) EventType() string { return "maestro.session.task_unlinked.v1" }

// Aggregate implements Data.
func (d *SessionSpawned) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Aggregate implements Data.
func (d *SessionRegistered) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Aggregate implements Data.
func (d *SessionUpdated) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Aggregate implements Data.
func (d *SessionCompleted) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Aggregate implements Data.
func (d *SessionKilled) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Aggregate implements Data.
func (d *SessionDeleted) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Aggregate implements Data.
func (d *SessionNoted) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Aggregate implements Data.
func (d *SessionTaskLinked) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Aggregate implements Data.
func (d *SessionTaskUnlinked) Aggregate() (kind, id string) { return AggregateSession, d.SessionID }

// Describe implements Data.
func (d *SessionSpawned) Describe() Description {
	return describe("spawned", "spawn", named(" "+string(d.Role)+" ", d.SessionID, " "+string(d.Role)), quoted(d.Name),
		text(fmt.Sprintf(" (%s strategy)", d.Strategy)), listed(" for ", d.TaskIDs, " for it"), forced(d.Forced))
}

// Describe implements Data.
func (d *SessionRegistered) Describe() Description {
	if d.Created != nil {
		role := " new " + string(d.Created.Role)
		return describe("registered", "register", named(role+" ", d.SessionID, role), quoted(d.Created.Name))
	}
	return describe("registered", "register", named(" session ", d.SessionID, ""))
}

// Describe implements Data.
func (d *SessionUpdated) Describe() Description {
	return describe("updated", "update", named(" session ", d.SessionID, ""))
}

// Describe implements Data.
func (d *SessionCompleted) Describe() Description {
	return describe("completed", "complete", named(" session ", d.SessionID, ""))
}

// Describe implements Data.
func (d *SessionKilled) Describe() Description {
	return describe("ended", "end",
		named(" session ", d.SessionID, ""), text(" as "+string(d.Status)), prefixed(": ", d.Reason))
}

// Describe implements Data.
func (d *SessionDeleted) Describe() Description {
	return describe("deleted", "delete", named(" session ", d.SessionID, ""))
}

// Describe implements Data.
func (d *SessionNoted) Describe() Description {
	on := phrase{}
	if d.TaskID != "" {
		on = named(" on ", d.TaskID, "")
	}
	return describe("noted", "note",
		text(" "+d.Type), named(" for session ", d.SessionID, ""), on, prefixed(": ", d.Message))
}

// Describe implements Data.
func (d *SessionTaskLinked) Describe() Description {
	return describe("linked", "link",
		named(" task ", d.TaskID, ""), named(" to session ", d.SessionID, " to it"), forced(d.Forced))
}

// Describe implements Data.
func (d *SessionTaskUnlinked) Describe() Description {
	return describe("unlinked", "unlink",
		named(" task ", d.TaskID, ""), named(" from session ", d.SessionID, " from it"))
}

func (*SessionSpawned) sealed()      {}
func (*SessionRegistered) sealed()   {}
func (*SessionUpdated) sealed()      {}
func (*SessionCompleted) sealed()    {}
func (*SessionKilled) sealed()       {}
func (*SessionDeleted) sealed()      {}
func (*SessionNoted) sealed()        {}
func (*SessionTaskLinked) sealed()   {}
func (*SessionTaskUnlinked) sealed() {}
