package wire

import (
	"maestro/commands"
	"maestro/events"
)

// Whoami describes the caller as the server sees it.
type Whoami struct {
	Actor    string             `json:"actor" doc:"the token's name, the session's id or the runner's"`
	Kind     commands.ActorKind `json:"kind" doc:"user, session or runner"`
	Role     string             `json:"role" doc:"worker, orchestrator or user"`
	Strategy string             `json:"strategy,omitempty" doc:"a session's"`
	Project  string             `json:"project,omitempty" doc:"a session's"`
	Session  string             `json:"session,omitempty" doc:"the session, if it is one"`
	Access   commands.Access    `json:"access,omitempty" doc:"what a user's token may be used for"`
	Authn    string             `json:"authn" doc:"how the caller is known: token, socket or none"`

	// The remaining fields are for a session.
	Name          string               `json:"name,omitempty" doc:"a session's name"`
	ProjectName   string               `json:"projectName,omitempty" doc:"the name of a session's project"`
	SpawnedBy     string               `json:"spawnedBy,omitempty" doc:"the session that spawned a session"`
	SpawnedByName string               `json:"spawnedByName,omitempty" doc:"the name of that session"`
	Queue         string               `json:"queue,omitempty" doc:"the queue that a session pulls from"`
	Status        events.SessionStatus `json:"status,omitempty" doc:"a session's"`
	Tasks         []OwnTask            `json:"tasks,omitempty" doc:"its tasks, at most 10, the held item first"`
	TasksMore     int                  `json:"tasksMore,omitempty" doc:"how many more tasks it has"`
	Asks          int                  `json:"asks,omitempty" doc:"how many of its questions have no answer yet"`
	Ended         string               `json:"ended,omitempty" doc:"who ended a session, when and why"`
	Lost          string               `json:"lost,omitempty" doc:"when it was last lost, and heard again, if recent"`
	Next          string               `json:"next,omitempty" doc:"what to do next, with the command line for it"`
	BeforeEnd     string               `json:"beforeEnd,omitempty" doc:"what a session has to do before it ends, with the command lines for it"`
}

// OwnTask is a task of the calling session.
type OwnTask struct {
	ID     string            `json:"id"`
	PlanID string            `json:"planId,omitempty"`
	Title  string            `json:"title"`
	Status events.TaskStatus `json:"status"`
	// Says is the session's own last report about it.
	Says events.TaskSessionStatus `json:"says,omitempty" doc:"what the session itself said of it last"`
	// Held marks an item of its queue that it holds.
	Held bool `json:"held,omitempty" doc:"true: the item of its queue that it holds"`
}

// CommandID names a command.
type CommandID struct {
	ID string `path:"id" doc:"the command's id, such as task:create"`
}

// CommandCheck says whether the caller may use a command.
type CommandCheck struct {
	Command  string `json:"command"`
	Allowed  bool   `json:"allowed"`
	Role     string `json:"role"`
	Strategy string `json:"strategy"`
	// Caller describes a caller that is a token.
	Caller string `json:"caller,omitempty"`
	// Unknown says that there is no such command.
	Unknown bool `json:"unknown,omitempty"`
	// Planned says that the id is reserved, but this version has no such command.
	Planned bool `json:"planned,omitempty"`
	// Message says what the refusal of the command says, Why gives the reason.
	Message string `json:"message,omitempty"`
	Why     string `json:"why,omitempty"`
	// Next is what the caller may do instead.
	Next string `json:"next,omitempty"`
}

// AllowedCommands is what the caller may do (docs/spec/000-command-permissions.md, "JSON Output").
type AllowedCommands struct {
	Role            string   `json:"role"`
	Strategy        string   `json:"strategy"`
	AllowedCommands []string `json:"allowedCommands"`
	HiddenCommands  []string `json:"hiddenCommands"`
}
