package wire

import (
	"maestro/engine"
	"maestro/events"
	"maestro/projections"
)

// Views: what is shown of the state, and what the engine records and verifies, under the names used on the wire. Each
// is declared where it is created.
type (
	Head           = events.Head
	Project        = projections.ProjectView
	ProjectStatus  = projections.ProjectStatus
	ExpiredSpawner = projections.ExpiredSpawner
	Task           = projections.TaskView
	GoneDependency = projections.GoneDependency
	TaskSaid       = projections.TaskReport
	TaskTree       = projections.TaskTree
	Progress       = projections.Progress
	Entry          = projections.EntryView
	Session        = projections.SessionView
	Queue          = projections.QueueView
	QueueStats     = projections.QueueStats
	Item           = projections.ItemView
	Input          = projections.InputView
	InboxItem      = projections.InboxItem
	Denial         = engine.Denial
	Verdict        = engine.Verdict
	Fault          = engine.Fault
	LostText       = engine.LostText
	NamedText      = engine.NamedText
	Statement      = projections.StatementView
	Redaction      = projections.RedactionView
	InboxKind      = projections.InboxKind
	Said           = projections.StatusReport
	TaskInQueue    = projections.TaskInQueue
	Unlinked       = projections.Unlinked
	Permissions    = events.Permissions
	AgentOptions   = events.AgentOptions
	NamedToken     = projections.TokenView
	NamedWebhook   = projections.WebhookView
	ParkedWebhook  = projections.ParkedView
	SessionSaid    = projections.SessionReport
	Exited         = projections.Exited
	Run            = projections.RunView
	Usage          = projections.UsageView
	UsageOfModel   = events.Usage
	Stuck          = projections.StuckView
)

// The values of questions and inbox items that clients distinguish.
const (
	InputOpen     = projections.InputOpen
	InputAnswered = projections.InputAnswered
	InputVoid     = projections.InputVoid
	InboxRefused  = projections.InboxRefused
)

// SessionOfSource returns the project and the session that a source of events names; false if it names no session.
func SessionOfSource(source string) (project, session string, ok bool) {
	return projections.SessionOfSource(source)
}

// UserOfSource returns the user, or the token, that a source of events names; false if it names none.
func UserOfSource(source string) (name string, ok bool) { return projections.UserOfSource(source) }

// Texts lists the long texts that the log names and that cannot be read: the first 1,000, and how many more.
type Texts struct {
	Named    int        `json:"named"`
	Lost     []LostText `json:"lost"`
	LostMore int        `json:"lostMore,omitempty"`
}

// GoneDeleted says that a dependency was deleted.
const GoneDeleted = projections.GoneDeleted

// The types of the timeline entries for the end of a session's command and for a changed file.
const (
	TypeExited = projections.TypeExited
	TypeFile   = projections.TypeFile
)

// ReportOfType returns the kind of report that writes timeline entries of a type, "" if none does.
func ReportOfType(entry string) events.ReportKind { return projections.ReportOfType(entry) }

// WritesType reports whether Maestro itself writes timeline entries of a type; other types are those of notes.
func WritesType(kind string) bool { return projections.WritesType(kind) }
