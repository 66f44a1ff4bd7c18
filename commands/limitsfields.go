package commands

import "maestro/events"

// Limits of the fields of commands. Fields with a limit in fields.go are checked there, unless the answer is
// VALIDATION_ERROR: then the decision checks them.
var (
	LimitID = Limit{
		Name:   "id",
		Value:  maxID,
		Unit:   "characters",
		Code:   CodeInvalid,
		Bounds: "an id; an id in a plan",
	}
	LimitTitle = Limit{
		Name:   "title",
		Value:  maxTitle,
		Unit:   "characters",
		Code:   CodeInvalid,
		Bounds: "the title of a task, an option of a question",
	}
	LimitName = Limit{
		Name:   "name",
		Value:  MaxName,
		Unit:   "characters",
		Code:   CodeInvalid,
		Bounds: "a name, a model, an agent, a mode, a role, a status, what is wrong with a webhook",
	}
	LimitType = Limit{
		Name:   "entry-type",
		Value:  maxType,
		Unit:   "characters",
		Code:   CodeInvalid,
		Bounds: "the type of an entry on a timeline",
	}
	LimitPath = Limit{
		Name:   "path",
		Value:  maxPath,
		Unit:   "characters",
		Code:   CodeInvalid,
		Bounds: "a path",
	}
	LimitURL = Limit{
		Name:   "url",
		Value:  MaxURL,
		Unit:   "characters",
		Code:   CodeInvalid,
		Bounds: "the URL of a webhook",
	}
	LimitText = Limit{
		Name:   "text",
		Value:  events.MaxText,
		Unit:   "bytes",
		Code:   CodeInvalid,
		Bounds: "a reason, an answer, a message to a session, a template, an entry of a list of texts",
	}
	LimitLongText = Limit{
		Name:   "long-text",
		Value:  MaxRequest,
		Unit:   "bytes",
		Code:   CodeTooLarge,
		Bounds: "a description, a prompt, the message of a report",
	}
	LimitEntries = Limit{
		Name:   "entries",
		Value:  1000,
		Unit:   "entries",
		Code:   CodeLimit,
		Bounds: "acceptance criteria or labels of a task; skills or agents in one list; types of a webhook",
	}
	LimitIDs = Limit{
		Name:   "ids",
		Value:  maxList,
		Unit:   "ids",
		Code:   CodeLimit,
		Bounds: "tasks or projects that one command names",
	}
	LimitDependencies = Limit{
		Name:   "dependencies",
		Value:  200,
		Unit:   "dependencies",
		Code:   CodeLimit,
		Bounds: "tasks that one task depends on",
	}
	LimitAllowed = Limit{
		Name:   "allowed-commands",
		Value:  200,
		Unit:   "commands",
		Code:   CodeLimit,
		Bounds: "`allowedCommands` of a session",
	}
	LimitOptions = Limit{
		Name:   "options",
		Value:  maxOptions,
		Unit:   "options",
		Code:   CodeInvalid,
		Bounds: "options of a question",
	}
	LimitFree = Limit{
		Name:   "free-json",
		Value:  events.MaxText,
		Unit:   "bytes",
		Code:   CodeLimit,
		Bounds: "free JSON: `metadata`, `context`, `data`; the limits of JSON bodies apply to it too",
	}
	LimitEnv = Limit{
		Name:   "env",
		Value:  200,
		Unit:   "variables",
		Code:   CodeLimit,
		Bounds: "environment of a session, including what it already has",
	}
	LimitEnvBytes = Limit{
		Name:   "env-bytes",
		Value:  events.MaxText,
		Unit:   "bytes",
		Code:   CodeLimit,
		Bounds: "environment of a session: all names and values together",
	}
)
