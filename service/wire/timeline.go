package wire

// TimelineOf asks for the timeline of a session or a task.
type TimelineOf struct {
	ID    string `path:"id" doc:"whose"`
	Limit string `query:"limit" doc:"only this many, the newest; with a cursor, the length of a page"`
}
