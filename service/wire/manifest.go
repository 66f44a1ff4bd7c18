package wire

import (
	"maestro/events"
)

// StoredManifest answers an upload.
type StoredManifest struct {
	Digest   string          `json:"digest"`
	Role     events.Role     `json:"role"`
	Strategy events.Strategy `json:"strategy"`
	TaskIDs  []string        `json:"taskIds"`
	Commands []string        `json:"allowedCommands"`
}
