package wire

import (
	"encoding/json"

	"maestro/projections"
)

// The kinds of messages of the live views.
const (
	// LiveKindSnapshot is a part of the views at the beginning, with a [LivePart] as its data.
	LiveKindSnapshot = "snapshot"
	// LiveKindFrame is an event with the views that it changed, with a [LiveFrame] as its data.
	LiveKindFrame = "frame"
	// LiveKindReady says that the reader has all views as they were after its sequence, with a [LivePoint] as its data.
	LiveKindReady = "ready"
	// LiveKindAt only moves the position of the reader: what happened up to there shows it nothing.
	LiveKindAt = "at"
)

// LiveAfterNow is the position of the log's end: only what happens from then on is shown.
const LiveAfterNow = "now"

// LiveFilter selects what the live views show: everything that the caller may see if it is empty.
type LiveFilter struct {
	ProjectID string `query:"project" doc:"only this project"`
	Session   string `query:"session" flag:"session <sessionId>" doc:"only what this session did, and what changed it, its questions or its items"`
	Task      string `query:"task" flag:"task <taskId>" doc:"only what concerns this task: its items, its questions and its sessions"`
	Kinds     string `query:"kinds" flag:"kinds <kind>,..." doc:"only events that changed one of these"`
	After     string `query:"after" doc:"continue after this position, as Last-Event-ID does; now shows only what happens from now on"`
	Follow    string `query:"follow" doc:"false ends the answer when the reader has the views of now"`
}

// KindNames returns the kinds of views.
func (LiveFilter) KindNames() []string {
	kinds := projections.Kinds()
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = string(kind)
	}
	return names
}

// LiveView is one view, or a new entry of a timeline.
type LiveView struct {
	// Kind is project, task, session, queue, queue_item, input, template or token; or session_timeline or task_timeline
	// for a new entry.
	Kind string `json:"kind"`
	// ID is that of the object: of a queue "<project>/<queue>", and of its item "<project>/<queue>/<task>".
	ID string `json:"id"`
	// Value is what the list of these objects shows; null if the object is gone.
	Value json.RawMessage `json:"value"`
}

// LivePart is a part of the views at the beginning. Some may be newer already; the frames up to the next [LivePoint]
// then show them again.
type LivePart struct {
	Seq   uint64     `json:"seq"`
	Items []LiveView `json:"items"`
}

// LiveFrame is an event with the views that it changed. The event is absent if it belongs to a project that the caller
// may not see.
type LiveFrame struct {
	Seq   uint64          `json:"seq"`
	Event json.RawMessage `json:"event,omitempty"`
	// Redacted are the long texts of the event that were removed for good since. Absent if there are none.
	Redacted []RedactedText `json:"redacted,omitempty"`
	Changes  []LiveView     `json:"changes"`
}

// LivePoint says up to which sequence the reader has all views.
type LivePoint struct {
	Seq uint64 `json:"seq"`
}
