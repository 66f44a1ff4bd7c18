package wire

import "maestro/events"

// DenialFilter selects recorded refusals.
type DenialFilter struct {
	Cursor  string `query:"cursor" doc:"where the page begins: what the page before gave"`
	Actor   string `query:"actor" flag:"actor <actor>" doc:"of this actor: a source, a session's id or a token's name"`
	Project string `query:"project" flag:"project <projectId>" doc:"in this project"`
	Command string `query:"command" flag:"command <commandId>" doc:"of this command, such as task:complete"`
	Code    string `query:"code" flag:"code NOT_ALLOWED|NOT_FOUND|VALIDATION_ERROR|BUSINESS_RULE_ERROR|CONFLICT|KEY_REUSED|TOO_LARGE|LIMIT_EXCEEDED" doc:"with this code; NOT_ALLOWED is what the permission table refused"`
	Limit   string `query:"limit" flag:"limit <number>" doc:"only the newest N; with a cursor, the length of a page"`
}

// Unauthenticated counts the calls without a credential since the server started.
type Unauthenticated struct {
	Count uint64        `json:"count"`
	Since events.Millis `json:"since"`
}
