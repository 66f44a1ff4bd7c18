package wire

// Skill is a folder with instructions that an agent can be given.
type Skill struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type"`
	Version     string `json:"version"`
	// Roles are those that it is for, absent if it is for all.
	Roles []string `json:"roles,omitempty"`
	// Instructions are absent in a list.
	Instructions string `json:"instructions,omitempty"`
}
