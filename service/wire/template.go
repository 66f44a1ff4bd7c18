package wire

import (
	"maestro/events"
)

// Template shows a template. Older clients know all but the last two members.
type Template struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Role      events.Role   `json:"role"`
	Content   string        `json:"content"`
	IsDefault bool          `json:"isDefault"`
	CreatedAt events.Millis `json:"createdAt"`
	UpdatedAt events.Millis `json:"updatedAt"`
	// Version counts its changes. Changed marks a built-in template that differs from its original.
	Version int  `json:"version"`
	Changed bool `json:"changed,omitempty"`
}

// TemplateID names a template.
type TemplateID struct {
	ID string `path:"id" doc:"the template"`
}

// Workflow is what a session's prompts are made from, besides its manifest. Words are the newest of its reports and
// mail, oldest first, without the mail that it has not received: an agent that is restarted in it does not know them.
type Workflow struct {
	Template
	Words []WorkWord `json:"words,omitempty"`
}
