package wire

import (
	"encoding/json"

	"maestro/events"
)

// StoredManifest is the answer to an upload.
type StoredManifest struct {
	Digest   string          `json:"digest"`
	Role     events.Role     `json:"role"`
	Strategy events.Strategy `json:"strategy"`
	TaskIDs  []string        `json:"taskIds"`
	Commands []string        `json:"allowedCommands"`
}

// NewManifest is a request for a manifest. Its fields have the names and the defaults of a spawn's. Those that it
// redeclares cannot be embedded in both: see commands.SpawnSession.
type NewManifest struct {
	Role     events.Role     `json:"role,omitempty"`
	Strategy events.Strategy `json:"strategy,omitempty"`
	// Project is that of the first task if empty.
	Project string    `json:"project,omitempty"`
	TaskIDs []string  `json:"taskIds,omitempty"`
	Allowed *[]string `json:"allowedCommands,omitempty"`
	Model   string    `json:"model,omitempty"`
	Agent   string    `json:"agent,omitempty"`
	Skills  []string  `json:"skills,omitempty"`
	AgentOptions
	// Timeout is in milliseconds.
	Timeout int64 `json:"timeout,omitempty"`
	// Context has the form of a manifest's context: codebaseContext, relatedTasks, projectStandards and custom.
	Context json.RawMessage `json:"context,omitempty"`
}
