package wire

// CanQuery asks whether an actor may use a command.
type CanQuery struct {
	Actor   string `query:"actor" doc:"a session's id, a token's name, or admin, system, runner"`
	Command string `query:"command" doc:"a command's id; all if absent"`
	Target  string `query:"target" doc:"what it would be about: a task, a session, a question, a project, a queue"`
	Project string `query:"project" doc:"the project, where the target names none"`
}

// Can says whether an actor may use a command, and why; or, for all commands, which ones it may use.
type Can struct {
	Allowed bool   `json:"allowed"`
	Actor   string `json:"actor"`
	Command string `json:"command,omitempty"`
	Target  string `json:"target,omitempty"`
	// Row is the row of the table: who the command is for, and what its decision depends on.
	Row  CanRow `json:"row,omitzero"`
	Why  string `json:"why,omitempty"`
	Next string `json:"next,omitempty"`
	// Else is what prevents the command besides permission, such as a missing field.
	Else string `json:"else,omitempty"`
	// Limits are those that the command counts against for the actor.
	Limits []CanLimit `json:"limits,omitempty"`
	// Commands and Refused answer a query about all commands.
	Commands []string     `json:"commands,omitempty" doc:"without a command: what the actor may use"`
	Refused  []CanRefused `json:"refused,omitempty" doc:"without a command: what it may not use, by the reason"`
}

// CanRefused lists the commands that an actor may not use for one reason.
type CanRefused struct {
	Why      string   `json:"why"`
	Commands []string `json:"commands"`
}

// CanRow is a row of the permission table.
type CanRow struct {
	ID    string `json:"id"`
	Who   string `json:"who"`
	Write bool   `json:"write"`
	Rule  string `json:"rule"`
	Rules string `json:"rules"`
}

// CanLimit is the current state of a limit that a command counts against.
type CanLimit struct {
	Name  string  `json:"name"`
	Limit string  `json:"limit"`
	Value float64 `json:"value"`
	Burst float64 `json:"burst,omitempty"`
	// Left is the present remainder of the limit.
	Left int64 `json:"left"`
}
