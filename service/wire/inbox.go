package wire

// InboxFilter selects what needs a person.
type InboxFilter struct {
	ProjectID string `query:"projectId" doc:"of this project"`
	SessionID string `query:"sessionId" doc:"all that this session did; without it, a session's items are bounded"`
	Kind      string `query:"kind" doc:"only this kind"`
	Sort      string `query:"sort" doc:"urgency: first what holds up a session, then other work; else longest wait first"`
}
