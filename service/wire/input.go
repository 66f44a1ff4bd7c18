package wire

// InputFilter selects questions.
type InputFilter struct {
	ProjectID string `query:"projectId" doc:"of this project"`
	SessionID string `query:"sessionId" flag:"session <sessionId>" doc:"of this session"`
	IDPrefix  string `query:"idPrefix" doc:"whose id begins like this"`
	Limit     string `query:"limit" flag:"limit <number>" doc:"only this many, the first ones"`
	Status    string `query:"status" flag:"status open|not-needed|answered|delivered|void" doc:"with this status; void: its session or its tasks ended before an answer; not-needed: open, and no agent waits for it"`
}

// InputNotNeeded is the status by which open questions that need no answer any more are selected.
const InputNotNeeded = "not-needed"

// InputID names a question.
type InputID struct {
	ID string `path:"id" doc:"the question"`
	// Wait is how long to wait for the answer, as seconds or a duration.
	Wait string `query:"wait" doc:"how long to wait for the answer, such as 25s; at most 25s"`
}
