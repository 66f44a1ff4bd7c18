package wire

import (
	"maestro/commands"
)

// Whoami says who the caller is to the server.
type Whoami struct {
	Actor    string             `json:"actor" doc:"the token's name, the session's id or the runner's"`
	Kind     commands.ActorKind `json:"kind" doc:"user, session or runner"`
	Role     string             `json:"role" doc:"worker, orchestrator or user"`
	Strategy string             `json:"strategy,omitempty" doc:"a session's"`
	Project  string             `json:"project,omitempty" doc:"a session's"`
	Session  string             `json:"session,omitempty" doc:"the session, if it is one"`
	Access   commands.Access    `json:"access,omitempty" doc:"what a user's token may be used for"`
	Authn    string             `json:"authn" doc:"how the caller is known: token, socket or none"`
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
	// Unknown says that there is no such command.
	Unknown bool `json:"unknown,omitempty"`
	// Planned says that the id is known, and that this version has no such command.
	Planned bool   `json:"planned,omitempty"`
	Why     string `json:"why,omitempty"`
}

// AllowedCommands is what the caller may do (docs/spec/000-command-permissions.md, "JSON Output").
type AllowedCommands struct {
	Role            string   `json:"role"`
	Strategy        string   `json:"strategy"`
	AllowedCommands []string `json:"allowedCommands"`
	HiddenCommands  []string `json:"hiddenCommands"`
}
