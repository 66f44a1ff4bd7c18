package wire

// CanQuery asks whether an actor may use a command.
type CanQuery struct {
	Actor   string `query:"actor" doc:"a session's id, a token's name, or admin, system, runner"`
	Command string `query:"command" doc:"a command's id"`
	Target  string `query:"target" doc:"what it would be about: a task, a session, a question, a project, a queue"`
	Project string `query:"project" doc:"the project, where the target names none"`
}

// Can says whether an actor may use a command, and why.
type Can struct {
	Allowed bool   `json:"allowed"`
	Actor   string `json:"actor"`
	Command string `json:"command"`
	Target  string `json:"target,omitempty"`
	// Row is the table's: who the command is for, and what its decision rests on.
	Row  CanRow `json:"row"`
	Why  string `json:"why"`
	Next string `json:"next,omitempty"`
	// Else is what stands in the way beside permission, such as a field that is missing.
	Else string `json:"else,omitempty"`
	// Limits are those that the command counts against for the actor.
	Limits []CanLimit `json:"limits,omitempty"`
}

// CanRow is a row of the permission table.
type CanRow struct {
	ID    string `json:"id"`
	Who   string `json:"who"`
	Write bool   `json:"write"`
	Rule  string `json:"rule"`
	Rules string `json:"rules"`
}

// CanLimit is a limit that a command counts against, as it stands.
type CanLimit struct {
	Name  string  `json:"name"`
	Limit string  `json:"limit"`
	Value float64 `json:"value"`
	Burst float64 `json:"burst,omitempty"`
	// Left is how much of it is left now.
	Left int64 `json:"left"`
}
