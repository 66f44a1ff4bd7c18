package projections

// Kind names the view that a change is in.
type Kind string

// The kinds of change, each with the type of its Before and After.
const (
	KindProject         Kind = "project"          // *Project
	KindTask            Kind = "task"             // *Task
	KindSession         Kind = "session"          // *Session
	KindSessionTimeline Kind = "session_timeline" // Timeline
	KindTaskTimeline    Kind = "task_timeline"    // Timeline
)

// Change is one value of one view before and after an event. Both are immutable; Before is a nil pointer or an empty
// Timeline when the event made the thing.
type Change struct {
	Kind   Kind
	ID     string
	Before any
	After  any
}
