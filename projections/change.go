package projections

// Kind names the view that a change is in.
type Kind string

// The kinds of change, each with the type of its Before and After.
const (
	KindProject         Kind = "project"          // *Project
	KindTask            Kind = "task"             // *Task
	KindSession         Kind = "session"          // *Session
	KindQueue           Kind = "queue"            // *Queue; the id is "<project>/<queue>"
	KindQueueItem       Kind = "queue_item"       // *Item; the id is "<project>/<queue>/<task>"
	KindInput           Kind = "input"            // *Input
	KindToken           Kind = "token"            // *Token
	KindTemplate        Kind = "template"         // *Template
	KindWebhook         Kind = "webhook"          // *Webhook
	KindSessionTimeline Kind = "session_timeline" // *Entry: the new entry of the timeline; Before is nil
	KindTaskTimeline    Kind = "task_timeline"    // *Entry: the new entry of the timeline; Before is nil
)

// Kinds returns all kinds, in the order in which a person would look for them.
func Kinds() []Kind {
	return []Kind{
		KindProject, KindTask, KindSession, KindQueue, KindQueueItem, KindInput, KindTemplate, KindToken,
		KindWebhook, KindSessionTimeline, KindTaskTimeline,
	}
}

// Change is one value of one view before and after an event. Both are immutable; Before is a nil pointer if the event
// created the object.
type Change struct {
	Kind   Kind
	ID     string
	Before any
	After  any
}
